// A field for an expression or SQL. It is a plain field until CodeMirror has come, and stays one where it cannot.

import { Component, lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { get } from "../wire/api";

export interface EditorProps {
  value: string;
  onChange(text: string): void;
  label: string;
  /** What can be completed: columns with their types, functions, and what can be asked. */
  columns?: Record<string, string>;
  functions?: readonly string[];
  places?: readonly string[];
  /** What the server says is wrong; it is marked where it speaks of. */
  error?: string | null;
  placeholder?: string;
  /** A whole query, not an expression. */
  sql?: boolean;
  /** One line only; Enter submits. */
  one?: boolean;
  rows?: number;
  onSubmit?(): void;
  /** Whether the plain field had the focus when the editor came. */
  focused?: boolean;
}

const Code = lazy(() => import("./code/CodeEditor"));

export function Editor(props: EditorProps) {
  const [focused, setFocused] = useState(false);
  const plain = <Plain {...props} onFocused={setFocused} />;
  return (
    <Fallback plain={plain}>
      <Suspense fallback={plain}>
        <Code {...props} focused={focused} />
      </Suspense>
    </Fallback>
  );
}

function Plain({ value, onChange, label, placeholder, one, rows, onSubmit, onFocused }: EditorProps & { onFocused(focused: boolean): void }) {
  const common = { className: "mono", value, placeholder, spellCheck: false, "aria-label": label, onFocus: () => onFocused(true), onBlur: () => onFocused(false) };
  if (one) return <input {...common} onChange={(event) => onChange(event.target.value)} />;
  return (
    <textarea
      {...common}
      rows={rows ?? 3}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit?.();
      }}
    />
  );
}

class Fallback extends Component<{ plain: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.plain : this.props.children;
  }
}

let asked: Promise<string[]> | null = null;

/** The functions of the expression language, asked for once. */
export function useFunctions(): readonly string[] {
  const [found, setFound] = useState<readonly string[]>([]);
  useEffect(() => {
    let gone = false;
    (asked ??= get<string[]>("functions")).then((names) => !gone && setFound(names), () => (asked = null));
    return () => {
      gone = true;
    };
  }, []);
  return found;
}
