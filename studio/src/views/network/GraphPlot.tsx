// A QoS graph, with the place at which the run is.

interface Props {
  graph: readonly (readonly number[])[];
  at: number | null;
  label: string;
}

const WIDTH = 280;
const HEIGHT = 104;
const PAD = 8;
/** Room for the numbers beside and below. */
const LEFT = 24;
const FOOT = 14;

export function GraphPlot({ graph, at, label }: Props) {
  const points = graph as readonly [number, number][];
  const far = Math.max((points[points.length - 1]?.[0] ?? 1) * 1.15, 1e-9);
  const x = (value: number) => LEFT + (Math.min(value, far) / far) * (WIDTH - LEFT - PAD);
  const y = (value: number) => HEIGHT - PAD - FOOT - value * (HEIGHT - 2 * PAD - FOOT);
  const all: [number, number][] = [[0, points[0]?.[1] ?? 1], ...points, [far, points[points.length - 1]?.[1] ?? 0]];
  return (
    <figure className="graph-plot">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${label}: utility from 0 to 1`}>
        <line x1={LEFT} x2={WIDTH - PAD} y1={y(0)} y2={y(0)} className="axis" />
        {[0, 1].map((worth) => <text key={worth} x={LEFT - 6} y={y(worth) + 3} textAnchor="end">{worth}</text>)}
        {points.map(([a]) => <text key={a} x={x(a)} y={HEIGHT - 5} textAnchor="middle">{a}</text>)}
        <polyline points={all.map(([a, b]) => `${x(a)},${y(b)}`).join(" ")} className="curve" />
        {points.map(([a, b]) => (
          <circle key={a} cx={x(a)} cy={y(b)} r={3} className="point" />
        ))}
        {at !== null && <line x1={x(at)} x2={x(at)} y1={y(0)} y2={y(1)} className="now" />}
      </svg>
      <figcaption className="small">utility by {label}{at !== null ? "; dashed: the p99 of the run" : ""}</figcaption>
    </figure>
  );
}
