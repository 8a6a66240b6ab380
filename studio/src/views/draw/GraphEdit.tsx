// A QoS graph whose points are dragged; with the keyboard too.

import { useRef } from "react";

type Points = [number, number][];

const WIDTH = 300;
const HEIGHT = 110;
const PAD = 10;
/** Room for the numbers beside and below. */
const LEFT = 22;
const FOOT = 12;

export function GraphEdit({ points, onChange, label }: { points: Points; onChange(points: Points): void; label: string }) {
  const held = useRef<number | null>(null);
  const far = Math.max(1, ...points.map(([x]) => x)) * 1.3;
  const x = (value: number) => LEFT + (value / far) * (WIDTH - LEFT - PAD);
  const y = (value: number) => HEIGHT - PAD - FOOT - value * (HEIGHT - 2 * PAD - FOOT);
  const move = (place: number, to: [number, number]) => {
    const low = place > 0 ? points[place - 1]![0] + far / 200 : 0;
    const high = place + 1 < points.length ? points[place + 1]![0] - far / 200 : Infinity;
    const next: [number, number] = [rounded(Math.min(high, Math.max(low, to[0]))), rounded(Math.min(1, Math.max(0, to[1])))];
    onChange(points.map((point, own) => (own === place ? next : point)));
  };
  if (!points.length) {
    return <button type="button" onClick={() => onChange([[2, 1], [10, 0]])}>Ask for a delay</button>;
  }
  const all: Points = [[0, points[0]![1]], ...points, [far, points[points.length - 1]![1]]];
  return (
    <svg
      className="graph-edit"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="group"
      aria-label={label}
      onPointerMove={(event) => {
        if (held.current === null) return;
        const box = event.currentTarget.getBoundingClientRect();
        const px = ((event.clientX - box.left) / box.width) * WIDTH;
        const py = ((event.clientY - box.top) / box.height) * HEIGHT;
        move(held.current, [((px - LEFT) / (WIDTH - LEFT - PAD)) * far, (HEIGHT - PAD - FOOT - py) / (HEIGHT - 2 * PAD - FOOT)]);
      }}
      onPointerUp={() => (held.current = null)}
    >
      <line x1={LEFT} x2={WIDTH - PAD} y1={y(0)} y2={y(0)} className="axis" />
      {[0, 1].map((worth) => <text key={worth} x={LEFT - 8} y={y(worth) + 3} textAnchor="end">{worth}</text>)}
      {points.map(([a], place) => <text key={place} x={x(a)} y={HEIGHT - 4} textAnchor="middle">{a} s</text>)}
      <polyline points={all.map(([a, b]) => `${x(a)},${y(b)}`).join(" ")} className="curve" />
      {points.map(([a, b], place) => (
        <circle
          key={place}
          cx={x(a)}
          cy={y(b)}
          r={6}
          className="point"
          tabIndex={0}
          role="slider"
          aria-label={`point ${place + 1}: ${a} seconds, utility ${b}`}
          aria-valuenow={a}
          onPointerDown={(event) => {
            held.current = place;
            event.currentTarget.ownerSVGElement?.setPointerCapture(event.pointerId);
          }}
          onKeyDown={(event) => {
            const by: Record<string, [number, number]> = { ArrowLeft: [-far / 50, 0], ArrowRight: [far / 50, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05] };
            const step = by[event.key];
            if (!step) return;
            event.preventDefault();
            move(place, [a + step[0], b + step[1]]);
          }}
        />
      ))}
    </svg>
  );
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
