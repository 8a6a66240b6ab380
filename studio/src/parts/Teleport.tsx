// Search over the network, and go there.

import { useEffect, useRef, useState } from "react";
import type { Go } from "../address";
import { search, wayTo, type Hit } from "../graph/model";
import type { NetworkFacts } from "../wire/api";

/** Addresses that are kept in this browser, by network. */
function Bookmarks({ network, onClose }: { network: string; onClose(): void }) {
  const key = `arterial.bookmarks.${network}`;
  const [kept, setKept] = useState<Record<string, string>>(() => {
    try {
      return JSON.parse(localStorage.getItem(key) ?? "{}") as Record<string, string>;
    } catch {
      return {};
    }
  });
  const keep = (next: Record<string, string>) => {
    setKept(next);
    localStorage.setItem(key, JSON.stringify(next));
  };
  const here = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const name = here.get("box") ?? here.get("arc") ?? (location.hash.slice(2).split("?")[0] || "network");
  return (
    <div className="bookmarks">
      <button onClick={() => keep({ ...kept, [name]: location.hash })}>Bookmark this place</button>
      {Object.entries(kept).map(([title, hash]) => (
        <span key={title}>
          <button className="link" onClick={() => { location.hash = hash; onClose(); }}>{title}</button>
          <button className="quiet" aria-label={`Forget ${title}`} onClick={() => keep(Object.fromEntries(Object.entries(kept).filter(([one]) => one !== title)))}>✕</button>
        </span>
      ))}
    </div>
  );
}

interface Props {
  network: NetworkFacts;
  go: Go;
  onClose(): void;
}

export function Teleport({ network, go, onClose }: Props) {
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const hits = search(network, text);
  useEffect(() => dialog.current?.showModal(), []);
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    const arc = network.arcs.find((one) => one.name === hit.target);
    const inside = hit.kind === "arc" && arc ? arc.end : hit.target;
    const open = hit.kind === "group" ? [hit.target] : wayTo(network, inside);
    const before = new Set((new URLSearchParams(location.hash.split("?")[1] ?? "").get("open") ?? "").split("|").filter(Boolean));
    for (const name of open) before.add(name);
    go(
      {
        box: hit.kind === "box" ? hit.target : null,
        arc: hit.kind === "arc" ? hit.target : null,
        open: [...before].join("|"),
        focus: inside,
      },
      "network",
    );
    onClose();
  };
  return (
    <dialog ref={dialog} className="teleport" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()} aria-label="Search">
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="hits"
        aria-activedescendant={hits.length ? `hit-${place}` : undefined}
        placeholder="A box, a kind, a column, an argument…"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setPlace(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setPlace(Math.min(place + 1, hits.length - 1));
          else if (event.key === "ArrowUp") setPlace(Math.max(place - 1, 0));
          else if (event.key === "Enter") choose(hits[place]);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="hits" role="listbox" aria-label="Found">
        {hits.map((hit, number) => (
          <li key={`${hit.kind}${hit.target}`} id={`hit-${number}`} role="option" aria-selected={number === place} onClick={() => choose(hit)} onMouseMove={() => setPlace(number)}>
            <span className={`tag tag-${hit.kind}`}>{hit.kind}</span>
            <span className="title">{hit.title}</span>
            <span className="detail">{hit.detail}</span>
          </li>
        ))}
        {!hits.length && <li className="empty">Nothing is called so.</li>}
      </ul>
      <Bookmarks network={network.name} onClose={onClose} />
    </dialog>
  );
}
