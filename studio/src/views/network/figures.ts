import type { Status, Window } from "../../figures/steps";
import { count } from "../../figures/steps";

/** How wide an arc is: by the logarithm of its rate, so that 10 and 100,000 tuples a second both show. */
export function arcWidth(rate: number | null): number {
  return rate === null || rate <= 0 ? 1.25 : Math.min(11, 1.5 + 1.55 * Math.log10(1 + rate));
}

/** From calm to pressed, in steps that colour-blind people can tell apart. */
export function pressureColour(pressure: number): string {
  if (pressure < 0.25) return "var(--calm)";
  return pressure < 0.6 ? "var(--busy)" : "var(--pressed)";
}

/** What several arcs carry together, and what is done to them. */
export function wayFigures(
  arcs: string[],
  window: Window | undefined,
  status: Status | null | undefined,
): { rate: number | null; mark: string | null } {
  let mark: string | null = null;
  let tuples = 0;
  for (const name of arcs) {
    const end = name.split(" → ")[1] ?? "";
    tuples += window?.arrivals[end] ?? 0;
    const held = window?.held[name];
    const shed = status?.steering.shed?.[name];
    if (held) mark = `${count(held)} wait`;
    else if (status?.steering.hold && name in status.steering.hold) mark = "held";
    else if (shed) mark = `sheds ${Math.round(100 * Number(shed.share ?? 0))} %`;
  }
  return { rate: window?.steps ? tuples / window.span : null, mark };
}
