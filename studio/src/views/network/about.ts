// The docstring of a box as parts that can be shown: paragraphs, lists, and the words in backticks.

export interface Part {
  kind: "text" | "list" | "heading";
  /** Of a list its entries, else the one text. */
  texts: string[];
}

export function partsOf(about: string): Part[] {
  const parts: Part[] = [];
  let within = false;
  for (const line of about.split("\n")) {
    const text = line.trim();
    const last = parts[parts.length - 1];
    if (!text) within = false;
    else if (/^[A-Z]\w*:$/.test(line)) {
      parts.push({ kind: "heading", texts: [text.slice(0, -1)] });
      within = false;
    } else if (line.startsWith("- ") || /^ {4}\S/.test(line)) {
      const entry = text.replace(/^- /, "");
      if (last?.kind === "list") last.texts.push(entry);
      else parts.push({ kind: "list", texts: [entry] });
      within = true;
    } else if (within && last) last.texts.push(`${last.texts.pop()} ${text}`);
    else {
      parts.push({ kind: "text", texts: [text] });
      within = true;
    }
  }
  return parts;
}

/** Plain text and code in turns: what stands in backticks is at the odd places. */
export const spansOf = (text: string) => text.split(/`+/);
