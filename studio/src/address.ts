// Every view has an address: #/network?box=fast&open=tolls&at=1700000000. It brings back place, time and selection.

import { useCallback, useSyncExternalStore } from "react";

export interface Address {
  view: string;
  values: Record<string, string>;
}

export function parseAddress(hash: string): Address {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  let view = "";
  try {
    view = decodeURIComponent(path);
  } catch {
    // not an address of ours: the first view is shown
  }
  return { view, values: Object.fromEntries(new URLSearchParams(query)) };
}

export function formatAddress({ view, values }: Address): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "")).toString();
  return `#/${encodeURIComponent(view)}${query ? `?${query}` : ""}`;
}

/** Where one looks: what is in the middle, and how near it is. */
export interface Eye {
  x: number;
  y: number;
  zoom: number;
}

export function parseEye(text: string | undefined): Eye | null {
  const [x, y, zoom] = (text ?? "").split(",").map(Number);
  return x !== undefined && y !== undefined && zoom !== undefined && zoom > 0 && [x, y, zoom].every(Number.isFinite) ? { x, y, zoom } : null;
}

export function formatEye({ x, y, zoom }: Eye): string {
  return [x, y, zoom].map((one) => Number(one.toPrecision(7))).join(",");
}

/** Change some of what the address says; null leaves a value out. */
export type Go = (values: Record<string, string | null>, view?: string) => void;

export function useAddress(): [Address, Go] {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  const address = parseAddress(hash);
  const go = useCallback<Go>((values, view) => {
    const before = parseAddress(window.location.hash);
    const after: Record<string, string> = view && view !== before.view ? keep(before.values) : { ...before.values };
    for (const [name, value] of Object.entries(values)) {
      if (value === null) delete after[name];
      else after[name] = value;
    }
    const next = formatAddress({ view: view ?? before.view, values: after });
    if (next !== window.location.hash) {
      // Time and place move often: only another view or selection is a step back in the browser.
      const lasting = view !== undefined || "box" in values || "arc" in values;
      window.history[lasting ? "pushState" : "replaceState"](null, "", next);
      window.dispatchEvent(new HashChangeEvent("hashchange"));
    }
  }, []);
  return [address, go];
}

/** What another view keeps: the moment, and how long a window is. */
function keep(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name === "at" || name === "window"));
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  window.addEventListener("popstate", changed);
  return () => {
    window.removeEventListener("hashchange", changed);
    window.removeEventListener("popstate", changed);
  };
}
