// The drawing: a box for each box or closed group, an area for each open group, an arc as wide as what flows.

import {
  Background,
  BackgroundVariant,
  BaseEdge,
  Controls,
  EdgeLabelRenderer,
  Handle,
  MiniMap,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  type Edge,
  type EdgeProps,
  type Node,
  type NodeProps,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { memo, useEffect, useMemo, useRef } from "react";
import { formatEye, parseEye } from "../../address";
import { count, percent, seconds } from "../../figures/steps";
import { BOX, smooth } from "../../graph/layout";
import type { Laid } from "../../graph/useLayout";
import type { BoxFacts, NetworkFacts } from "../../wire/api";
import { Name } from "../../parts/Name";
import type { ShownProps } from ".";
import { argumentsInShort, costInWords, detailAt } from "./detail";
import { arcWidth, pressureColour, wayFigures } from "./figures";
import { Kept } from "./kept";

interface BoxData extends Record<string, unknown> {
  title: string;
  kind: string;
  shape: "source" | "output" | "box" | "group";
  level: number;
  place: string;
  stateful: boolean;
  rate: number | null;
  pressure: number | null;
  /** Seconds of a core that a tuple costs. */
  cost: number | null;
  arguments: string;
  note: string | null;
  chosen: boolean;
}
interface AreaData extends Record<string, unknown> {
  title: string;
  rate: number | null;
  pressure: number | null;
  cost: number | null;
  onClose(): void;
}
interface WayData extends Record<string, unknown> {
  rate: number | null;
  width: number;
  shuffles: boolean;
  mark: string | null;
  chosen: boolean;
  arcs: string[];
  points: { x: number; y: number }[];
  label: { x: number; y: number } | undefined;
  onChoose(): void;
}

/** From so near on, arcs have their rates beside them. */
const LABELS = 0.58;
const NODE_TYPES = { box: memo(BoxNode), area: memo(AreaNode) };
const EDGE_TYPES = { way: memo(WayEdge) };

export function Canvas(props: ShownProps & { laid: Laid; open: ReadonlySet<string> }) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing({ network, laid, open, address, go, moment, state }: ShownProps & { laid: Laid; open: ReadonlySet<string> }) {
  const { box: chosenBox, arc: chosenArc, focus } = address.values;
  const flow = useReactFlow();
  const holder = useRef<HTMLDivElement>(null);
  const facts = useMemo(() => new Map(network.boxes.map((box) => [box.name, box])), [network]);
  const places = useMemo(() => new Map(network.superboxes.map((one) => [one.name, one])), [network]);
  const setOpen = (name: string, wanted: boolean) => {
    const after = new Set(open);
    if (wanted) after.add(name);
    else after.delete(name);
    go({ open: [...after].join("|") });
  };
  const window = moment?.window;
  const deep = useMemo(() => depths(laid), [laid]);
  // New figures draw again only what they change, as far as it is seen: from afar, few of 500 boxes look different.
  const far = !useStore((store) => store.transform[2] > LABELS);
  const kept = useMemo(() => ({ nodes: new Kept<Node>(), edges: new Kept<Edge<WayData>>() }), [laid, open, go, far]);
  const nodes: Node[] = laid.shown.items
    .map((item): Node => {
      const placed = laid.layout.items[item.id] ?? { x: 0, y: 0, ...BOX };
      const corner = (item.within && laid.layout.items[item.within]) || { x: 0, y: 0 };
      const own = sumOf(item.members, window);
      const common = {
        id: item.id,
        position: { x: placed.x - corner.x, y: placed.y - corner.y },
        ...(item.within ? { parentId: item.within } : {}),
        draggable: false,
        connectable: false,
        selectable: false,
        width: placed.width,
        height: placed.height,
        measured: { width: placed.width, height: placed.height }, // else every new figure would hide the arcs for a frame
      };
      if (item.kind === "group" && item.open) {
        const name = item.id.slice("group:".length);
        const data: AreaData = { title: name, ...own, onClose: () => setOpen(name, false) };
        return kept.nodes.keep(item.id, seenOf(data, false), { ...common, type: "area", data, focusable: false });
      }
      const data =
        item.kind === "group"
          ? groupData(item.id.slice("group:".length), item.members, own)
          : boxData(facts.get(item.id)!, places.get(facts.get(item.id)!.superbox), own, state?.status?.window, chosenBox === item.id);
      return kept.nodes.keep(item.id, seenOf(data, far), { ...common, type: "box", data, ariaLabel: `${data.kind} ${data.title}` });
    })
    // What stands in an area comes after it.
    .sort((a, b) => deep.get(a.id)! - deep.get(b.id)!);
  const edges: Edge<WayData>[] = laid.shown.ways.map((way) => {
    const own = wayFigures(way.arcs, window, state?.status);
    const chosen = chosenArc !== undefined && way.arcs.includes(chosenArc);
    const width = arcWidth(own.rate);
    const looks = [far ? (4 * width).toFixed() : own.rate === null ? "" : count(own.rate), own.mark, chosen].join(" ");
    return kept.edges.keep(way.id, looks, {
      id: way.id,
      source: way.begin,
      target: way.end,
      type: "way",
      selectable: false,
      zIndex: 10,
      ariaLabel: way.arcs.join(", "),
      data: {
        rate: own.rate,
        width,
        shuffles: way.shuffles,
        mark: own.mark,
        chosen,
        arcs: way.arcs,
        points: laid.layout.ways[way.id] ?? [],
        label: laid.layout.labels[way.id],
        onChoose: () => go({ arc: way.arcs[0]!, box: null }),
      },
    });
  });
  // Where one looks stands in the address, by what is in the middle: it means the same in a window of another size.
  const { eye } = address.values;
  const said = useRef<string | undefined>(undefined);
  const say = () => {
    const { x, y, zoom } = flow.getViewport();
    const box = holder.current!.getBoundingClientRect();
    said.current = formatEye({ x: (box.width / 2 - x) / zoom, y: (box.height / 2 - y) / zoom, zoom });
    go({ eye: said.current });
  };
  useEffect(() => {
    if (focus && laid.layout.items[focus]) {
      void flow.fitView({ nodes: [{ id: focus }], duration: 400, maxZoom: 1.2, padding: 1.5 }).then(say);
      go({ focus: null });
    }
  }, [focus, laid, flow, go]); // eslint-disable-line
  const shape = laid.shown.items.map((item) => item.id).join();
  const looked = useRef(parseEye(eye));
  const fitted = useRef("");
  useEffect(() => {
    const first = !fitted.current;
    const same = fitted.current === shape;
    fitted.current = shape;
    // At first it is fitted as it appears, or the address says what is seen.
    if (focus || first || same) return;
    void flow.fitView({ padding: 0.08, maxZoom: 1.25, duration: 300 });
    if (eye) go({ eye: null });
  }, [shape, flow]); // eslint-disable-line
  useEffect(() => {
    const next = parseEye(eye);
    if (!next || eye === said.current) return;
    said.current = eye;
    void flow.setCenter(next.x, next.y, { zoom: next.zoom });
  }, [eye, flow]);
  return (
    <div className="canvas" data-testid="canvas" ref={holder}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodeClick={(_, node) => {
          if (node.type === "area") return;
          if (node.id.startsWith("group:")) setOpen(node.id.slice("group:".length), true);
          else go({ box: node.id, arc: null });
        }}
        onEdgeClick={(_, edge) => (edge.data as WayData).onChoose()}
        onPaneClick={() => go({ box: null, arc: null })}
        onMoveEnd={(event) => event && say()}
        onKeyDown={(event) => {
          const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset.id;
          if (id && (event.key === "Enter" || event.key === " ")) {
            event.preventDefault();
            if (id.startsWith("group:")) setOpen(id.slice("group:".length), true);
            else go({ box: id, arc: null });
          }
        }}
        nodesDraggable={false}
        nodesConnectable={false}
        elementsSelectable={false}
        deleteKeyCode={null}
        onlyRenderVisibleElements={nodes.length > 120}
        minZoom={0.05}
        maxZoom={2.5}
        fitView={!looked.current}
        fitViewOptions={{ padding: 0.08, maxZoom: 1.25 }}
        proOptions={{ hideAttribution: true }}
      >
        <Background variant={BackgroundVariant.Dots} gap={22} size={1.2} />
        <Controls showInteractive={false} />
        {nodes.length > 30 && <MiniMap pannable zoomable ariaLabel="Overview" nodeColor="var(--line-strong)" maskColor="var(--mask)" bgColor="var(--surface)" />}
      </ReactFlow>
      <Legend network={network} live={window !== undefined} />
    </div>
  );
}

/** The figures of a box or group as they are shown; the rest of it stays as it is. */
function seenOf(data: Sum & { note?: string | null; chosen?: boolean }, far: boolean): string {
  const { rate, pressure, cost } = data;
  if (far) return [pressure?.toFixed(2), data.chosen].join(" ");
  return [rate === null ? "" : count(rate), pressure?.toFixed(2), cost === null ? "" : costInWords(cost), data.note, data.chosen].join(" ");
}

/** In how many areas each item stands. */
function depths(laid: Laid): Map<string, number> {
  const within = new Map(laid.shown.items.map((item) => [item.id, item.within]));
  const found = new Map<string, number>();
  for (const item of laid.shown.items) {
    let number = 0;
    for (let above = item.within; above; above = within.get(above) ?? null) number++;
    found.set(item.id, number);
  }
  return found;
}

interface Sum {
  rate: number | null;
  pressure: number | null;
  cost: number | null;
}

function sumOf(members: string[], window: NonNullable<ShownProps["moment"]>["window"] | undefined): Sum {
  if (!window?.steps) return { rate: null, pressure: null, cost: null };
  let pressure = 0;
  let tuples = 0;
  let seconds = 0;
  for (const name of members) {
    const box = window.boxes[name];
    if (!box) continue;
    pressure += box.pressure;
    tuples = Math.max(tuples, box.in || box.out);
    seconds += box.seconds;
  }
  return { rate: tuples / window.span, pressure: Math.min(1, pressure), cost: tuples ? seconds / tuples : null };
}

function groupData(name: string, members: string[], own: Sum): BoxData {
  return { title: name, kind: `group of ${members.length}`, shape: "group", level: 0, place: "", stateful: false, arguments: members.join(", "), note: null, chosen: false, ...own };
}

type StatusWindow = NonNullable<NonNullable<ShownProps["state"]>["status"]>["window"];

function boxData(
  box: BoxFacts,
  superbox: NetworkFacts["superboxes"][number] | undefined,
  own: Sum,
  window: StatusWindow | undefined,
  chosen: boolean,
): BoxData {
  const waiting = window?.sources?.[box.name]?.waiting;
  const delay = window?.outputs?.[box.name]?.p99;
  const note = waiting ? `${count(waiting)} wait` : delay != null ? `p99 ${seconds(delay)}` : null;
  return {
    title: box.name,
    kind: box.kind.replaceAll("_", " "),
    shape: !box.inputs.length ? "source" : !box.outputs.length ? "output" : "box",
    level: (superbox?.level ?? -1) + 1,
    place: superbox?.place ?? "",
    stateful: box.stateful,
    arguments: argumentsInShort(box),
    note,
    chosen,
    ...own,
  };
}

function BoxNode({ data }: NodeProps<Node<BoxData>>) {
  const detail = useStore((store) => detailAt(store.transform[2]));
  return (
    <div className={`box ${detail} shape-${data.shape} level-${data.level % 6}${data.chosen ? " chosen" : ""}`} title={detail !== "far" ? data.place : `${data.title}: ${data.kind}`}>
      <Handle type="target" position={Position.Left} />
      <div className="title"><Name text={data.title} /></div>
      {detail !== "far" && (
        <div className="row">
          <span className="kind">
            {data.kind}
            {data.stateful && <span className="state" title="keeps state"> ●</span>}
          </span>
          <span className="rate">{data.note ?? (data.rate !== null ? `${count(data.rate)}/s` : "")}</span>
          {data.shape !== "source" && data.shape !== "output" && data.cost !== null && <span className="cost" title="a tuple costs">· {costInWords(data.cost)}</span>}
        </div>
      )}
      {detail === "near" && data.arguments && <div className="said" title={data.arguments}>{data.arguments}</div>}
      {data.pressure !== null && (
        <div className="pressure" title={`${percent(data.pressure)} of a step`} data-pressure={data.pressure.toFixed(3)}>
          <div style={{ width: `${Math.max(data.pressure > 0.002 ? 2 : 0, 100 * data.pressure)}%`, background: pressureColour(data.pressure) }} />
        </div>
      )}
      <Handle type="source" position={Position.Right} />
    </div>
  );
}

function AreaNode({ data }: NodeProps<Node<AreaData>>) {
  return (
    <div className="area">
      <Handle type="target" position={Position.Left} />
      <div className="area-head">
        <button className="nodrag" onClick={data.onClose} aria-label={`Close ${data.title}`} aria-expanded="true">▾</button>
        <span className="title">{data.title}</span>
        {data.rate !== null && <span className="rate">{count(data.rate)}/s</span>}
        {data.pressure !== null && <span className="rate">{percent(data.pressure)}</span>}
      </div>
      <Handle type="source" position={Position.Right} />
    </div>
  );
}

function WayEdge({ sourceX, sourceY, targetX, targetY, data }: EdgeProps<Edge<WayData>>) {
  const points = [{ x: sourceX, y: sourceY }, ...data!.points, { x: targetX, y: targetY }];
  const path = smooth(points);
  const { x, y } = data!.label ?? { x: (sourceX + targetX) / 2, y: (sourceY + targetY) / 2 };
  const near = useStore((store) => store.transform[2] > LABELS);
  const flows = (data!.rate ?? 0) > 0;
  return (
    <>
      <BaseEdge
        path={path}
        interactionWidth={18}
        className={`way${data!.shuffles ? " shuffles" : ""}${data!.chosen ? " chosen" : ""}${flows ? " flows" : ""}`}
        style={{ strokeWidth: data!.width }}
      />
      {((near && data!.rate !== null) || data!.mark) && (
        <EdgeLabelRenderer>
          <button
            className={`way-label nodrag nopan${data!.chosen ? " chosen" : ""}${data!.mark ? " marked" : ""}`}
            style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
            onClick={data!.onChoose}
            aria-label={`arc ${data!.arcs.join(", ")}`}
            data-arc={data!.arcs[0]}
            data-rate={data!.rate ?? ""}
          >
            {data!.mark ?? `${count(data!.rate ?? 0)}/s`}
          </button>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

function Legend({ network, live }: { network: NetworkFacts; live: boolean }) {
  const levels = [...new Map(network.superboxes.map((one) => [one.level, one])).values()].sort((a, b) => a.level - b.level);
  return (
    <div className="legend" aria-label="Legend">
      {levels.map((one) => (
        <span key={one.level}>
          <i className={`swatch level-${(one.level + 1) % 6}`} /> {one.level < 0 ? "where sources are read" : `level ${one.level}`}
        </span>
      ))}
      <span><i className="dash" /> shuffle</span>
      {live && <span><i className="bar" /> share of a step</span>}
    </div>
  );
}
