import { describe, expect, it } from "vitest";
import { formatAddress, formatEye, parseAddress, parseEye } from "./address";

describe("addresses", () => {
  it("bring back what they were made of, whatever the names are", () => {
    const address = { view: "network", values: { box: "a/b ? & #", arc: "x.out → y.in", open: "a|b", at: "1.5" } };
    expect(parseAddress(formatAddress(address))).toEqual(address);
    expect(parseAddress("")).toEqual({ view: "", values: {} });
    expect(parseAddress("#/%E0%A4%A").view).toBe("");
  });

  it("say where one looks", () => {
    const eye = { x: -12.25, y: 1e6, zoom: 0.5 };
    expect(parseEye(formatEye(eye))).toEqual(eye);
    for (const wrong of [undefined, "", "1,2", "1,2,0", "1,2,-1", "a,b,c", "1,2,Infinity"]) expect(parseEye(wrong)).toBeNull();
  });
});
