import { describe, expect, it } from "vitest";
import { diff, hunks } from "./diff";

describe("what differs", () => {
  it("is what came and what went, in order", () => {
    const lines = diff("a\nb\nc", "a\nx\nc\nd");
    expect(lines.map(({ kind, text }) => `${kind} ${text}`)).toEqual(["same a", "gone b", "new x", "same c", "new d"]);
    expect(diff("a", "a")).toEqual([{ kind: "same", text: "a" }]);
  });
  it("is shown with the lines around it", () => {
    const lines = diff("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\nsix");
    expect(hunks(lines, 1).map((line) => line?.text ?? null)).toEqual([null, "5", "6", "six"]);
  });
});
