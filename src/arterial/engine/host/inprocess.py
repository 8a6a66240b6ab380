"""Runs a compiled network in this process, without Spark: for tests, for debugging a box, and to compare in benchmarks.

It has the same shards, levels and channels as the Spark host; only the state is in memory and nothing survives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from arterial.engine.host.arc_steering import ArcOutcome, StepSteering
from arterial.engine.host.failures import FAIL, Reject
from arterial.engine.host.level import Counts, Outcome, run_level
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.plan import HEAD, Plan
from arterial.engine.plan.successor import born_in, check_successor, owners
from arterial.engine.state.chunks import chunk_bytes, pack_chunk, unpack_chunk
from arterial.engine.state.regroup import Chunks, regroup, rules
from arterial.engine.transport.parcels import Parcel
from arterial.figures.steering import Steering
from arterial.network.keys.slots import pieces, split
from arterial.network.network import NetworkValue
from arterial.network.state import Chunk, MemoryState
from arterial.network.train import END, Train

ChunkName = tuple[int, str, str, str]
"""The slot, the box, the table and the key of a chunk."""


class InProcess:
    """A running network in this process.

    `step` takes the next train of each source and returns what arrived at each output. A source puts its tuples in
    order, and what it is given are arrivals; the `ordered_sources` are given trains that are in order and complete.
    A plan that was compiled before is run as it is.
    """

    def __init__(
        self,
        network: NetworkValue | Plan,
        *,
        shards: int = 1,
        policy: str = FAIL,
        ordered_sources: Iterable[str] = (),
        split_sources: Iterable[str] = (),
    ) -> None:
        self._ordered, self._split = frozenset([*ordered_sources, *split_sources]), frozenset(split_sources)
        self.plan = network if isinstance(network, Plan) else self._compiled(network, shards)
        self.version, self._born, self._levels = 1, dict[str, int](), len(self.plan.levels)
        self._owners = owners(self.plan, self._born)
        self.policy = policy
        self.rejects: list[Reject] = []
        self.counts: dict[str, Counts] = {}
        self.passed: list[ArcOutcome] = []
        """What became of tuples on steered arcs in the last step, by level and slot."""
        self._steps = 0
        self._states: dict[tuple[int, str], MemoryState] = {}
        self._other_memos: dict[tuple[int, str], dict[str, Any]] = {}
        self._other_chunks: dict[ChunkName, tuple[Chunk, Chunk]] = {}
        """What the worker of the turn before had for each chunk that this one was given: this one's, and its own."""

    def step(self, trains: Mapping[str, Train], steering: Steering | None = None) -> dict[str, Train]:
        """Run one train of each source through the network; the trains that arrived at outputs, by their names."""
        self._steps += 1
        steered = StepSteering(self._steps, steering or Steering())
        outcomes = self.step_by_slot({name: self._cut(name, train) for name, train in trains.items()}, steered)
        self.passed = [outcome.passed for level in outcomes for outcome in level]
        return self.gather(outcomes)

    def step_by_slot(
        self, reads: Mapping[str, Sequence[Iterable[Train]]], steered: StepSteering | None = None
    ) -> list[list[Outcome]]:
        """Run one step on what each slot reads of each source; what came of it, by level and slot, the head first."""
        slots, splits = range(self.plan.shards), self.plan.split_sources
        whole = {name: parts for name, parts in reads.items() if name not in splits}
        outcomes = [[self.run_slot(HEAD, slot, [], _of_slot(whole, slot), steered) for slot in slots]]
        parcels = [parcel for outcome in outcomes[0] for parcel in outcome.parcels]
        for level in self.plan.levels:
            numbers = {channel.number for channel in level.arrivals}
            split = {name: reads[name] for name in splits} if level.number == 0 else {}
            outcomes.append([])
            for slot in slots:
                arrived = [p for p in parcels if p.receiver == slot and p.channel in numbers]
                outcomes[-1].append(self.run_slot(level.number, slot, arrived, _of_slot(split, slot), steered))
            parcels += [parcel for outcome in outcomes[-1] for parcel in outcome.parcels]
        return outcomes

    def run_slot(
        self,
        level: int,
        slot: int,
        arrived: list[Parcel],
        sources: Mapping[str, Iterable[Train]],
        steered: StepSteering | None = None,
    ) -> Outcome:
        """Run one level of a step in one slot, on what arrived there and what it reads."""

        def state(box: str) -> MemoryState:
            return self._states.setdefault((slot, self._owners[box]), MemoryState())

        return run_level(self.plan, level, slot, arrived, state, sources=sources, policy=self.policy, steered=steered)

    def run(self, trains: Iterable[Mapping[str, Train]]) -> dict[str, pl.DataFrame]:
        """Run all steps; everything that arrived at each output."""
        parts: dict[str, list[pl.DataFrame]] = {}
        for step in trains:
            for name, train in self.step(step).items():
                parts.setdefault(name, []).append(train.tuples)
        return {name: pl.concat(frames) for name, frames in parts.items()}

    def replace(self, network: NetworkValue | Plan) -> None:
        """Let another version of the network take over; its boxes keep their state by name."""
        plan = network if isinstance(network, Plan) else self._compiled(network, self.plan.shards)
        check_successor(self.plan, plan, self._levels)
        self.version += 1
        self._born = born_in(self.version, self.plan.network, plan.network, self._born)
        self.plan, self._owners = plan, owners(plan, self._born)
        kept = set(self._owners.values())
        self._states = {key: state for key, state in self._states.items() if key[1] in kept}

    def restart(self) -> None:
        """Go on as after a restart: of the state only the chunks survive, as bytes."""
        self._go_on_with({}, {})
        self._other_memos, self._other_chunks = {}, {}

    def change_worker(self) -> None:
        """Go on as when another worker takes over: it has the chunks, and an earlier memo from its last turn.

        A chunk that nobody changed since then is the very one that it had.
        """
        memos, before = {key: state.memo for key, state in self._states.items()}, self.chunks()
        known = {name: own for name, (given, own) in self._other_chunks.items() if before.get(name) is given}
        self._go_on_with(self._other_memos, known)
        self._other_memos = memos
        self._other_chunks = {name: (given, before[name]) for name, given in self.chunks().items()}

    def touched(self) -> set[ChunkName]:
        """The chunks that were put or dropped since a worker began."""
        return {(slot, box, *name) for (slot, box), state in self._states.items() for name in state.touched}

    def chunk(self, name: ChunkName) -> Chunk | None:
        """A chunk of the state, or None if there is none."""
        slot, box, table, key = name
        return self._states[slot, box].get(table, key) if (slot, box) in self._states else None

    def chunks(self) -> dict[ChunkName, Chunk]:
        """The whole state."""
        states = self._states.items()
        return {(slot, box, *name): chunk for (slot, box), state in states for name, chunk in state.chunks.items()}

    def state_bytes(self) -> dict[tuple[int, str], int]:
        """How many bytes of memory the state takes, about, by slot and owner."""
        return {key: sum(map(chunk_bytes, state.chunks.values())) for key, state in self._states.items()}

    def restore(self, chunks: Mapping[ChunkName, Chunk]) -> None:
        """Go on with a state that was kept."""
        self._states = {}
        for (slot, box, table, key), chunk in chunks.items():
            self._states.setdefault((slot, box), MemoryState()).chunks[table, key] = chunk

    def rescale(self, shards: int) -> None:
        """Go on with another number of shards, as a run does that was stopped for it."""
        found = rules(self.plan, self._owners)
        before: list[dict[str, Chunks]] = [{owner: {} for owner in found} for _ in range(self.plan.shards)]
        for (slot, owner), state in self._states.items():
            before[slot][owner] = state.chunks
        self.plan = self._compiled(self.plan.network, shards)
        self._states, self._other_memos, self._other_chunks = {}, {}, {}
        for owner, rule in found.items():
            for slot, chunks in enumerate(regroup(rule, [of_slot[owner] for of_slot in before], shards)):
                if chunks:
                    state = self._states[slot, owner] = MemoryState()
                    state.chunks = {name: unpack_chunk(b"".join(pack_chunk(chunk))) for name, chunk in chunks.items()}

    def _go_on_with(self, memos: Mapping[tuple[int, str], dict[str, Any]], known: Mapping[ChunkName, Chunk]) -> None:
        for key, old in self._states.items():
            state = self._states[key] = MemoryState(memos.get(key))
            state.chunks = {
                name: known[*key, *name] if (*key, *name) in known else unpack_chunk(b"".join(pack_chunk(chunk)))
                for name, chunk in old.chunks.items()
            }

    def _compiled(self, network: NetworkValue, shards: int) -> Plan:
        waits = set(network.source_names) - self._ordered
        return compile_network(network, shards, in_arrival_order=waits, split_sources=self._split)

    def _cut(self, source: str, train: Train) -> list[list[Train]]:
        key = self.plan.source_keys[source] if source in self.plan.split_sources else None
        parts = split(train.tuples, key, self.plan.shards) if key else pieces(train.tuples, self.plan.shards)
        return [[Train(part, train.through)] for part in parts]

    def gather(self, outcomes: Sequence[Sequence[Outcome]]) -> dict[str, Train]:
        """What came of a step, as one train for each output."""
        gathered: dict[str, list[Train]] = {}
        for outcome in (outcome for level in outcomes for outcome in level):
            self.rejects += outcome.rejects
            for name, counts in outcome.counts.items():
                self.counts.setdefault(name, Counts()).add(counts)
            for name, train in outcome.deliveries.items():
                gathered.setdefault(name, []).append(train)
        return {name: self._in_order(name, trains) for name, trains in gathered.items()}

    def _in_order(self, name: str, trains: list[Train]) -> Train:
        """What the slots delivered, as one train: pieces of a sequence one after the other, else by time."""
        through = min(train.through for train in trains)
        parts = [train.tuples for train in trains if len(train)] or [trains[0].tuples]
        tuples = pl.concat(parts) if len(parts) > 1 else parts[0]
        stream = self.plan.network.streams[self.plan.network.arrival(name)]
        if len(parts) > 1 and stream.ordered:
            tuples = tuples.sort(stream.time, maintain_order=True)
        return Train(tuples, through)


def _of_slot(reads: Mapping[str, Sequence[Iterable[Train]]], slot: int) -> dict[str, Iterable[Train]]:
    return {name: parts[slot] for name, parts in reads.items()}


def last(train: Train) -> Train:
    """The train as the last one of its stream."""
    return Train(train.tuples, END)
