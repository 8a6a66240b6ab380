// What differs between two texts, line by line.

export interface Line {
  kind: "same" | "new" | "gone";
  text: string;
}

/** The lines of both texts in order, by their longest common part. */
export function diff(before: string, after: string): Line[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  // lengths[i][j]: how many lines the ends from i and j have in common.
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i]![j] = a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i]! });
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) lines.push({ kind: "gone", text: a[i++]! });
    else lines.push({ kind: "new", text: b[j++]! });
  }
  return lines;
}

/** Only what changed, with so many lines around it; null stands for what is left out. */
export function hunks(lines: Line[], around = 2): (Line | null)[] {
  const near = lines.map((_, place) => lines.slice(Math.max(0, place - around), place + around + 1).some((line) => line.kind !== "same"));
  const shown: (Line | null)[] = [];
  lines.forEach((line, place) => {
    if (near[place]) shown.push(line);
    else if (shown.length ? shown[shown.length - 1] !== null : true) shown.push(null);
  });
  return shown;
}
