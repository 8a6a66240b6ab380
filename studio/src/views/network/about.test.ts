import { describe, expect, it } from "vitest";
import { partsOf, spansOf } from "./about";

const ABOUT = `Two lines
of text.

- A window begins at a multiple of \`every\`;
  its last instant counts.
- Nulls are left out.

Parameters:
    values: pairs of a name
        and an expression
    every: the length; or`;

describe("the docstring of a box", () => {
  it("is cut into paragraphs, lists and headings", () => {
    expect(partsOf(ABOUT)).toEqual([
      { kind: "text", texts: ["Two lines of text."] },
      { kind: "list", texts: ["A window begins at a multiple of `every`; its last instant counts.", "Nulls are left out."] },
      { kind: "heading", texts: ["Parameters"] },
      { kind: "list", texts: ["values: pairs of a name and an expression", "every: the length; or"] },
    ]);
    expect(partsOf("")).toEqual([]);
  });
  it("has code between backticks", () => {
    expect(spansOf("a `b` c ``d``")).toEqual(["a ", "b", " c ", "d", ""]);
  });
});
