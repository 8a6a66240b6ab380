// One vehicle: its last report, the tolls it was quoted, and why.

import { useEffect, useState } from "react";
import { get, theLive } from "../../wire/api";
import { rowsOf } from "../../wire/frames";
import { milesAnHour, placeOf, type City } from "./feed";
import type { Id, Sight } from "./fleet";
import { clockText, dateText, directionName, tripOf, type Quote, type Trip } from "./road";

interface Explained {
  balance: number;
  answers: { kind: string; says: string; reasons: { rule: string; text: string }[] }[];
}

export function Card({ city, id, notices, onQuery, onClose }: { city: City; id: Id; notices: string | null; onQuery(name: Id): void; onClose(): void }) {
  const [seen, setSeen] = useState<Sight | null>(null);
  const [all, setQuotes] = useState<Quote[]>([]);
  const [why, setWhy] = useState<{ time: number; said: Explained | null; error: string | null } | null>(null);
  useEffect(() => {
    const look = () => {
      const slot = city.fleet.slot(id);
      setSeen(slot === undefined ? null : city.fleet.sight(slot));
    };
    look();
    const timer = setInterval(look, 500);
    return () => clearInterval(timer);
  }, [city, id]);
  useEffect(() => {
    setQuotes([]);
    if (!notices || typeof id !== "number") return;
    const asked = { place: notices, query: `SELECT time, lav, toll FROM ${notices} WHERE vid = ${id}` };
    return theLive().open("rows", asked, {
      frame: (frame) => {
        const rows = rowsOf(frame);
        if (!rows) return;
        const more = Array.from({ length: rows.height }, (_, row) => ({ time: Number(rows.value("time", row)), lav: Number(rows.value("lav", row)), toll: Number(rows.value("toll", row)) }));
        setQuotes((before) => [...before, ...more].sort((a, b) => b.time - a.time));
      },
    });
  }, [city, id, notices]);
  const road = city.layer.kind === "road";
  const [reports, setReports] = useState<{ time: number; seg: number }[]>([]);
  useEffect(() => {
    setReports([]);
    if (!road || typeof id !== "number") return;
    const asked = { place: city.layer.point, query: `SELECT time, seg FROM ${city.layer.point} WHERE vid = ${id}` };
    return theLive().open("rows", asked, {
      frame: (frame) => {
        const rows = rowsOf(frame);
        if (!rows) return;
        const more = Array.from({ length: rows.height }, (_, row) => ({ time: Number(rows.value("time", row)), seg: Number(rows.value("seg", row)) }));
        setReports((before) => [...before, ...more].sort((a, b) => a.time - b.time));
      },
    });
  }, [city, id, road]);
  const ask = (time: number) => {
    setWhy({ time, said: null, error: null });
    get<Explained>(`vehicle/why?vid=${id}&time=${time}`).then(
      (said) => setWhy({ time, said, error: null }),
      (mistake: Error) => setWhy({ time, said: null, error: mistake.message }),
    );
  };
  // At a moment of the past, what came later is not known yet.
  const quotes = city.at === null ? all : all.filter((one) => one.time <= city.at!);
  const trip = tripOf(city.at === null ? reports : reports.filter((one) => one.time <= city.at!));
  const place = seen && road ? placeOf(seen) : null;
  const alerted = typeof id === "number" ? city.alerts.get(id) : undefined;
  const latest = quotes[0];
  const degree = city.layer.lonlat ? "°" : "";
  const asked = seen && city.queries?.of(id);
  return (
    <section className="card" data-testid="card" aria-label={`Vehicle ${id}`}>
      <button className="quiet close" onClick={onClose} aria-label="Close">✕</button>
      <h2>{road ? "Vehicle" : city.layer.id} {id}</h2>
      {!seen && <p className="small">It is not on the road at this moment.</p>}
      {seen && place && (
        <p>
          Expressway {place.xway} {directionName(place.direction)}, segment {place.seg}, {milesAnHour(seen.vx)} mph.{" "}
          <span className="small">Last report at {clockText(seen.time)}.</span>
        </p>
      )}
      {seen && trip && <p className="small" data-testid="trip">{tripInWords(trip)}</p>}
      {seen && !road && (
        <p>
          <span className="mono">{city.layer.x} {Number(seen.x.toPrecision(7))}{degree}, {city.layer.y} {Number(seen.y.toPrecision(7))}{degree}.</span>{" "}
          <span className="small">Last report at {city.layer.dated ? dateText(seen.time) : clockText(seen.time)}.</span>
        </p>
      )}
      {asked && (asked.holds.length > 0 || asked.follows.length > 0) && (
        <p className="small">
          {asked.follows.length > 0 && <>Followed by {asked.follows.slice(0, 8).map((name, place) => <span key={name}>{place ? ", " : ""}<button className="link" onClick={() => onQuery(name)}>{name}</button></span>)}. </>}
          {asked.holds.length > 0 && <>In the answers of {asked.holds.slice(0, 12).map((name, place) => <span key={name}>{place ? ", " : ""}<button className="link" onClick={() => onQuery(name)}>{name}</button></span>)}{asked.holds.length > 12 ? ` and ${asked.holds.length - 12} more` : ""}.</>}
        </p>
      )}
      {alerted !== undefined && <p className="error">Alerted of an accident ahead at {clockText(alerted)}.</p>}
      {seen && place && (
        <p className="line">
          {latest ? <span>Quoted <b>{latest.toll.toLocaleString("en")}</b> for this segment.</span> : <span className="small">No toll was quoted yet.</span>}
        </p>
      )}
      {quotes.length > 0 && (
        <table className="table">
          <thead><tr><th>quoted at</th><th>LAV</th><th>toll</th><th /></tr></thead>
          <tbody>
            {quotes.slice(0, 12).map((one) => (
              <tr key={one.time}>
                <td>{clockText(one.time)}</td><td>{one.lav < 0 ? "–" : one.lav}</td><td>{one.toll.toLocaleString("en")}</td>
                <td><button className="link" onClick={() => ask(one.time)} aria-label={`Why was ${one.toll} quoted at ${clockText(one.time)}?`}>Why?</button></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {why && (
        <div className="why" data-testid="vehicle-why">
          <h3>Why, at {clockText(why.time)}</h3>
          {why.error && <p className="error" role="alert">{why.error}</p>}
          {!why.said && !why.error && <p className="small">Reading the events…</p>}
          {why.said && <p>Charged in all by then: <b data-testid="balance">{why.said.balance.toLocaleString("en")}</b>.</p>}
          {why.said?.answers.map((answer, place) => (
            <div key={place}>
              <p><b>{answer.kind}</b>: {answer.says}</p>
              <ul>{answer.reasons.map((reason, at) => <li key={at}><span className="tag">rule {reason.rule}</span> {reason.text}</li>)}</ul>
            </div>
          ))}
        </div>
      )}
    </section>
  );
}

function tripInWords({ since, from, to, reports }: Trip): string {
  return `This trip: since ${clockText(since)}, ${from === to ? `in segment ${from}` : `from segment ${from} to ${to}`}, ${reports} ${reports === 1 ? "report" : "reports"}.`;
}
