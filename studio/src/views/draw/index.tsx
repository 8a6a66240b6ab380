// Drawing: boxes from a palette, typed connections, errors in place, run on a sample, saved as Python or JSON.

import { Background, BackgroundVariant, Controls, Handle, Position, ReactFlow, useStore, useUpdateNodeInternals, type Connection, type Edge, type Node, type NodeProps } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { Fragment, memo, useEffect, useMemo, useState } from "react";
import type { ViewProps } from "..";
import { useLayout } from "../../graph/useLayout";
import { get, post } from "../../wire/api";
import { download, TupleTable, type Row } from "../network/Monitor";
import { Name } from "../../parts/Name";
import { addBox, connect, differences, EMPTY, keepDraft, keptDraft, shownDraft, type Checked, type Draft, type Kind } from "./draft";
import { diff, hunks } from "./diff";
import { Form, portsIn } from "./Form";

interface NodeData extends Record<string, unknown> {
  title: string;
  kind: string;
  inputs: string[];
  outputs: string[];
  error: boolean;
  change: string | undefined;
  chosen: boolean;
}

const TABS = { box: "Box", python: "Python", changes: "Changes", sample: "Sample" };
const NODE_TYPES = { draft: memo(DraftNode) };

export default function DrawView({ subject, address, go }: ViewProps) {
  const [kinds, setKinds] = useState<Kind[]>([]);
  const [original, setOriginal] = useState<Draft>(EMPTY);
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [past, setPast] = useState<Draft[]>([]);
  const [checked, setChecked] = useState<Checked | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const tab = address.values.tab !== undefined && address.values.tab in TABS ? (address.values.tab as keyof typeof TABS) : "box";
  const setTab = (next: keyof typeof TABS) => go({ tab: next === "box" ? null : next });
  const [loaded, setLoaded] = useState(false);
  const [before, setBefore] = useState("");
  const chosen = address.values.box ?? "";
  useEffect(() => {
    get<Kind[]>("kinds").then(setKinds, (mistake: Error) => setMessage(mistake.message));
    get<{ text: string }>("python").then(({ text }) => setBefore(text), () => {});
    get<Draft>("drawing").then(
      (found) => {
        setOriginal(found);
        setDraft(keptDraft(subject.name, found) ?? found);
        setLoaded(true);
      },
      (mistake: Error) => setMessage(mistake.message),
    );
  }, [subject.name]);
  useEffect(() => {
    if (loaded) keepDraft(subject.name, original, draft);
  }, [subject.name, loaded, original, draft]);
  useEffect(() => {
    const timer = setTimeout(() => {
      post<Checked>("draft/check", { network: draft }).then(setChecked, (mistake: Error) => setMessage(mistake.message));
    }, 150);
    return () => clearTimeout(timer);
  }, [draft]);
  const change = (next: Draft, select?: string) => {
    setPast((before) => [...before.slice(-100), draft]);
    setDraft(next);
    if (select !== undefined) go({ box: select || null, tab: null });
  };
  const kindOf = useMemo(() => new Map(kinds.map((kind) => [kind.kind, kind])), [kinds]);
  const changed = useMemo(() => differences(original, draft), [original, draft]);
  const outputs = draft.boxes.flatMap((box) => (kindOf.get(box.kind)?.outputs ?? ["out"]).map((port) => `${box.name}.${port}`));
  const box = draft.boxes.find((one) => one.name === chosen);
  const add = (kind: Kind) => {
    const first = box && kindOf.get(box.kind)?.outputs[0];
    const [next, name] = addBox(draft, kind, box && first ? `${box.name}.${first}` : null);
    change(next, name);
  };
  const replace = () =>
    post<{ said: string; accepted: boolean }>("replace", { network: draft }).then(
      (answer) => {
        setMessage(answer.accepted ? answer.said : `Refused: ${answer.said}`);
        if (answer.accepted) {
          setOriginal(draft);
          setBefore(checked?.python ?? "");
        }
      },
      (mistake: Error) => setMessage(mistake.message),
    );
  const open = (file: File | undefined) =>
    void file?.text().then((text) => {
      try {
        const found = JSON.parse(text) as Draft;
        if (!Array.isArray(found.boxes) || !Array.isArray(found.arcs)) throw new Error("it has no boxes and arcs");
        change({ ...EMPTY, ...found }, "");
        setMessage(null);
      } catch (mistake) {
        setMessage(`${file.name} is no drawing: ${(mistake as Error).message}. Expected JSON as this page or Network.to_json writes it.`);
      }
    });
  const errors = Object.entries(checked?.errors ?? {});
  return (
    <div className="draw">
      <nav className="palette" aria-label="Boxes">
        {!kinds.length && <p className="small">Loading…</p>}
        {rooms(kinds).map(([room, own]) => (
          <Fragment key={room}>
            <h3>{room}</h3>
            {own.map((kind) => (
              <button key={kind.kind} onClick={() => add(kind)} title={kind.summary}>{kind.kind.replaceAll("_", " ")}</button>
            ))}
          </Fragment>
        ))}
      </nav>
      <div className="canvas">
        {!draft.boxes.length && <p className="hint">An empty sheet. Begin with a <b>source</b> from the left, or open a drawing.</p>}
        <DraftCanvas draft={draft} kindOf={kindOf} checked={checked} changed={changed} chosen={chosen} onChoose={(name) => go({ box: name, tab: null })} onConnect={(begin, end) => change(connect(draft, begin, end))} />
        <div className="draw-bar line">
          <button onClick={() => { const before = past[past.length - 1]; if (before) { setPast(past.slice(0, -1)); setDraft(before); } }} disabled={!past.length}>Undo</button>
          {Object.keys(changed).length > 0 && original.boxes.length > 0 && <button onClick={() => change(original, "")} title="Go back to the network as it was opened">Start over</button>}
          <span className={`pill ${errors.length ? "error" : checked?.whole ? "state-running" : ""}`} data-testid="draft-state" role="status">
            {errors.length ? `${errors.length} to fix` : checked?.whole ? "fits" : "empty"}
          </span>
          {checked?.errors[""] && <span className="small error">{checked.errors[""]}</span>}
          {Object.keys(changed).length > 0 && <span className="small">{Object.entries(changed).map(([name, what]) => `${name}: ${what}`).join(", ")}</span>}
          <span className="grow" />
          <label className="button">
            Open JSON
            <input type="file" accept=".json,application/json" onChange={(event) => { open(event.target.files?.[0]); event.target.value = ""; }} aria-label="Open a drawing" />
          </label>
          <button onClick={() => download(`${draft.network}.json`, JSON.stringify(draft, null, 2))} title="Save the drawing as a file that this page opens again">Save JSON</button>
          <button onClick={() => download(`${draft.network}.py`, checked?.python ?? "")} disabled={!checked?.whole} title="Save the network as a Python file to run">Save Python</button>
          {subject.kind === "run" && <button className="primary" onClick={replace} disabled={!checked?.whole || !Object.keys(changed).length} title="Let the run go on with this network, from the next train on">Replace in the run</button>}
        </div>
        {message && <p className="draw-message small" role="status" data-testid="draw-message">{message}</p>}
      </div>
      <aside className="panel" aria-label="Details">
        <div className="tabs" role="tablist">
          {(Object.keys(TABS) as (keyof typeof TABS)[]).map((one) => (
            <button key={one} role="tab" aria-selected={tab === one} onClick={() => setTab(one)}>{TABS[one]}</button>
          ))}
        </div>
        {tab === "python" ? (
          <pre className="mono code" data-testid="python">{checked?.python || "Draw a box first."}</pre>
        ) : tab === "changes" ? (
          <Changes before={before} after={checked?.python ?? ""} changed={changed} fits={!errors.length} />
        ) : tab === "sample" ? (
          <Sample draft={draft} whole={checked?.whole ?? false} />
        ) : box ? (
          <Form key={kindOf.has(box.kind) ? "form" : "raw"} draft={draft} box={box} kind={kindOf.get(box.kind)} checked={checked} onChange={change} outputs={outputs} />
        ) : (
          <>
            <p>Choose a box to edit it, or add one from the left; a new box is fed by the one that is chosen. Drag from port to port to connect.</p>
            {errors.map(([name, text]) => (
              <p key={name} className="small error"><button className="link" onClick={() => go({ box: name })}>{name || "the network"}</button>: {text}</p>
            ))}
          </>
        )}
      </aside>
    </div>
  );
}

interface CanvasProps {
  draft: Draft;
  kindOf: Map<string, Kind>;
  checked: Checked | null;
  changed: Record<string, string>;
  chosen: string;
  onChoose(name: string): void;
  onConnect(begin: string, end: string): void;
}

function DraftCanvas({ draft, kindOf, checked, changed, chosen, onChoose, onConnect }: CanvasProps) {
  const shown = useMemo(() => shownDraft(draft), [draft]);
  const laid = useLayout(shown);
  const nodes: Node<NodeData>[] = draft.boxes.map((box) => {
    const kind = kindOf.get(box.kind);
    const placed = laid?.layout.items[box.name] ?? { x: 0, y: 0, width: 184, height: 64 };
    return {
      id: box.name,
      type: "draft",
      position: { x: placed.x, y: placed.y },
      width: placed.width,
      height: placed.height,
      measured: { width: placed.width, height: placed.height }, // else every change would hide the arcs for a frame
      draggable: false,
      ariaLabel: `${box.kind} ${box.name}`,
      data: {
        title: box.name,
        kind: box.kind.replaceAll("_", " "),
        inputs: portsIn(kind, box),
        outputs: kind?.outputs ?? ["out"],
        error: checked ? box.name in checked.errors : false,
        change: changed[box.name],
        chosen: chosen === box.name,
      },
    };
  });
  const edges: Edge[] = draft.arcs.map(([begin, end]) => ({
    id: `${begin}→${end}`,
    source: begin.slice(0, begin.lastIndexOf(".")),
    sourceHandle: begin.slice(begin.lastIndexOf(".") + 1),
    target: end.slice(0, end.lastIndexOf(".")),
    targetHandle: end.slice(end.lastIndexOf(".") + 1),
  }));
  return (
    <ReactFlow
      key={laid ? laid.shown.items.length : "empty"} // it is fitted again when what was added is laid out
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      onNodeClick={(_, node) => onChoose(node.id)}
      onConnect={(made: Connection) => onConnect(`${made.source}.${made.sourceHandle}`, `${made.target}.${made.targetHandle}`)}
      onKeyDown={(event) => {
        const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset.id;
        if (id && event.key === "Enter") onChoose(id);
      }}
      deleteKeyCode={null}
      minZoom={0.05}
      fitView
      fitViewOptions={{ padding: 0.1, maxZoom: 1.1 }}
      proOptions={{ hideAttribution: true }}
    >
      <Background variant={BackgroundVariant.Dots} gap={22} size={1.2} />
      <Controls showInteractive={false} />
    </ReactFlow>
  );
}

function DraftNode({ id, data }: NodeProps<Node<NodeData>>) {
  const measure = useUpdateNodeInternals();
  const ports = [...data.inputs, "", ...data.outputs].join();
  useEffect(() => measure(id), [ports]); // eslint-disable-line
  const far = useStore((store) => store.transform[2] < 0.62);
  const place = (number: number, all: string[]) => ({ top: `${(100 * (number + 1)) / (all.length + 1)}%` });
  return (
    <div className={`box drawn${far ? " far" : ""}${data.chosen ? " chosen" : ""}${data.error ? " wrong" : ""}`}>
      {data.inputs.map((port, number) => <Handle key={port} id={port} type="target" position={Position.Left} style={place(number, data.inputs)} title={port} />)}
      <div className="title"><Name text={data.title} /></div>
      {!far && <div className="row"><span className="kind">{data.kind}</span><span className="small">{data.error ? "to fix" : data.change}</span></div>}
      {data.outputs.map((port, number) => <Handle key={port} id={port} type="source" position={Position.Right} style={place(number, data.outputs)} title={port} />)}
    </div>
  );
}

const ROOMS = ["ends", "tuples", "windows", "joins", "relations", "signed"];

/** The palette in the rooms of the library; sources and outputs come first: with them one begins and ends. */
function rooms(kinds: readonly Kind[]): [string, Kind[]][] {
  const rank = ({ kind }: Kind) => (kind === "source" ? 0 : kind === "output" ? 1 : 2);
  const names = [...new Set([...ROOMS, ...kinds.map((kind) => kind.room)])];
  return names.map((room): [string, Kind[]] => [room, kinds.filter((kind) => kind.room === room).sort((a, b) => rank(a) - rank(b))]).filter(([, own]) => own.length > 0);
}

/** What was changed since the network was opened, as a difference of its Python. */
function Changes({ before, after, changed, fits }: { before: string; after: string; changed: Record<string, string>; fits: boolean }) {
  const names = Object.entries(changed);
  const lines = useMemo(() => hunks(diff(before, after)), [before, after]);
  if (!names.length) return <p>Nothing is changed.</p>;
  const said = <p className="small">{names.map(([name, what]) => `${name}: ${what}`).join(", ")}</p>;
  if (!fits) return <>{said}<p data-testid="diff">The difference in Python is shown when nothing is left to fix.</p></>;
  return (
    <>
      {said}
      <pre className="mono code diff" data-testid="diff" tabIndex={0} aria-label="What was changed, as Python">
        {lines.map((line, place) => (
          <span key={place} className={line?.kind ?? "left-out"}>{line ? `${line.kind === "new" ? "+" : line.kind === "gone" ? "-" : " "} ${line.text}\n` : "  …\n"}</span>
        ))}
      </pre>
    </>
  );
}

function Sample({ draft, whole }: { draft: Draft; whole: boolean }) {
  const sources = draft.boxes.filter((box) => box.kind === "source");
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [result, setResult] = useState<Record<string, Row[]> | null>(null);
  const [error, setError] = useState<string | null>(null);
  const textOf = (name: string) => texts[name] ?? made(draft, name);
  const run = () => {
    const given: Record<string, Row[]> = {};
    try {
      for (const source of sources) {
        given[source.name] = textOf(source.name).split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line) as Row);
      }
    } catch (mistake) {
      setError(`a line is not JSON: ${(mistake as Error).message}`);
      return;
    }
    post<{ tuples: Record<string, Row[]> }>("draft/try", { network: draft, sources: given }).then(
      ({ tuples }) => {
        setResult(tuples);
        setError(null);
      },
      (mistake: Error) => setError(mistake.message),
    );
  };
  const outputs = draft.boxes.filter((box) => box.kind === "output").map((box) => box.name);
  return (
    <div className="sample">
      {sources.map((source) => (
        <label key={source.name} className="field tall">
          <span>{source.name}: a tuple a line</span>
          <textarea className="mono" rows={6} value={textOf(source.name)} onChange={(event) => setTexts({ ...texts, [source.name]: event.target.value })} spellCheck={false} aria-label={`tuples of ${source.name}`} />
        </label>
      ))}
      <button className="primary" onClick={run} disabled={!whole}>Run</button>
      {error && <p className="small error" role="alert">{error}</p>}
      {result && (
        <div data-testid="sample-result">
          {(outputs.length ? outputs : Object.keys(result)).map((name) => (
            <section key={name}>
              <h3><span className="as-is">{name}</span>: {result[name]?.length ?? 0} tuples</h3>
              {result[name]?.length ? <TupleTable columns={Object.keys(result[name][0]!)} rows={[...result[name]].reverse()} /> : null}
            </section>
          ))}
        </div>
      )}
    </div>
  );
}

/** Some tuples that fit a source's columns. */
function made(draft: Draft, name: string): string {
  const source = draft.boxes.find((box) => box.name === name);
  const schema = (source?.schema as { schema?: [string, string][] } | undefined)?.schema ?? [];
  const time = (source?.time as string | undefined) ?? "time";
  return Array.from({ length: 6 }, (_, place) =>
    JSON.stringify(
      Object.fromEntries(
        schema.map(([column, kind], at) => [
          column,
          kind === "timestamp" ? `2026-01-01 00:00:0${place}` : column === time ? place * 10 : kind === "string" ? `a${place % 2}` : kind === "bool" ? place % 2 === 0 : ((place + 1) * (at + 3) * 17) % 130,
        ]),
      ),
    ),
  ).join("\n");
}
