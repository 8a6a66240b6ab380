// The time that is drawn: it follows the time of the newest reports evenly, however fast the run goes.

/** It is behind the newest reports by so many times what lies between them, so that it need not wait for the next. */
const BEHIND = 1.4;
/** The speed of the run is that of its last seconds. */
const WINDOW = 6;
/** A speed needs so many seconds of news. */
const LEAST = 0.5;

export class Clock {
  /** The newest time that was reported. */
  newest = -Infinity;
  private samples: [wall: number, time: number][] = [];
  private shown = NaN;
  private asked = 0;

  /** Reports through a time came, at a moment of the page's clock, in seconds. History comes faster than time passes. */
  put(time: number, wall: number, history = false) {
    if (time <= this.newest) return;
    this.newest = time;
    if (history) this.samples = [];
    this.samples.push([wall, time]);
    while (this.samples.length > 2 && wall - this.samples[0]![0] > WINDOW) this.samples.shift();
  }

  /** Go on from a time that is shown; `ago` seconds before, it was the newest. */
  start(time: number, wall: number, ago: number) {
    this.newest = time;
    this.samples = [[wall - ago, time]];
    this.shown = time;
    this.asked = wall;
  }

  /** Seconds of the city a second. */
  get speed(): number {
    const first = this.samples[0];
    const last = this.samples[this.samples.length - 1];
    if (!first || !last || last[0] - first[0] < LEAST) return 1;
    return (last[1] - first[1]) / (last[0] - first[0]);
  }

  /** Seconds of the page from one piece of news to the next. */
  private get gap(): number {
    const pieces = this.samples.length - 1;
    return pieces > 0 ? (this.samples[pieces]![0] - this.samples[0]![0]) / pieces : 0.5;
  }

  /** The time to draw at a moment of the page's clock. */
  now(wall: number): number {
    if (this.newest === -Infinity) return 0;
    const passed = Math.max(0, wall - this.asked);
    this.asked = wall;
    const speed = this.speed;
    const last = this.samples[this.samples.length - 1]!;
    const target = Math.min(this.newest, last[1] + (wall - last[0] - BEHIND * this.gap) * speed);
    if (Number.isNaN(this.shown) || Math.abs(target - this.shown) > Math.max(5, 3 * speed)) this.shown = target;
    // Evenly, and a little faster or slower while it is off; never back.
    const next = this.shown + passed * speed;
    this.shown = Math.min(this.newest, Math.max(this.shown, next + (target - next) * Math.min(1, passed)));
    return this.shown;
  }
}
