// Requests to the studio's server; the types are generated from its OpenAPI schema.

import { Live } from "./live";
import type { components } from "./schema";

export type NetworkFacts = components["schemas"]["NetworkFacts"];
export type BoxFacts = components["schemas"]["BoxFacts"];
export type ArcFacts = components["schemas"]["ArcFacts"];
export type SubjectFacts = components["schemas"]["SubjectFacts"];
export type Overflowed = components["schemas"]["Overflowed"];
export type Command = components["schemas"]["Command"];

/** A mistake, in words; with the rows that could have been meant, where there are several. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly rows?: Record<string, unknown>[],
  ) {
    super(message);
  }
}

export async function get<T>(path: string): Promise<T> {
  return answer<T>(await fetch(`./api/${path}`));
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return answer<T>(await sent(path, body));
}

/** A file that the server makes of what is sent. */
export async function blob(path: string, body: unknown): Promise<Blob> {
  const response = await sent(path, body);
  return response.ok ? response.blob() : answer<never>(response);
}

function sent(path: string, body: unknown): Promise<Response> {
  return fetch(`./api/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

export function command(asked: Partial<Command> & Pick<Command, "command">): Promise<Record<string, unknown>> {
  return post("control", asked);
}

let live: Live | null = null;

/** The page's socket; it is opened when it is first wanted. */
export function theLive(): Live {
  if (!live) {
    const place = new URL("./api/live", window.location.href);
    place.protocol = place.protocol === "https:" ? "wss:" : "ws:";
    place.hash = "";
    place.search = "";
    live = new Live(place.href);
  }
  return live;
}

async function answer<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  let message = `${response.status} ${response.statusText}`;
  let rows: Record<string, unknown>[] | undefined;
  try {
    const said = (await response.json()) as { detail?: unknown; rows?: Record<string, unknown>[] };
    rows = said.rows;
    if (typeof said.detail === "string") message = said.detail;
    else if (Array.isArray(said.detail)) message = said.detail.map((one: { msg?: string }) => one.msg).join("; ");
  } catch {
    // the answer has no words
  }
  throw new Refused(message, rows);
}
