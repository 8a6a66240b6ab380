import { describe, expect, it } from "vitest";
import { csv } from "./Monitor";

describe("tuples as CSV", () => {
  it("quotes what needs it, and an empty text is not a null", () => {
    const rows = [{ a: 'say "no", now', b: "" }, { a: "two\nlines", b: null }, { a: true, b: 1e-9 }];
    expect(csv(["a", "b"], rows)).toBe('a,b\n"say ""no"", now",""\n"two\nlines",\ntrue,1e-9\n');
    expect(csv(["a"], [])).toBe("a\n");
  });
});
