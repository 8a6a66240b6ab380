import { layout } from "./layout";
import type { Visible } from "./model";

self.onmessage = (event: MessageEvent<{ number: number; shown: Visible }>) => {
  self.postMessage({ number: event.data.number, layout: layout(event.data.shown) });
};
