// A QoS graph, with the place at which the run is.

interface Props {
  graph: readonly (readonly number[])[];
  at: number | null;
  label: string;
}

const WIDTH = 280;
const HEIGHT = 90;
const PAD = 6;

export function GraphPlot({ graph, at, label }: Props) {
  const points = graph as readonly [number, number][];
  const far = Math.max((points[points.length - 1]?.[0] ?? 1) * 1.15, 1e-9);
  const x = (value: number) => PAD + (Math.min(value, far) / far) * (WIDTH - 2 * PAD);
  const y = (value: number) => HEIGHT - PAD - value * (HEIGHT - 2 * PAD);
  const all: [number, number][] = [[0, points[0]?.[1] ?? 1], ...points, [far, points[points.length - 1]?.[1] ?? 0]];
  return (
    <figure className="graph-plot">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${label}: utility from 0 to 1`}>
        <line x1={PAD} x2={WIDTH - PAD} y1={y(0)} y2={y(0)} className="axis" />
        <polyline points={all.map(([a, b]) => `${x(a)},${y(b)}`).join(" ")} className="curve" />
        {points.map(([a, b]) => (
          <circle key={a} cx={x(a)} cy={y(b)} r={3} className="point" />
        ))}
        {at !== null && <line x1={x(at)} x2={x(at)} y1={y(0)} y2={y(1)} className="now" />}
      </svg>
      <figcaption className="small">{label}, from 0 to {far.toPrecision(3)}</figcaption>
    </figure>
  );
}
