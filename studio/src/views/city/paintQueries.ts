// Ranges and nearest sets around their focal objects, and a plus or minus where an answer changed.

import type { City } from "./feed";
import type { Ink } from "./paint";
import type { Place } from "./points";
import { FLASH_SECONDS } from "./queries";

/** So many queries are drawn at once at most, and of so many each has its name beside it. */
const MOST_DRAWN = 1500;
const MOST_NAMED = 24;

export function paintQueries(context: CanvasRenderingContext2D, city: City, now: number, wall: number, place: Place, width: number, height: number, chosen: string | undefined, ink: Ink) {
  const { queries } = city;
  if (!queries) return;
  const x = (value: number) => (value - place.left) * place.scaleX;
  const y = (value: number) => (value - place.top) * place.scaleY;
  const crowded = queries.standing.size > 60;
  const named = queries.standing.size <= MOST_NAMED;
  let drawn = 0;
  for (const query of queries.standing.values()) {
    if (drawn >= MOST_DRAWN) break;
    const shape = queries.shape(query, city.fleet, now);
    if (!shape) continue;
    const own = chosen !== undefined && chosen === String(query.name);
    context.globalAlpha = own ? 1 : crowded ? 0.35 : 0.75;
    context.strokeStyle = own ? ink.accent : ink.soft;
    context.lineWidth = own ? 2.5 : 1.2;
    if (shape.kind === "rectangle") {
      const [left, top] = [x(shape.left), y(shape.top)];
      const [wide, high] = [x(shape.right) - left, y(shape.bottom) - top];
      if (left > width || top > height || left + wide < 0 || top + high < 0) continue;
      context.strokeRect(left, top, wide, high);
      if (own || !crowded) {
        context.fillStyle = ink.accent;
        context.globalAlpha = own ? 0.12 : 0.06;
        context.fillRect(left, top, wide, high);
      }
      if (shape.cache > 0) {
        context.globalAlpha = own ? 0.8 : 0.4;
        context.setLineDash([4, 4]);
        // It is measured northwards, where a degree is as long everywhere.
        const margin = shape.cache * Math.abs(place.scaleY);
        context.strokeRect(left - margin, top - margin, wide + 2 * margin, high + 2 * margin);
        context.setLineDash([]);
      }
      if (own || named) name(context, String(query.name), left + wide / 2, top + high + shape.cache * Math.abs(place.scaleY), own, ink);
    } else {
      const [cx, cy] = [x(shape.x), y(shape.y)];
      const reach = (shape.radius + shape.cache) * Math.abs(place.scaleY);
      if (cx + reach < 0 || cx - reach > width || cy + reach < 0 || cy - reach > height) continue;
      context.beginPath();
      for (const [mx, my] of shape.members) {
        context.moveTo(cx, cy);
        context.lineTo(x(mx), y(my));
      }
      context.stroke();
      context.beginPath();
      context.arc(cx, cy, 4, 0, 2 * Math.PI);
      context.fillStyle = own ? ink.accent : ink.soft;
      context.fill();
      if (shape.cache > 0) {
        context.setLineDash([4, 4]);
        context.beginPath();
        context.arc(cx, cy, reach, 0, 2 * Math.PI);
        context.stroke();
        context.setLineDash([]);
      }
      if (own || named) name(context, String(query.name), cx, cy + Math.max(6, reach), own, ink);
    }
    drawn++;
  }
  context.font = "700 15px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const flash of queries.flashes) {
    const age = (wall - flash.wall) / FLASH_SECONDS;
    const slot = city.fleet.slot(flash.object);
    if (age >= 1 || slot === undefined) continue;
    const [fx, fy] = city.fleet.position(slot, now);
    context.globalAlpha = 1 - age;
    context.strokeStyle = context.fillStyle = flash.joined ? ink.accent : ink.bad;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x(fx), y(fy), 5 + 14 * age, 0, 2 * Math.PI);
    context.stroke();
    context.fillText(flash.joined ? "+" : "−", x(fx), y(fy) - 12 - 6 * age);
  }
  context.globalAlpha = 1;
}

/** The name of a query under its shape, on the colour of the page, so that it can be read among many points. */
function name(context: CanvasRenderingContext2D, text: string, x: number, bottom: number, own: boolean, ink: Ink) {
  context.font = `${own ? 700 : 500} 11px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.globalAlpha = 0.9;
  context.strokeStyle = ink.paper;
  context.strokeText(text, x, bottom + 4);
  context.globalAlpha = 1;
  context.fillStyle = own ? ink.accent : ink.soft;
  context.fillText(text, x, bottom + 4);
}
