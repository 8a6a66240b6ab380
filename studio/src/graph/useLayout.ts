// The layout of what is visible, computed in a worker, so that 500 boxes do not stop the page.

import { useEffect, useRef, useState } from "react";
import type { Layout } from "./layout";
import type { Visible } from "./model";

export interface Laid {
  shown: Visible;
  layout: Layout;
}

/** The last layout that is ready, together with what it is the layout of. */
export function useLayout(shown: Visible): Laid | null {
  const [laid, setLaid] = useState<Laid | null>(null);
  const worker = useRef<Worker | null>(null);
  const number = useRef(0);
  useEffect(() => {
    worker.current = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    return () => worker.current?.terminate();
  }, []);
  useEffect(() => {
    const own = ++number.current;
    const asked = worker.current!;
    const take = (event: MessageEvent<{ number: number; layout: Layout }>) => {
      if (event.data.number === own) setLaid({ shown, layout: event.data.layout });
    };
    asked.addEventListener("message", take);
    asked.postMessage({ number: own, shown });
    return () => asked.removeEventListener("message", take);
  }, [shown]);
  return laid;
}
