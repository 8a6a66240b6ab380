// The city: everything that moves, where it is now, drawn from the connection points of the run.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { formatEye, parseEye } from "../../address";
import type { ViewProps } from "..";
import { seconds as inWords } from "../../figures/steps";
import { useMoment, useRun, type RunStore } from "../../run";
import { Card } from "./Card";
import { ALERTED, colourOf, css, LAV, TOLL, valuesOf, type Rgb, type Scale } from "./colours";
import { City } from "./feed";
import { SILENT, type Id } from "./fleet";
import { layersOf, movingBox, pointWith, type Layer } from "./layers";
import { inkOf, paintMarks, paintRoads, scaleOf } from "./paint";
import { paintQueries } from "./paintQueries";
import type { Flash } from "./queries";
import { Points, type Look, type Place } from "./points";
import { clockText, dateText, directionName, LANES, LENGTH, SEGMENT, STRIP, type Accident } from "./road";

export default function CityView(props: ViewProps) {
  const { network, subject, address, run } = props;
  const layers = useMemo(() => layersOf(network, subject.places), [network, subject.places]);
  const layer = layers.find((one) => one.point === address.values.place) ?? layers[0];
  if (!layer || !run) return <p className="notice">Nothing that moves is kept: a city needs a connection point with x and y, or lon and lat, or the reports of Linear Road (<code>--keep</code>).</p>;
  return <Shown {...props} run={run} layers={layers} layer={layer} />;
}

interface Facts {
  /** Whether anything has come yet. */
  known: boolean;
  /** The length of the bar that says how long a way is; null on an expressway, whose segments are numbered. */
  scale: { pixels: number; text: string } | null;
  now: number;
  size: number;
  speed: number;
  accidents: Accident[];
  queries: number;
  flashes: Flash[];
  error: string | null;
}

function Shown({ network, subject, address, go, run, layers, layer }: ViewProps & { run: RunStore; layers: Layer[]; layer: Layer }) {
  const state = useRun(run);
  const moment = useMoment(state, address);
  const streamTime = moment.live ? null : timeOf(state.steps.slice(0, Math.max(1, moment.end)));
  const at = streamTime === null ? null : streamTime / layer.ticks;
  const known = moment.live || at !== null;
  const points = useMemo(
    () => (layer.kind === "road" ? { notices: pointWith(network, subject.places, ["vid", "lav", "toll"]), alerts: pointWith(network, subject.places, ["vid", "xway", "dir", "seg"], ["pos"]), queries: null, updates: null } : { notices: null, alerts: null, queries: pointWith(network, subject.places, ["query", "kind", "focal", "x1", "y1"]), updates: pointWith(network, subject.places, ["query", "sign", layer.id]) }),
    [network, subject.places, layer],
  );
  const [city, setCity] = useState<City | null>(null);
  const current = useRef<{ city: City; layer: Layer; points: typeof points; network: typeof network } | null>(null);
  useEffect(() => {
    if (!known) return;
    const before = current.current;
    const same = before && before.layer === layer && before.points === points && before.network === network;
    // A slider that plays goes on from moment to moment.
    if (same && at !== null && (before.city.at === at || before.city.advance(at))) return;
    if (same && at === null && before.city.at === null) return;
    before?.city.close();
    const made = new City(layer, points, at, cacheOf(movingBox(network)));
    current.current = { city: made, layer, points, network };
    setCity(made);
  }, [layer, points, at, known, network]);
  useEffect(
    () => () => {
      current.current?.city.close();
      current.current = null;
    },
    [],
  );
  const lav = address.values.colour !== "toll";
  const scale = lav ? LAV : TOLL;
  const chosen = address.values.vehicle;
  const [facts, setFacts] = useState<Facts | null>(null);
  const view = useRef<Eye>({ centre: null, zoom: 1 });
  // Where one looks stands in the address.
  const { eye } = address.values;
  const said = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (eye === said.current) return;
    const looked = parseEye(eye);
    said.current = eye;
    view.current = looked ? { centre: [looked.x, looked.y], zoom: looked.zoom } : { centre: null, zoom: 1 };
  }, [eye]);
  const take = useCallback(
    (found: Facts) => {
      setFacts(found);
      const { centre, zoom } = view.current;
      const now = centre ? formatEye({ x: centre[0], y: centre[1], zoom }) : undefined;
      if (now !== said.current) {
        said.current = now;
        go({ eye: now ?? null });
      }
    },
    [go],
  );
  const choose = useCallback((id: Id | null) => go({ vehicle: id === null ? null : String(id) }), [go]);
  const look = (accident: Accident) => {
    view.current = { centre: [(accident.seg + 0.5) * SEGMENT, accident.xway * STRIP + LANES / 2], zoom: Math.max(view.current.zoom, 8) };
  };
  return (
    <div className="network city">
      {city && <Sheet city={city} facts={facts} scale={scale} lav={lav} chosen={chosen} query={address.values.query} choose={choose} view={view} onFacts={take} />}
      <aside className="panel" aria-label="The city">
        <div className="kicker">{at === null ? (state.status && state.status.state !== "running" && state.status.state !== "paused" ? "At the end" : "Now") : "At the slider's moment"}</div>
        <h2 data-testid="city-time">{facts ? (layer.dated ? dateText(facts.now) : clockText(facts.now)) : "…"}</h2>
        <dl className="figures">
          <div><dt>{layer.kind === "road" ? "Vehicles" : "Objects"}</dt><dd data-testid="city-size">{facts ? facts.size.toLocaleString("en") : "…"}</dd></div>
          {layer.kind === "road" && <div><dt>Accidents</dt><dd>{facts?.accidents.length ?? "…"}</dd></div>}
          {points.queries && <div><dt>Queries</dt><dd data-testid="city-queries">{facts ? facts.queries.toLocaleString("en") : "…"}</dd></div>}
          <div><dt>Pace</dt><dd>{facts && at === null && state.status?.state === "running" ? `× ${facts.speed.toFixed(1)}` : "still"}</dd></div>
        </dl>
        {facts?.error && <p className="error" role="alert">{facts.error}</p>}
        {layers.length > 1 && (
          <label className="line">
            Shown{" "}
            <select value={layer.point} onChange={(event) => go({ place: event.target.value, vehicle: null })}>
              {layers.map((one) => <option key={one.point}>{one.point}</option>)}
            </select>
          </label>
        )}
        <Find onFind={(id) => choose(id)} />
        {city && chosen && <Card key={chosen} city={city} id={idOf(city, chosen)} notices={points.notices} onQuery={(name) => go({ query: String(name) })} onClose={() => choose(null)} />}
        {points.queries && <Changes facts={facts} go={go} chosen={address.values.query} find={choose} cached={cacheOf(movingBox(network)).step !== null} />}
        {layer.kind === "road" && (
          <>
            <h3>Segments by</h3>
            <div className="tabs" role="group" aria-label="Colour of segments">
              <button aria-pressed={lav} onClick={() => go({ colour: null })}>Speed</button>
              <button aria-pressed={!lav} onClick={() => go({ colour: "toll" })}>Toll</button>
            </div>
            <Legend scale={scale} lav={lav} />
            <h3>Accidents</h3>
            {facts?.accidents.length ? (
              <ul className="ranked" data-testid="accidents">
                {facts.accidents.map((one) => (
                  <li key={`${one.xway} ${one.direction} ${one.seg}`}>
                    <button className="link" onClick={() => look(one)}>⚠ Expressway {one.xway} {directionName(one.direction)}, segment {one.seg}</button>
                    <span className="small">{one.alerted.size.toLocaleString("en")} alerted</span>
                  </li>
                ))}
              </ul>
            ) : (
              <p className="small">Nobody is alerted of one.</p>
            )}
            <Responses run={run} />
          </>
        )}
      </aside>
    </div>
  );
}

/** What the run's moving queries say: the last changes of their answers, and how they are drawn. */
function Changes({ facts, go, chosen, find, cached }: { facts: Facts | null; go: ViewProps["go"]; chosen: string | undefined; find(id: Id): void; cached: boolean }) {
  return (
    <section data-testid="changes">
      <h3>Moving queries</h3>
      <div className="keys small">
        <span>▭ range</span><span>⁕ nearest</span>{cached && <span>┄ cache</span>}<span><b className="joins">+</b> joins</span><span><b className="leaves">−</b> leaves</span>
      </div>
      {chosen !== undefined && <p className="small">Query <b>{chosen}</b> is marked. <button className="link" onClick={() => go({ query: null })}>No longer</button></p>}
      <ul className="changes">
        {facts?.flashes.map((one, place) => (
          <li key={place}>
            <b className={one.joined ? "joins" : "leaves"}>{one.joined ? "+" : "−"}</b>
            <button className="link" onClick={() => find(one.object)}>{one.object}</button> {one.joined ? "joins" : "leaves"}{" "}
            <button className="link" onClick={() => go({ query: String(one.query) })}>{one.query}</button>
            <span className="small"> at {clockText(one.time)}</span>
          </li>
        ))}
      </ul>
      {facts && !facts.flashes.length && <p className="small">No answer has changed since the page was opened.</p>}
    </section>
  );
}

/** The cache of the moving queries, from the arguments of their box. */
function cacheOf(said: Record<string, string> | null): { share: number; step: number | null } {
  const step = Number(said?.longest_step);
  return { share: Number(said?.cache ?? 100) / 100, step: step > 0 ? step : null };
}

function idOf(city: City, text: string): Id {
  return /^\d+$/.test(text) && city.fleet.slot(text) === undefined ? Number(text) : text;
}

/** The time of the streams behind a step: the newest through which a source was read. */
export function timeOf(steps: readonly { sources: Record<string, readonly [number, unknown, number, number | null, unknown]> }[]): number | null {
  for (let place = steps.length - 1; place >= 0; place--) {
    const times = Object.values(steps[place]!.sources).map((one) => one[3]).filter((one): one is number => typeof one === "number");
    if (times.length) return Math.max(...times);
  }
  return null;
}

function Find({ onFind }: { onFind(id: string): void }) {
  const [text, setText] = useState("");
  return (
    <form
      className="find"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) onFind(text.trim());
      }}
    >
      <input value={text} onChange={(event) => setText(event.target.value)} placeholder="Find by number, or click on one" aria-label="Find a vehicle" />
      <button>Find</button>
    </form>
  );
}

function Legend({ scale, lav }: { scale: Scale; lav: boolean }) {
  const first = scale.stops[0]![0];
  const last = scale.stops[scale.stops.length - 1]![0];
  const even = Array.from({ length: 25 }, (_, place) => first + ((last - first) * place) / 24);
  const values = lav ? even : valuesOf(scale, 5);
  const middle = lav ? "40: below it, a toll" : "40,000";
  return (
    <figure className="scale" aria-label={`${scale.title}: from ${first} to ${last} ${scale.unit}`}>
      <div className="ramp">{values.map((value) => <i key={value} style={{ background: css(colourOf(scale, value)) }} />)}</div>
      <div className="ends small"><span>{first}</span><span>{middle}</span><span>{last.toLocaleString("en")} {scale.unit}</span></div>
      <div className="keys small">
        <span><i className="dot moves" /> moves</span><span><i className="dot stands" /> stands</span><span><i className="dot alerted" /> was alerted</span><span>⚠ accident</span>
      </div>
    </figure>
  );
}

/** How soon answers come, against what is asked of them. */
function Responses({ run }: { run: RunStore }) {
  const outputs = Object.entries(useRun(run).status?.window.outputs ?? {}).filter(([, one]) => one.p99 !== null);
  if (!outputs.length) return null;
  return (
    <>
      <h3>Responses</h3>
      <table className="table" data-testid="responses">
        <thead><tr><th>output</th><th>p99</th><th>limit</th></tr></thead>
        <tbody>
          {outputs.map(([name, one]) => {
            const limit = one.graph.filter(([, utility]) => utility === 1).reduce((most, [delay]) => Math.max(most, delay), 0);
            return <tr key={name}><td>{name}</td><td className={limit && one.p99! > limit ? "bad" : ""}>{inWords(one.p99!)}</td><td>{limit ? inWords(limit) : "–"}</td></tr>;
          })}
        </tbody>
      </table>
    </>
  );
}

/** What is looked at: a place in the middle (null: all of it), and how near. */
interface Eye {
  centre: [x: number, y: number] | null;
  zoom: number;
}

interface SheetProps {
  city: City;
  facts: Facts | null;
  scale: Scale;
  lav: boolean;
  chosen: string | undefined;
  /** The moving query that is marked. */
  query: string | undefined;
  choose(id: Id | null): void;
  view: { current: Eye };
  onFacts(facts: Facts): void;
}

const FACTS_SECONDS = 0.5;

function Sheet({ city, facts, scale, lav, chosen, query, choose, view, onFacts }: SheetProps) {
  const holder = useRef<HTMLDivElement>(null);
  const shown = useRef<{ place: Place; now: number } | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const element = holder.current!;
    const [under, middle, over] = [...element.querySelectorAll("canvas")] as [HTMLCanvasElement, HTMLCanvasElement, HTMLCanvasElement];
    let points: Points;
    try {
      points = new Points(middle);
    } catch (mistake) {
      setError((mistake as Error).message);
      return;
    }
    const [roads, marks] = [under.getContext("2d")!, over.getContext("2d")!];
    let request = 0;
    let said = 0;
    let painted = "";
    let ink = inkOf(element);
    const draw = () => {
      const begun = performance.now();
      const wall = begun / 1000;
      const ratio = window.devicePixelRatio || 1;
      const { clientWidth: width, clientHeight: height } = element;
      for (const canvas of [under, middle, over]) {
        if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
          canvas.width = Math.round(width * ratio);
          canvas.height = Math.round(height * ratio);
          painted = "";
        }
      }
      const now = city.now(wall);
      const place = placeFor(city, view.current, width, height);
      shown.current = { place, now };
      if (wall - said > FACTS_SECONDS) {
        said = wall;
        painted = "";
        ink = inkOf(element);
        onFacts({ known: city.known, scale: city.layer.kind === "plane" && city.fleet.size > 1 ? scaleOf(place, city.layer.lonlat) : null, now, size: city.fleet.size, speed: city.clock.speed, accidents: city.roads.accidents(now), queries: city.queries?.standing.size ?? 0, flashes: city.queries?.flashes.slice(-10).reverse() ?? [], error: city.error });
      }
      const key = `${place.left} ${place.top} ${place.scaleX} ${place.scaleY}`;
      if (painted !== key) {
        painted = key;
        roads.setTransform(ratio, 0, 0, ratio, 0, 0);
        if (city.layer.kind === "road") paintRoads(roads, city, now, place, width, height, scale, lav, ink);
        else roads.clearRect(0, 0, width, height);
      }
      points.draw(city.fleet, now, place, ratio, lookOf(city, view.current.zoom), [rgb(ink.ink), rgb(ink.bad), ALERTED]);
      marks.setTransform(ratio, 0, 0, ratio, 0, 0);
      paintMarks(marks, city, now, place, width, height, chosen === undefined ? undefined : city.fleet.slot(idOf(city, chosen)), ink);
      paintQueries(marks, city, now, wall, place, width, height, query, ink);
      element.dataset.frame = (performance.now() - begun).toFixed(2);
      request = requestAnimationFrame(draw);
    };
    request = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(request);
  }, [city, scale, lav, chosen, query, view, onFacts]);

  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const under = (event: { clientX: number; clientY: number }): [number, number] => {
    const box = holder.current!.getBoundingClientRect();
    const { place } = shown.current!;
    return [place.left + (event.clientX - box.left) / place.scaleX, place.top + (event.clientY - box.top) / place.scaleY];
  };
  const centre = (): [number, number] => {
    const { place } = shown.current!;
    const { clientWidth, clientHeight } = holder.current!;
    return [place.left + clientWidth / 2 / place.scaleX, place.top + clientHeight / 2 / place.scaleY];
  };
  const zoom = (by: number, about: [number, number]) => {
    const before = view.current;
    const next = Math.min(200, Math.max(1, before.zoom * by));
    const [cx, cy] = centre();
    const share = 1 - before.zoom / next;
    view.current = next === 1 ? { centre: null, zoom: 1 } : { zoom: next, centre: [cx + (about[0] - cx) * share, city.layer.kind === "road" ? cy : cy + (about[1] - cy) * share] };
  };
  useEffect(() => {
    const element = holder.current!;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      if (shown.current) zoom(Math.exp(-event.deltaY / 400), under(event));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  });
  return (
    <div
      className="canvas sheet"
      ref={holder}
      data-testid="city"
      role="group"
      aria-label="The city from above: plus and minus go nearer and farther, arrows move, 0 shows all of it"
      tabIndex={0}
      onKeyDown={(event) => {
        if (!shown.current) return;
        const { scaleX, scaleY } = shown.current.place;
        const [step, up] = [holder.current!.clientWidth / 6 / scaleX, -holder.current!.clientHeight / 6 / scaleY];
        const [cx, cy] = centre();
        if (event.key === "+" || event.key === "=") zoom(1.5, [cx, cy]);
        else if (event.key === "-") zoom(1 / 1.5, [cx, cy]);
        else if (event.key === "ArrowLeft") view.current = { ...view.current, centre: [cx - step, cy] };
        else if (event.key === "ArrowRight") view.current = { ...view.current, centre: [cx + step, cy] };
        else if (event.key === "ArrowUp") view.current = { ...view.current, centre: [cx, cy + up] };
        else if (event.key === "ArrowDown") view.current = { ...view.current, centre: [cx, cy - up] };
        else if (event.key === "0") view.current = { centre: null, zoom: 1 };
      }}
      onPointerDown={(event) => {
        if ((event.target as HTMLElement).closest("button")) return; // captured, it would not be clicked
        drag.current = { x: event.clientX, y: event.clientY, moved: false };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const from = drag.current;
        if (!from || !shown.current) return;
        const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
        if (!from.moved && Math.hypot(dx, dy) < 4) return;
        const [cx, cy] = centre();
        const { place } = shown.current;
        drag.current = { x: event.clientX, y: event.clientY, moved: true };
        view.current = { ...view.current, centre: [cx - dx / place.scaleX, cy - dy / place.scaleY] };
      }}
      onPointerUp={(event) => {
        const from = drag.current;
        drag.current = null;
        if (!from || from.moved || !shown.current) return;
        const { place, now } = shown.current;
        const [x, y] = under(event);
        const slot = city.fleet.nearest(x, y, place.scaleX, place.scaleY, 14, now);
        choose(slot === null ? null : city.fleet.ids[slot]!);
      }}
    >
      <canvas /><canvas data-testid="vehicles" /><canvas data-testid="marks" />
      {error && <p className="notice error" role="alert">{error}</p>}
      {!error && !facts?.error && !facts?.size && (
        <p className="hint" role="status">{facts?.known ? `Nothing has reported in the last ${SILENT} s.` : "Reading what is kept…"}</p>
      )}
      {facts?.scale && <div className="length small" data-testid="scale"><i style={{ width: facts.scale.pixels }} />{facts.scale.text}</div>}
      <div className="zoomer">
        <button aria-label="Nearer" onClick={() => zoom(1.6, centre())}>+</button>
        <button aria-label="Farther" onClick={() => zoom(1 / 1.6, centre())}>−</button>
        <button aria-label="All of it" onClick={() => (view.current = { centre: null, zoom: 1 })}>⤢</button>
      </div>
    </div>
  );
}

const MARGIN = 18;
/** Room for the buttons. */
const FOOT = 40;

/** What of the city is seen: an expressway's whole length at first, and as many as there are. */
export function placeFor(city: City, { centre, zoom }: Eye, width: number, whole: number): Place {
  const height = whole - FOOT;
  if (city.layer.kind === "plane") {
    const { left, right, bottom, top } = city.bounds ?? { left: 0, right: 1, bottom: 0, top: 1 };
    const [x, y] = centre ?? [(left + right) / 2, (bottom + top) / 2];
    // A degree of longitude is shorter the farther it is from the equator.
    const narrow = city.layer.lonlat ? Math.max(0.01, Math.cos((((bottom + top) / 2) * Math.PI) / 180)) : 1;
    const scale = zoom * Math.min((width - 2 * MARGIN) / ((right - left) * narrow || 1), (height - 2 * MARGIN) / (top - bottom || 1));
    return { left: x - width / 2 / (scale * narrow), top: y + height / 2 / scale, scaleX: scale * narrow, scaleY: -scale };
  }
  const xways = [...city.roads.xways];
  const [first, last] = xways.length ? [Math.min(...xways), Math.max(...xways)] : [0, 0];
  const rows = (last - first) * STRIP + LANES + 4;
  const scaleX = (zoom * (width - 2 * MARGIN)) / LENGTH;
  const scaleY = Math.min(36, Math.max(4, height / rows));
  const fits = rows * scaleY <= height;
  const [x, y] = centre ?? [LENGTH / 2, first * STRIP - 2 + height / 2 / scaleY];
  const middle = first * STRIP - 2 + rows / 2;
  const half = height / 2 / scaleY;
  const low = first * STRIP - 2 + half;
  const high = first * STRIP - 2 + rows - half;
  return { left: x - width / 2 / scaleX, top: (fits ? middle : Math.min(high, Math.max(low, y))) - half, scaleX, scaleY };
}

/** Points are small and let the road through where there are many. */
function lookOf(city: City, zoom: number): Look {
  const crowd = city.fleet.size / zoom;
  if (crowd > 40_000) return { radius: 2, alpha: 0.42 };
  if (crowd > 8000) return { radius: 2.6, alpha: 0.7 };
  return { radius: crowd > 2000 ? 4.5 : 6.5, alpha: 0.92 };
}

function rgb(colour: string): Rgb {
  const hex = colour.replace("#", "");
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;
}
