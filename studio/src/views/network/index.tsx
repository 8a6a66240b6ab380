// The network: boxes and arcs with what flows, groups that open in place, and the page of what is chosen.

import { useMemo } from "react";
import { visible } from "../../graph/model";
import { useLayout } from "../../graph/useLayout";
import { useMoment, useRun, type RunStore } from "../../run";
import type { ViewProps } from "..";
import { Canvas } from "./Canvas";
import { Panel } from "./Panel";

export default function NetworkView(props: ViewProps) {
  return props.run ? <Running {...props} run={props.run} /> : <Shown {...props} />;
}

function Running(props: ViewProps & { run: RunStore }) {
  const state = useRun(props.run);
  const moment = useMoment(state, props.address);
  return <Shown {...props} state={state} moment={moment} />;
}

export interface ShownProps extends ViewProps {
  state?: ReturnType<typeof useRun>;
  moment?: ReturnType<typeof useMoment>;
}

function Shown(props: ShownProps) {
  const { network, address } = props;
  const opened = address.values.open ?? "";
  const open = useMemo(() => new Set(opened.split("|").filter(Boolean)), [opened]);
  const shown = useMemo(() => visible(network, open), [network, open]);
  const laid = useLayout(shown);
  return (
    <div className="network">
      {laid ? <Canvas {...props} laid={laid} open={open} /> : <p className="notice">Laying out…</p>}
      <Panel {...props} />
    </div>
  );
}
