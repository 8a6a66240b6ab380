// One socket for the page, with a channel for everything that is live. It connects again by itself.

import { unpack, type Frame } from "./frames";

export interface Listener {
  frame(frame: Frame): void;
  error?(message: string): void;
  end?(): void;
}

interface Channel {
  asked: Record<string, unknown>;
  listener: Listener;
  /** Whether it is opened again when the connection was lost. */
  lasting: boolean;
}

/** The server takes no longer message, and would end the connection. */
const LONGEST = 1 << 20;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;

export class Live {
  connected = false;
  private socket: WebSocket | null = null;
  private channels = new Map<number, Channel>();
  private next = 1;
  private wait = FIRST_WAIT;
  private watchers = new Set<(connected: boolean) => void>();

  constructor(private readonly address: string) {
    this.connect();
  }

  /** Open a channel; what is returned closes it. */
  open(name: string, asked: Record<string, unknown>, listener: Listener, lasting = false): () => void {
    const id = this.next++;
    const channel = { asked: { ...asked, open: name, id }, listener, lasting };
    if (new Blob([JSON.stringify(channel.asked)]).size > LONGEST) {
      listener.error?.(`this is too long: expected at most ${LONGEST.toLocaleString("en")} bytes`);
      return () => {};
    }
    this.channels.set(id, channel);
    if (this.connected) this.send(channel.asked);
    return () => {
      if (this.channels.delete(id) && this.connected) this.send({ close: id });
    };
  }

  onConnection(watcher: (connected: boolean) => void): () => void {
    this.watchers.add(watcher);
    watcher(this.connected);
    return () => this.watchers.delete(watcher);
  }

  private connect() {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.become(true);
      for (const channel of this.channels.values()) this.send(channel.asked);
    };
    socket.onmessage = (event) => {
      if (event.data instanceof ArrayBuffer) this.take(unpack(event.data));
    };
    socket.onclose = () => {
      this.become(false);
      for (const [id, channel] of this.channels) {
        if (channel.lasting) continue;
        this.channels.delete(id);
        channel.listener.error?.("the connection to the studio was lost");
      }
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
    };
    this.socket = socket;
  }

  private take(frame: Frame) {
    const channel = this.channels.get(frame.channel);
    if (!channel) return;
    const { error, end } = frame.header;
    if (typeof error === "string") {
      this.channels.delete(frame.channel);
      channel.listener.error?.(error);
    } else if (end === true) {
      this.channels.delete(frame.channel);
      channel.listener.end?.();
    } else {
      channel.listener.frame(frame);
    }
  }

  private send(message: object) {
    this.socket?.send(JSON.stringify(message));
  }

  private become(connected: boolean) {
    this.connected = connected;
    for (const watcher of this.watchers) watcher(connected);
  }
}
