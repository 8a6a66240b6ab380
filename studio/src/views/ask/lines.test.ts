import { describe, expect, it } from "vitest";
import { plotted } from "./lines";

describe("the lines of an answer", () => {
  it("are its columns of numbers over time", () => {
    const found = plotted(["time", "n", "name"], [{ time: 2, n: 5, name: "b" }, { time: 1, n: 4, name: "a" }]);
    expect(found.names).toEqual(["n"]);
    expect(found.data).toEqual([[1, 2], [4, 5]]);
  });
  it("are one for each group where rows share a time", () => {
    const rows = [1, 2].flatMap((time) => ["x", "y"].map((road) => ({ time, road, n: time * (road === "x" ? 1 : 10), sign: 1 })));
    const found = plotted(["time", "road", "n", "sign"], rows);
    expect(found.names).toEqual(["road x", "road y"]);
    expect(found.measure).toBe("n");
    expect(found.data).toEqual([[1, 2], [1, 2], [10, 20]]);
  });
});
