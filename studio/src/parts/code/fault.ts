// Where in a text a mistake is, by what the server says of it.

/** The characters that a message is about; null if it does not say, or speaks of another text. */
export function faultIn(text: string, message: string | null | undefined): [from: number, to: number] | null {
  if (!message || !text.trim()) return null;
  const quoted = [...message.matchAll(/'([^']+)'/g)].map((found) => found[1]!);
  // A message names the expression that it is about first; a field may hold several, a line each.
  const named = /^(box '[^']*': )?(cannot read the )?expression '/.test(message);
  const whole = named ? quoted.find((one) => text.includes(one)) : text;
  if (whole === undefined) return null;
  const begin = text.indexOf(whole);
  const at = /line (\d+), col(?:umn)?:? (\d+)/i.exec(message);
  if (at) {
    const lines = whole.split("\n");
    const before = lines.slice(0, Number(at[1]) - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const place = Math.min(text.length, begin + before + Number(at[2]));
    return [Math.max(begin, place - 1), Math.max(begin + 1, place)];
  }
  for (const word of quoted) {
    if (word === whole && quoted.length > 1) continue;
    const found = new RegExp(`(?<![\\w.])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?!\\w)`, "i").exec(whole);
    if (found) return [begin + found.index, begin + found.index + word.length];
  }
  return named ? [begin, begin + whole.length] : null;
}
