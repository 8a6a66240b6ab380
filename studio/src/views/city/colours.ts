// Scales of colour that colour-blind people can read: orange is slow, blue is fast; tolls from pale to dark.

export type Rgb = [number, number, number];
export interface Scale {
  /** What is at the ends and between, with the value of each. */
  stops: [value: number, colour: Rgb][];
  unit: string;
  title: string;
}

export const LAV: Scale = {
  title: "Latest average velocity",
  unit: "mph",
  stops: [
    [0, [166, 60, 6]],
    [20, [224, 122, 30]],
    [39.9, [250, 205, 145]],
    [40, [190, 220, 240]],
    [60, [86, 160, 211]],
    [100, [8, 81, 156]],
  ],
};

export const TOLL: Scale = {
  title: "Toll",
  unit: "",
  stops: [
    [0, [214, 226, 234]],
    [1, [253, 231, 150]],
    [5000, [248, 190, 90]],
    [40_000, [225, 115, 60]],
    [150_000, [165, 45, 75]],
    [500_000, [75, 15, 80]],
  ],
};

/** A vehicle that was alerted of an accident. */
export const ALERTED: Rgb = [204, 121, 167];

export function colourOf(scale: Scale, value: number): Rgb {
  const { stops } = scale;
  for (let place = 1; place < stops.length; place++) {
    const [high, to] = stops[place]!;
    const [low, from] = stops[place - 1]!;
    if (value <= high) {
      const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
      return from.map((one, part) => Math.round(one + (to[part]! - one) * share)) as Rgb;
    }
  }
  return stops[stops.length - 1]![1];
}

/** Values for a legend: so many between each two stops. */
export function valuesOf(scale: Scale, parts: number): number[] {
  const { stops } = scale;
  return stops.slice(1).flatMap(([high], place) => Array.from({ length: parts }, (_, part) => stops[place]![0] + ((high - stops[place]![0]) * part) / parts));
}

export function css(colour: Rgb, alpha = 1): string {
  return `rgb(${colour.join(" ")} / ${alpha})`;
}
