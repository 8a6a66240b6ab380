// CodeMirror for expressions and SQL: colours, completion of columns and functions, mistakes marked where they are.
// It is loaded when the first editor is shown; `../Editor` stands in until then.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { sql, StandardSQL } from "@codemirror/lang-sql";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter, lintKeymap, type Diagnostic } from "@codemirror/lint";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder as placeholderOf } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useLayoutEffect, useRef } from "react";
import type { EditorProps } from "../Editor";
import { faultIn } from "./fault";

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--bad)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

const WORDS = ["and", "or", "not", "in", "between", "like", "is", "null", "case", "when", "then", "else", "end", "true", "false"];
const SQL_WORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "JOIN", "ON", "AS", "ORDER BY", "PARTITION BY", "TUMBLE(time, '1 minute')", "HOP(time, '10 seconds', '1 minute')"];

export default function CodeEditor(props: EditorProps) {
  const { value, label, one = false, placeholder, error } = props;
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const now = useRef(props);
  now.current = props;
  const faults = useRef(new Compartment());
  useEffect(() => {
    const complete = (context: CompletionContext): CompletionResult | null => {
      const word = context.matchBefore(/[\w.]*/);
      if (!word || (word.from === word.to && !context.explicit)) return null;
      const { columns = {}, functions = [], places = [], sql: whole } = now.current;
      return {
        from: word.from,
        options: [
          ...Object.entries(columns).map(([name, kind]) => ({ label: name, type: "variable", detail: kind, boost: 2 })),
          ...places.map((name) => ({ label: name, type: "class", detail: "kept", boost: 1 })),
          ...functions.map((name) => ({ label: name, type: "function", apply: `${name}(` })),
          ...(whole ? SQL_WORDS : WORDS).map((name) => ({ label: name, type: "keyword" })),
        ],
        validFor: /^[\w.]*$/,
      };
    };
    const submit = () => {
      if (!now.current.onSubmit) return false;
      now.current.onSubmit();
      return true;
    };
    const made = new EditorView({
      parent: holder.current!,
      state: EditorState.create({
        doc: now.current.value,
        extensions: [
          history(),
          closeBrackets(),
          sql({ dialect: StandardSQL, upperCaseKeywords: false }),
          syntaxHighlighting(COLOURS),
          autocompletion({ override: [complete], icons: false }),
          faults.current.of([]),
          Prec.high(keymap.of([{ key: "Mod-Enter", run: submit }])),
          // Tab is left to the browser, so that the keyboard always leads out.
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...(one ? [{ key: "Enter", run: () => submit() || true }] : []), ...defaultKeymap]),
          one ? EditorState.transactionFilter.of((change) => (change.newDoc.lines > 1 ? [change, { changes: { from: 0, to: change.newDoc.length, insert: change.newDoc.toString().replace(/\s*\n\s*/g, " ") }, sequential: true }] : change)) : EditorView.lineWrapping,
          placeholderOf(placeholder ?? ""),
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off", autocorrect: "off", ...(one ? {} : { "aria-multiline": "true" }) }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && update.state.doc.toString() !== now.current.value) now.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    if (now.current.focused) made.focus();
    return () => made.destroy();
  }, [label, one, placeholder]);
  // Before anything else can be typed: a text that comes back late would replace a newer one.
  useLayoutEffect(() => {
    const own = view.current;
    if (own && own.state.doc.toString() !== value) own.dispatch({ changes: { from: 0, to: own.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    const marked = (shown: EditorView): Diagnostic[] => {
      const place = faultIn(shown.state.doc.toString(), error);
      return place ? [{ from: place[0], to: Math.min(place[1], shown.state.doc.length), severity: "error", message: error! }] : [];
    };
    view.current?.dispatch({ effects: faults.current.reconfigure(linter(marked, { delay: 0 })) });
  }, [error]);
  return <div ref={holder} className={`editor${one ? " one" : ""}`} style={one ? undefined : { minHeight: `${1.5 * (props.rows ?? 3) + 0.8}em` }} />;
}
