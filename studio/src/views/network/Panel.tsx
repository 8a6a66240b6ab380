// The side: the page of the box or arc that is chosen, or what deserves a look.

import type { ShownProps } from ".";
import { ArcPage } from "./ArcPage";
import { BoxPage } from "./BoxPage";
import { Overview } from "./Overview";

export function Panel(props: ShownProps) {
  const { network, address, go } = props;
  const box = network.boxes.find((one) => one.name === address.values.box);
  const arc = network.arcs.find((one) => one.name === address.values.arc);
  return (
    <aside className="panel" aria-label="Details">
      {(box || arc) && (
        <button className="quiet close" onClick={() => go({ box: null, arc: null })} aria-label="Close">✕</button>
      )}
      {box ? <BoxPage {...props} box={box} /> : arc ? <ArcPage key={arc.name} {...props} arc={arc} /> : <Overview {...props} />}
    </aside>
  );
}
