// The columns of numbers over the first column that is a time.

import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Row } from "../network/Monitor";
import { COLOURS, plotted } from "./lines";

export function Plot({ columns, rows }: { columns: string[]; rows: Row[] }) {
  const place = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const series = useMemo(() => plotted(columns, rows, chosen), [columns, rows, chosen]);
  const names = series.names.join("\0");
  const chart = useRef<uPlot | null>(null);
  useEffect(() => {
    if (!place.current || !names) return;
    const soft = getComputedStyle(document.documentElement).getPropertyValue("--soft");
    const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
    const made = new uPlot(
      {
        width: place.current.clientWidth,
        height: 200,
        tzDate: (time) => uPlot.tzDate(new Date(1000 * time), "Etc/UTC"), // as the rows write it, wherever the page is
        scales: { x: { time: series.dated } },
        axes: [{ ...axis, label: series.time, labelSize: 18, labelGap: 0 }, { ...axis, ...(series.measure ? { label: series.measure, labelSize: 18 } : {}) }],
        series: [{ label: series.time }, ...series.names.map((label, number) => ({ label, stroke: COLOURS[number]!, width: 1.5, spanGaps: true, points: { show: false } }))],
      },
      series.data,
      place.current,
    );
    chart.current = made;
    const watch = new ResizeObserver(() => place.current && made.setSize({ width: place.current.clientWidth, height: 200 }));
    watch.observe(place.current);
    return () => {
      watch.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [names, series.dated, series.time, series.measure]);
  useEffect(() => chart.current?.setData(series.data), [series]);
  return (
    <>
      {(series.choices.length > 0 || series.left > 0) && (
        <div className="line small">
          {series.choices.length > 0 && (
            <label>
              Lines of
              <select value={chosen ?? series.choices[0]} onChange={(event) => setChosen(event.target.value)}>
                {series.choices.map((name) => <option key={name}>{name}</option>)}
              </select>
            </label>
          )}
          {series.left > 0 && <span>the first {series.names.length} of {series.names.length + series.left} lines</span>}
        </div>
      )}
      <div ref={place} className="plot" role="img" aria-label={`${series.names.join(", ")} over ${series.time}`} />
    </>
  );
}
