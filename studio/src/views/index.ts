// The views of the studio. To add one: a folder here with a component, and an entry below.

import { lazy, type ComponentType, type LazyExoticComponent } from "react";
import type { Address, Go } from "../address";
import type { RunStore } from "../run";
import type { NetworkFacts, SubjectFacts } from "../wire/api";
import { layersOf } from "./city/layers";

export interface ViewProps {
  subject: SubjectFacts;
  network: NetworkFacts;
  /** The run; null where a network is shown that does not run. */
  run: RunStore | null;
  address: Address;
  go: Go;
}

export interface View {
  /** Its place in the address. */
  id: string;
  title: string;
  /** Whether it is offered for what is shown. */
  fits(subject: SubjectFacts, network: NetworkFacts): boolean;
  component: LazyExoticComponent<ComponentType<ViewProps>>;
}

export const VIEWS: View[] = [
  { id: "network", title: "Network", fits: () => true, component: lazy(() => import("./network")) },
  { id: "city", title: "City", fits: (subject, network) => layersOf(network, subject.places).length > 0, component: lazy(() => import("./city")) },
  { id: "ask", title: "Ask", fits: (subject) => subject.kind === "run", component: lazy(() => import("./ask")) },
  { id: "draw", title: "Draw", fits: () => true, component: lazy(() => import("./draw")) },
];
