// Colours that stand for something are told apart by people who see no red or no green.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ALERTED, LAV, TOLL, type Rgb, type Scale } from "./views/city/colours";
import { COLOURS } from "./views/ask/lines";

type Matrix = [Rgb, Rgb, Rgb];

// Machado, Oliveira and Fernandes (2009), table 1, severity 1: on linear RGB.
const SEEN: Record<string, Matrix> = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  "no red (protanopia)": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  "no green (deuteranopia)": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};
/** A difference of 2.3 is just seen side by side; small marks that lie apart need several times that. */
const APART = 10;

const linear = (one: number) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
const times = (matrix: Matrix, colour: Rgb): Rgb => matrix.map((row) => row.reduce((sum, one, place) => sum + one * colour[place]!, 0)) as Rgb;

/** CIE Lab of a colour as somebody sees it. */
function lab(colour: Rgb, seen: Matrix): Rgb {
  const light = times(seen, colour.map((one) => linear(one / 255)) as Rgb).map((one) => Math.min(1, Math.max(0, one))) as Rgb;
  const [x, y, z] = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], light);
  const f = (one: number) => (one > 0.008856 ? Math.cbrt(one) : 7.787 * one + 16 / 116);
  const [fx, fy, fz] = [f(x / 0.95047), f(y), f(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

function difference(one: Rgb, other: Rgb, seen: Matrix): number {
  const [a, b] = [lab(one, seen), lab(other, seen)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function hex(colour: string): Rgb {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as Rgb;
}

const STYLE = readFileSync(new URL("./style.css", import.meta.url), "utf8");

/** The colours that the style sheet names, by theme; the dark one changes some of the light one's. */
function named(theme: "light" | "dark"): Record<string, Rgb> {
  const of = (block: string) => Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, colour]) => [name!, hex(colour!)]));
  const block = (begin: string) => STYLE.slice(STYLE.indexOf(begin)).split("}")[0]!;
  return { ...of(block(":root {")), ...(theme === "dark" ? of(block(':root[data-theme="dark"]')) : {}) };
}

/** The two of some colours that are hardest to tell apart. */
function closest(colours: Record<string, Rgb>, seen: Matrix): [words: string, difference: number] {
  let found: [string, number] = ["", Infinity];
  const all = Object.entries(colours);
  all.forEach(([one, a], place) => {
    for (const [other, b] of all.slice(place + 1)) {
      const far = difference(a, b, seen);
      if (far < found[1]) found = [`${one} and ${other}`, far];
    }
  });
  return found;
}

const pick = (colours: Record<string, Rgb>, names: string[]) => Object.fromEntries(names.map((name) => [name, colours[name]!]));
const stops = (scale: Scale) => Object.fromEntries(scale.stops.map(([value, colour]) => [String(value), colour]));

describe.each(Object.entries(SEEN))("seen with %s", (name, seen) => {
  it.each(["light", "dark"] as const)("what is calm, busy and pressed differs (%s)", (theme) => {
    expect(closest(pick(named(theme), ["calm", "busy", "pressed"]), seen)[1]).toBeGreaterThan(APART);
  });
  it("levels differ", () => {
    const [words, far] = closest(pick(named("light"), ["l0", "l1", "l2", "l3", "l4", "l5"]), seen);
    expect(far, words).toBeGreaterThan(APART);
  });
  it("lines of a plot differ", () => {
    const [words, far] = closest(Object.fromEntries(COLOURS.map((colour) => [colour, hex(colour)])), seen);
    expect(far, words).toBeGreaterThan(APART);
  });
  it.each([LAV, TOLL])("the stops of a scale differ: $title", (scale) => {
    const [words, far] = closest(stops(scale), seen);
    expect(far, words).toBeGreaterThan(APART);
  });
  it.each(["light", "dark"] as const)("a vehicle that moves, stands and was alerted differs (%s)", (theme) => {
    const { ink, bad } = named(theme);
    const [words, far] = closest({ moves: ink!, stands: bad!, alerted: ALERTED }, seen);
    expect(far, words).toBeGreaterThan(APART);
  });
  it.each(["light", "dark"] as const)("good and bad differ (%s)", (theme) => {
    expect(closest(pick(named(theme), ["good", "bad"]), seen)[1], name).toBeGreaterThan(APART);
  });
});

describe("a scale", () => {
  it("of tolls gets darker, so that it can be read without any colour", () => {
    const light = TOLL.stops.slice(1).map(([, colour]) => lab(colour, SEEN.all!)[0]);
    for (let place = 1; place < light.length; place++) expect(light[place]!).toBeLessThan(light[place - 1]! - 5);
  });
  it("of speeds is light where tolls begin, and darker to both ends", () => {
    const light = LAV.stops.map(([, colour]) => lab(colour, SEEN.all!)[0]);
    expect(light[0]! < light[1]! && light[1]! < light[2]! && light[3]! > light[4]! && light[4]! > light[5]!).toBe(true);
  });
});
