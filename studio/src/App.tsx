// The frame around all views: what is shown, its state, the views, search and the colours.

import { Suspense, useEffect, useMemo, useState } from "react";
import { useAddress } from "./address";
import { Header } from "./parts/Header";
import { Teleport } from "./parts/Teleport";
import { TimeBar } from "./parts/TimeBar";
import { RunStore, useRun } from "./run";
import { VIEWS } from "./views";
import { get, type NetworkFacts, type SubjectFacts } from "./wire/api";

interface Loaded {
  subject: SubjectFacts;
  network: NetworkFacts;
}

export function App() {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    Promise.all([get<SubjectFacts>("subject"), get<NetworkFacts>("network")]).then(
      ([subject, network]) => setLoaded({ subject, network }),
      (mistake: Error) => setError(mistake.message),
    );
  }, []);
  if (error) return <p className="notice error" role="alert">{error}</p>;
  if (!loaded) return <p className="notice">Loading…</p>;
  return loaded.subject.kind === "run" ? <RunFrame {...loaded} /> : <Frame {...loaded} run={null} />;
}

function RunFrame(loaded: Loaded) {
  const run = useMemo(() => new RunStore(), []);
  const { status } = useRun(run);
  const version = status?.network_version ?? 1;
  const [network, setNetwork] = useState({ version, facts: loaded.network });
  useEffect(() => {
    if (version === network.version) return;
    // Another version of the network runs now.
    get<NetworkFacts>("network").then((facts) => setNetwork({ version, facts }), () => {});
  }, [version, network.version]);
  return <Frame subject={loaded.subject} network={network.facts} run={run} />;
}

function Frame({ subject, network, run }: Loaded & { run: RunStore | null }) {
  const [address, go] = useAddress();
  const [searching, setSearching] = useState(false);
  const views = VIEWS.filter((view) => view.fits(subject, network));
  const view = views.find((one) => one.id === address.view) ?? views.find((one) => network.boxes.length > 0 || one.id === "draw") ?? views[0]!;
  useEffect(() => {
    document.title = `${network.name} · Arterial studio`;
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select, [contenteditable]");
      if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
        event.preventDefault();
        setSearching(true);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [network.name]);
  const Shown = view.component;
  return (
    <div className="frame">
      <Header subject={subject} network={network} run={run} views={views} view={view} go={go} onSearch={() => setSearching(true)} />
      <main className="view">
        <Suspense fallback={<p className="notice">Loading…</p>}>
          <Shown subject={subject} network={network} run={run} address={address} go={go} />
        </Suspense>
      </main>
      {run && <TimeBar run={run} address={address} go={go} />}
      {searching && <Teleport network={network} go={go} onClose={() => setSearching(false)} />}
    </div>
  );
}
