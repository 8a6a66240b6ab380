import { expect, it } from "vitest";
import { Kept } from "./kept";

it("keeps a thing as long as it looks the same", () => {
  const kept = new Kept<{ rate: number }>();
  const first = kept.keep("fast", "158", { rate: 158.1 });
  expect(kept.keep("fast", "158", { rate: 158.2 })).toBe(first);
  expect(kept.keep("slow", "158", { rate: 158.2 })).not.toBe(first);
  expect(kept.keep("fast", "160", { rate: 160 })).toEqual({ rate: 160 });
});
