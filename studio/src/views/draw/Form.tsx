// The arguments of the box that is chosen, with what is wrong beside them.

import { useState } from "react";
import { asText, connect, fromText, isCode, isGraph, isValues, portOf, removeBox, renameBox, setArgument, type Checked, type Draft, type DraftBox, type Kind, type Parameter } from "./draft";
import { Editor, useFunctions } from "../../parts/Editor";
import { GraphEdit } from "./GraphEdit";

interface Props {
  draft: Draft;
  box: DraftBox;
  kind: Kind | undefined;
  checked: Checked | null;
  onChange(draft: Draft, chosen?: string): void;
  outputs: string[];
}

export function Form({ draft, box, kind, checked, onChange, outputs }: Props) {
  const columns = checked?.columns?.[box.name] ?? [];
  const error = checked?.errors[box.name];
  const inputs = portsIn(kind, box);
  const known = Object.fromEntries(columns.map((name) => [name, ""]));
  return (
    <article data-testid="form">
      <p className="kicker">{box.kind.replaceAll("_", " ")}</p>
      <Field label="name" value={box.name} meaning={(text) => text || box.name} onChange={(text) => text && onChange(renameBox(draft, box.name, text), text)} />
      <p className="small">{kind?.summary}</p>
      {error && <p className="error small" role="alert" data-testid="box-error">{error}</p>}
      {inputs.map((port) => {
        const end = `${box.name}.${port}`;
        return (
          <label key={port} className="field">
            <span>{port === "in" ? "from" : port}</span>
            <select value={draft.arcs.find((arc) => arc[1] === end)?.[0] ?? ""} onChange={(event) => onChange(connect(draft, event.target.value || null, end))} aria-label={`input ${port}`}>
              <option value="">nothing yet</option>
              {outputs.filter((one) => !one.startsWith(`${box.name}.`)).map((one) => (
                <option key={one} value={one}>{portOf(one) === "out" ? one.slice(0, -4) : one}</option>
              ))}
            </select>
          </label>
        );
      })}
      {columns.length > 0 && <p className="small">Columns that come: <code>{columns.join(", ")}</code></p>}
      {(kind?.parameters ?? []).map((parameter) =>
        isGraph(parameter) && parameter.name === "delay" ? (
          <div key={parameter.name} className="field">
            <span title={parameter.about}>delay</span>
            <GraphEdit label="What an answer is worth by its delay" points={(box.delay as [number, number][] | undefined) ?? []} onChange={(points) => onChange(setArgument(draft, box.name, "delay", points))} />
          </div>
        ) : parameter.type.startsWith("bool") ? (
          <label key={parameter.name} className="field" title={parameter.about}>
            <span>{parameter.name}</span>
            <input type="checkbox" checked={Boolean(box[parameter.name] ?? parameter.default)} onChange={(event) => onChange(setArgument(draft, box.name, parameter.name, event.target.checked))} />
          </label>
        ) : (
          <Field
            key={`${box.name}.${parameter.name}`}
            label={parameter.name}
            about={parameter.about}
            needed={parameter.needed}
            tall={isValues(parameter)}
            code={isCode(parameter)}
            columns={known}
            error={error}
            placeholder={placeholder(parameter)}
            value={asText(parameter, box[parameter.name])}
            meaning={(text) => asText(parameter, fromText(parameter, text))}
            onChange={(text) => onChange(setArgument(draft, box.name, parameter.name, fromText(parameter, text)))}
          />
        ),
      )}
      <div className="line">
        <button onClick={() => onChange(removeBox(draft, box.name), "")}>Remove the box</button>
      </div>
    </article>
  );
}

export function portsIn(kind: Kind | undefined, box: DraftBox): string[] {
  if (box.kind === "union") return Array.from({ length: Number(box.count ?? box.n ?? 2) || 2 }, (_, place) => `in${place}`);
  return kind?.inputs ?? [];
}

interface FieldProps {
  label: string;
  value: string;
  about?: string;
  needed?: boolean;
  tall?: boolean;
  code?: boolean;
  columns?: Record<string, string>;
  error?: string | undefined;
  placeholder?: string;
  /** A text as the draft would give it back. */
  meaning?(text: string): string;
  onChange(text: string): void;
}

function Field({ label, value, about, needed, tall, code, columns, error, placeholder, meaning, onChange }: FieldProps) {
  // What is typed stays as it is typed, as long as the draft has its meaning.
  const [typed, setTyped] = useState(value);
  const text = (meaning?.(typed) ?? typed) === value ? typed : value;
  const change = (next: string) => {
    setTyped(next);
    onChange(next);
  };
  const functions = useFunctions();
  if (code) {
    return (
      <div className="field" title={about}>
        <span>{label}{needed ? " *" : ""}</span>
        <Editor label={label} one={!tall} rows={3} value={text} onChange={change} columns={columns ?? {}} functions={functions} error={error ?? null} placeholder={placeholder ?? ""} />
      </div>
    );
  }
  const common = { className: "mono", value: text, placeholder, spellCheck: false, "aria-label": label, title: about };
  return (
    <label className="field">
      <span>{label}{needed ? " *" : ""}</span>
      <input {...common} onChange={(event) => change(event.target.value)} />
    </label>
  );
}

function placeholder(parameter: Parameter): string {
  if (isValues(parameter)) return "name = expression, a line each";
  if (parameter.type.includes("Schema")) return "time int, speed float";
  if (parameter.type.includes("tuple[str")) return "a, b";
  if (parameter.type.includes("Duration")) return "10 seconds";
  if (isGraph(parameter)) return parameter.name === "share" ? "e.g. 0 0, 1 1" : "e.g. 0 0, 100 1";
  return parameter.default === null || parameter.default === undefined ? "" : String(parameter.default);
}
