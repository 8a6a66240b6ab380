// The last steps, each a bar: the time of its levels, one above the other, and the rest.

import { seconds, type Step } from "../../figures/steps";

const BARS = 60;
const WIDTH = 330;
const HEIGHT = 64;

export interface Piece {
  level: number | null;
  seconds: number;
}

/** Where the time of a step went: the slowest slot of each level, and planning, sending and committing. */
export function pieces(step: Step): Piece[] {
  const levels = new Map<number, number>();
  for (const [level, , spent] of step.slots) levels.set(level, Math.max(levels.get(level) ?? 0, spent));
  const found: Piece[] = [...levels].sort(([a], [b]) => a - b).map(([level, spent]) => ({ level, seconds: spent }));
  const rest = step.seconds - found.reduce((sum, one) => sum + one.seconds, 0);
  return rest > 0 ? [...found, { level: null, seconds: rest }] : found;
}

export function Profile({ steps }: { steps: readonly Step[] }) {
  const some = steps.slice(-BARS);
  const most = Math.max(1e-6, ...some.map((step) => step.seconds));
  return (
    <figure className="profile">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`The last ${some.length} steps; the longest took ${seconds(most)}`}>
        {some.map((step, place) => {
          let y = HEIGHT;
          return (
            <g key={step.step}>
              <title>{`step ${step.step}: ${seconds(step.seconds)}`}</title>
              {pieces(step).map((piece) => {
                const height = (piece.seconds / most) * (HEIGHT - 2);
                y -= height;
                return <rect key={String(piece.level)} x={(place * WIDTH) / BARS} width={WIDTH / BARS - 1} y={y} height={height} className={piece.level === null ? "rest" : `fill level-${(piece.level + 1) % 6}`} />;
              })}
            </g>
          );
        })}
      </svg>
      <figcaption className="small">the last {some.length} steps, by level; grey is planning, sending and committing; the longest {seconds(most)}</figcaption>
    </figure>
  );
}
