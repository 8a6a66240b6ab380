// The expressways under the vehicles, and the marks above them.

import { colourOf, css, type Scale } from "./colours";
import type { City } from "./feed";
import { STANDS, STRIDE } from "./fleet";
import type { Place } from "./points";
import { METRES_A_DEGREE } from "./queries";
import { alertedSegments, firstRow, LANES, LENGTH, SEGMENT, SEGMENTS, STRIP, type Accident } from "./road";

export interface Ink {
  ink: string;
  soft: string;
  line: string;
  strong: string;
  surface: string;
  paper: string;
  bad: string;
  accent: string;
}

export function inkOf(element: Element): Ink {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), soft: of("--soft"), line: of("--line"), strong: of("--line-strong"), surface: of("--surface"), paper: of("--paper"), bad: of("--bad"), accent: of("--accent") };
}

const FONT = "11px system-ui, sans-serif";

export function paintRoads(context: CanvasRenderingContext2D, city: City, now: number, place: Place, width: number, height: number, scale: Scale, lav: boolean, ink: Ink) {
  context.clearRect(0, 0, width, height);
  const x = (feet: number) => (feet - place.left) * place.scaleX;
  const y = (row: number) => (row - place.top) * place.scaleY;
  const from = Math.max(0, Math.floor(place.left / SEGMENT));
  const to = Math.min(SEGMENTS - 1, Math.floor((place.left + width / place.scaleX) / SEGMENT));
  const [left, right] = [Math.max(0, x(0)), Math.min(width, x(LENGTH))];
  const segment = SEGMENT * place.scaleX;
  context.font = FONT;
  context.textBaseline = "middle";
  for (const xway of city.roads.xways) {
    const top = y(xway * STRIP);
    if (top > height || top + STRIP * place.scaleY < 0) continue;
    for (const direction of [1, 0]) {
      const row = y(firstRow(xway, direction));
      const high = 4 * place.scaleY;
      context.fillStyle = ink.surface;
      context.fillRect(left, row, right - left, high);
      for (let seg = from; seg <= to; seg++) {
        const quote = city.roads.at({ xway, direction, seg }, now);
        if (!quote || (lav && quote.lav < 0)) continue;
        context.fillStyle = css(colourOf(scale, lav ? quote.lav : quote.toll), !lav && quote.toll === 0 ? 0.3 : 0.72);
        context.fillRect(x(seg * SEGMENT), row, segment + 0.5, high);
      }
      context.strokeStyle = ink.strong;
      context.lineWidth = 1;
      context.strokeRect(left + 0.5, Math.round(row) + 0.5, right - left - 1, Math.round(high));
      if (place.scaleY > 5) {
        context.globalAlpha = 0.55;
        context.setLineDash([5, 7]);
        context.lineDashOffset = place.left * place.scaleX;
        context.beginPath();
        for (let lane = 1; lane < 4; lane++) {
          context.moveTo(left, row + lane * place.scaleY);
          context.lineTo(right, row + lane * place.scaleY);
        }
        context.stroke();
        context.setLineDash([]);
        context.globalAlpha = 1;
      }
    }
    // Segments are numbered on the median, as many as there is room for.
    const every = [1, 5, 10, 20].find((one) => one * segment > 26) ?? 50;
    const median = y(xway * STRIP + 4.5) + 1;
    context.textAlign = "center";
    context.fillStyle = ink.soft;
    for (let seg = from; seg <= to; seg++) if (seg % every === 0) context.fillText(String(seg), x((seg + 0.5) * SEGMENT), median);
  }
}

export function paintMarks(context: CanvasRenderingContext2D, city: City, now: number, place: Place, width: number, height: number, chosen: number | undefined, ink: Ink) {
  context.clearRect(0, 0, width, height);
  const x = (feet: number) => (feet - place.left) * place.scaleX;
  const y = (row: number) => (row - place.top) * place.scaleY;
  if (city.layer.kind === "road") {
    context.font = "600 11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const xway of city.roads.xways) {
      context.textAlign = "left";
      const [left, right] = [Math.max(8, x(0)), Math.min(width - 8, x(LENGTH))];
      label(context, `Expressway ${xway}`, left, y(xway * STRIP) - 10, ink);
      context.textAlign = "right";
      label(context, "← west", right, y(xway * STRIP) - 10, ink);
      label(context, "east →", right, y(xway * STRIP + LANES) + 11, ink);
    }
    for (const accident of city.roads.accidents(now)) {
      const row = y(firstRow(accident.xway, accident.direction));
      const [first, last] = alertedSegments(accident);
      context.strokeStyle = ink.bad;
      context.lineWidth = 2;
      context.strokeRect(x(first * SEGMENT), row - 2, (last - first + 1) * SEGMENT * place.scaleX, 4 * place.scaleY + 4);
      const at = accidentAt(city, accident);
      mark(context, x(at.x), y(at.y), ink);
    }
  }
  if (chosen !== undefined) {
    const [cx, cy] = city.fleet.position(chosen, now);
    context.strokeStyle = ink.accent;
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(x(cx), y(cy), 10, 0, 2 * Math.PI);
    context.stroke();
  }
}

/** How long a way is on the plane: a round length that is some 80 to 200 pixels. */
export function scaleOf(place: Place, lonlat: boolean): { pixels: number; text: string } {
  // It is measured northwards, where a degree is as long everywhere.
  const unit = Math.abs(place.scaleY) / (lonlat ? METRES_A_DEGREE : 1);
  const power = 10 ** Math.floor(Math.log10(200 / unit));
  const length = [2, 1, 0.5].map((one) => one * power).find((one) => one * unit <= 200) ?? power / 2;
  const text = !lonlat ? Number(length.toPrecision(1)).toLocaleString("en", { maximumSignificantDigits: 1 }) : length >= 1000 ? `${(length / 1000).toLocaleString("en")} km` : `${Number(length.toPrecision(1))} m`;
  return { pixels: length * unit, text };
}

/** Where vehicles stand in the segment of an accident; its middle, if none does. */
export function accidentAt(city: City, { xway, direction, seg }: Accident): { x: number; y: number } {
  const { data, size } = city.fleet;
  const [top, bottom] = [firstRow(xway, direction), firstRow(xway, direction) + 4];
  for (let at = 0; at < size * STRIDE; at += STRIDE) {
    const y = data[at + 1]!;
    if (data[at + 7] === STANDS && y >= top && y <= bottom && Math.floor(data[at]! / SEGMENT) === seg) return { x: data[at]!, y };
  }
  return { x: (seg + 0.5) * SEGMENT, y: top + 2 };
}

function label(context: CanvasRenderingContext2D, text: string, x: number, y: number, ink: Ink) {
  context.fillStyle = ink.soft;
  context.fillText(text, x, y);
}

/** A warning sign: a triangle, so that it is not known by its colour alone. */
function mark(context: CanvasRenderingContext2D, x: number, y: number, ink: Ink) {
  context.beginPath();
  context.moveTo(x, y - 12);
  context.lineTo(x + 12, y + 8);
  context.lineTo(x - 12, y + 8);
  context.closePath();
  context.fillStyle = ink.bad;
  context.strokeStyle = ink.surface;
  context.lineWidth = 2;
  context.lineJoin = "round";
  context.fill();
  context.stroke();
  context.fillStyle = ink.surface;
  context.font = "800 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText("!", x, y + 1.5);
}
