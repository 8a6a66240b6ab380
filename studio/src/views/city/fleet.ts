// Where everything that moves was last seen, and how fast it went: numbers as the point shader takes them.

/** x, y, speed in x and y, time since `base`, how far off it was drawn before (x, y), kind. */
export const STRIDE = 8;
/** Who has said nothing for so many seconds has left. */
export const SILENT = 45;
/** How quickly what was drawn elsewhere slides to where it is: by a factor of e a second. The shader has the same. */
export const SLIDE = 3;

export const MOVES = 0;
export const STANDS = 1;
export const ALERTED = 2;
export type Kind = typeof MOVES | typeof STANDS | typeof ALERTED;

export type Id = number | string;

export interface Sight {
  x: number;
  y: number;
  vx: number;
  vy: number;
  time: number;
}

export class Fleet {
  data = new Float32Array(STRIDE * 1024);
  size = 0;
  ids: Id[] = [];
  /** Times are counted from here, so that 32 bits hold them. */
  base: number | null = null;
  /** The slots that changed since `taken`. */
  changed: [from: number, to: number] | null = null;
  private slots = new Map<Id, number>();

  slot(id: Id): number | undefined {
    return this.slots.get(id);
  }

  /** A report; one that is older than what is known is left out. `far`: how far something may slide, not jump. */
  put(id: Id, seen: Sight, kind: Kind, far: number): number | undefined {
    this.base ??= seen.time;
    const time = seen.time - this.base;
    let slot = this.slots.get(id);
    let slipX = 0;
    let slipY = 0;
    if (slot === undefined) {
      slot = this.size++;
      this.slots.set(id, slot);
      this.ids[slot] = id;
      if (this.size * STRIDE > this.data.length) {
        const more = new Float32Array(this.data.length * 2);
        more.set(this.data);
        this.data = more;
      }
    } else {
      const before = this.data[slot * STRIDE + 4]!;
      if (time < before) return undefined;
      const [x, y] = this.position(slot, seen.time);
      if (Math.abs(x - seen.x) < far && time - before < SILENT) {
        slipX = x - seen.x;
        slipY = y - seen.y;
      }
    }
    this.data.set([seen.x, seen.y, seen.vx, seen.vy, time, slipX, slipY, kind], slot * STRIDE);
    this.touch(slot);
    return slot;
  }

  mark(slot: number, kind: Kind) {
    this.data[slot * STRIDE + 7] = kind;
    this.touch(slot);
  }

  sight(slot: number): Sight {
    const at = slot * STRIDE;
    const [x, y, vx, vy, time] = this.data.subarray(at, at + 5) as unknown as [number, number, number, number, number];
    return { x, y, vx, vy, time: time + (this.base ?? 0) };
  }

  /** Where it is drawn at a time: the same as the shader computes. */
  position(slot: number, now: number): [x: number, y: number] {
    const at = slot * STRIDE;
    const since = Math.max(0, now - (this.base ?? 0) - this.data[at + 4]!);
    const slide = Math.exp(-SLIDE * since);
    return [
      this.data[at]! + this.data[at + 2]! * since + this.data[at + 5]! * slide,
      this.data[at + 1]! + this.data[at + 3]! * since + this.data[at + 6]! * slide,
    ];
  }

  /** What is nearest to a place, within a distance; distances in pixels, by the pixels a unit has. */
  nearest(x: number, y: number, scaleX: number, scaleY: number, within: number, now: number): number | null {
    let best: number | null = null;
    let least = within * within;
    for (let slot = 0; slot < this.size; slot++) {
      const [px, py] = this.position(slot, now);
      const distance = ((px - x) * scaleX) ** 2 + ((py - y) * scaleY) ** 2;
      if (distance <= least) {
        least = distance;
        best = slot;
      }
    }
    return best;
  }

  /** Forget who has left; the last ones take their slots. */
  leave(now: number) {
    const oldest = now - (this.base ?? 0) - SILENT;
    for (let slot = this.size - 1; slot >= 0; slot--) {
      if (this.data[slot * STRIDE + 4]! >= oldest) continue;
      const last = --this.size;
      this.slots.delete(this.ids[slot]!);
      if (slot !== last) {
        this.data.copyWithin(slot * STRIDE, last * STRIDE, (last + 1) * STRIDE);
        this.ids[slot] = this.ids[last]!;
        this.slots.set(this.ids[slot]!, slot);
        this.touch(slot);
      }
    }
    this.ids.length = this.size;
  }

  private touch(slot: number) {
    this.changed = this.changed ? [Math.min(this.changed[0], slot), Math.max(this.changed[1], slot)] : [slot, slot];
  }
}
