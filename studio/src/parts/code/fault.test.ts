import { describe, expect, it } from "vitest";
import { faultIn } from "./fault";

function marked(text: string, message: string): string | null {
  const place = faultIn(text, message);
  return place && text.slice(...place);
}

describe("the place of a mistake", () => {
  it("is the word that the message names", () => {
    expect(marked("sped > 60", "expression 'sped > 60': there is no column 'sped' in the stream; it has: time, speed; did you mean 'speed'?")).toBe("sped");
    expect(marked("SELECT sped FROM kept", "there is no column 'sped'")).toBe("sped");
    expect(marked("a = speed\nb = foo(speed)", "expression 'foo(speed)': there is no function 'foo'; near it: floor")).toBe("foo");
  });
  it("is the line and column that the message names", () => {
    expect(marked("speed > ", "cannot read the expression 'speed > ': a value is missing. Line 1, Col: 7")).toBe(">");
  });
  it("is all of it where the message names nothing in it, and nowhere in another text", () => {
    expect(marked("speed >> 3", "expression 'speed >> 3': 'speed >> 3' is not supported in an expression")).toBe("speed >> 3");
    expect(marked("time > 3", "expression 'sped > 60': there is no column 'sped'")).toBeNull();
    expect(marked("time > 3", "the run is over")).toBeNull();
  });
});
