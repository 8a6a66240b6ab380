"""The run-time optimizer's decisions, on figures that are made up: when it changes a network, and when it does not."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path

import pytest

from arterial import Network
from arterial.engine.run.versions.optimizer import WINDOW, Optimizer, in_words, read_log
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.optimize import Decision, Measured, Memory, Patience, decide, propose
from arterial.optimize.cost import expected

TUPLES = 500_000
Shares = dict[str, float]
COST = {"a": 2e-6, "b": 2e-6, "c": 2e-6, "more": 6e-6}
# Expensive enough that they are not merged: text is searched.
PREDICATES = {name: f"{name} like '%x%'" for name in "abc"}


def drawn(*order: str) -> NetworkValue:
    net = Network("n")
    stream = net.source("s", {"time": int, "a": str, "b": str, "c": str, "x": int})
    for name in order:
        stream = stream.map("more", y="x * x") if name == "more" else stream.filter(name, PREDICATES[name])
    stream.output("out")
    return net.value


def order_of(network: NetworkValue) -> list[str]:
    return [box.name for box in network.order if box.inputs and box.outputs]


def step_of(network: NetworkValue, shares: Shares, tuples: int = TUPLES) -> dict[str, Measured]:
    """What a step measures, if filters are independent of each other."""
    figures, flow = {"s": Measured({}, {"out": tuples}, 0.0)}, float(tuples)
    for name in order_of(network):
        left = flow * shares.get(name, 1.0)
        figures[name] = Measured({"in": round(flow)}, {"out": round(left)}, flow * COST[name])
        flow = left
    return figures


def seconds(network: NetworkValue, shares: Shares) -> float:
    return sum(one.seconds for one in step_of(network, shares).values())


def best(shares: Shares, names: Sequence[str]) -> float:
    return min(seconds(drawn(*order), shares) for order in permutations(names))


def live(
    network: NetworkValue, steps: int, shares: Callable[[int], Shares], patience: Patience | None = None
) -> tuple[NetworkValue, list[int]]:
    """Let the optimizer look at so many steps; the network in the end, and the steps at which it was changed."""
    memory, history, changes = Memory(), deque[dict[str, Measured]](maxlen=WINDOW), list[int]()
    for number in range(steps):
        history.append(step_of(network, shares(number)))
        memory, decision = decide(network, list(history), memory, patience)
        if decision is not None:
            network = decision.network
            changes.append(number)
            history.clear()
    return network, changes


def test_a_bad_order_is_changed_once() -> None:
    shares = {"a": 0.9, "b": 0.5, "c": 0.1}
    network, changes = live(drawn("more", "a", "b", "c"), 60, lambda _: shares)
    assert order_of(network) == ["c", "b", "a", "more"]
    assert changes == [5]
    assert seconds(network, shares) < seconds(drawn("more", "a", "b", "c"), shares) / 3


def test_a_good_order_stays() -> None:
    shares = {"a": 0.1, "b": 0.5, "c": 0.9}
    assert live(drawn("a", "b", "c", "more"), 60, lambda _: shares)[1] == []


def test_what_saves_little_is_not_changed() -> None:
    shares = {"a": 0.50, "b": 0.48, "c": 0.46}
    assert live(drawn("a", "b", "c"), 60, lambda _: shares)[1] == []
    tiny = Patience(seconds=1e6)
    assert live(drawn("a", "b", "c"), 60, lambda _: {"a": 0.9, "b": 0.5, "c": 0.01}, tiny)[1] == []


@pytest.mark.parametrize("flip", [10, 25, 40])
def test_after_a_flip_it_is_near_the_best_order(flip: int) -> None:
    """Within 10 % of the best order after at most three changes (the one at the start not counted)."""
    before, after = {"a": 0.05, "b": 0.5, "c": 0.95}, {"a": 0.95, "b": 0.5, "c": 0.05}
    network, changes = live(drawn("c", "b", "a"), 160, lambda step: before if step < flip else after)
    assert seconds(network, after) <= 1.1 * best(after, "abc")
    assert len([step for step in changes if step >= flip]) <= 3


@pytest.mark.thorough
@pytest.mark.parametrize("half", [1, 2, 3, 4, 5])
def test_nothing_is_changed_under_oscillation(half: int) -> None:
    """Selectivities change places every few steps: what a change wins now it loses soon after."""
    one, other = {"a": 0.1, "b": 0.5, "c": 0.9}, {"a": 0.9, "b": 0.5, "c": 0.1}
    _, changes = live(drawn("b", "a", "c"), 200, lambda step: one if step // half % 2 else other)
    assert changes == []


@pytest.mark.thorough
def test_correlated_filters_do_not_change_places_for_ever() -> None:
    """Whoever comes second lets through little, so each order makes the other one look better."""

    def figures(network: NetworkValue) -> dict[str, Measured]:
        first, second = order_of(network)
        half = TUPLES // 2
        return {
            "s": Measured({}, {"out": TUPLES}),
            first: Measured({"in": TUPLES}, {"out": half}, TUPLES * 2e-6),
            second: Measured({"in": half}, {"out": half // 100}, half * 2e-6),
        }

    network, memory, changes, history = drawn("a", "b"), Memory(), 0, deque[dict[str, Measured]](maxlen=WINDOW)
    for _ in range(1000):
        history.append(figures(network))
        memory, decision = decide(network, list(history), memory)
        if decision is not None:
            network, changes = decision.network, changes + 1
            history.clear()
    assert 1 <= changes <= 8


def test_a_decision_says_why() -> None:
    network = drawn("more", "a", "b", "c")
    decision = propose(network, step_of(network, {"a": 0.9, "b": 0.5, "c": 0.1}))
    assert isinstance(decision, Decision)
    assert decision.tactics == ("reorder",)
    assert decision.before == pytest.approx(1e6 * seconds(network, {"a": 0.9, "b": 0.5, "c": 0.1}) / TUPLES)
    assert decision.after < decision.before / 3
    assert decision.figures["c"] == {"selectivity": 0.1, "microseconds": 2.0}
    assert json.loads(json.dumps(decision.describe()))["saving"] == pytest.approx(decision.saving, abs=1e-4)
    assert propose(drawn("c"), {}) is None


def test_the_price_of_what_tactics_make() -> None:
    net = Network("n")
    wide = net.source("s", {"time": int, "x": int, **{f"c{i}": int for i in range(8)}})
    wide.filter("a", "x > 1").filter("b", "x < 9").map("few", keep=["time", "x"]).output("out")
    figures = {
        "s": Measured({}, {"out": 1000}),
        "a": Measured({"in": 1000}, {"out": 500}, 1e-3),
        "b": Measured({"in": 500}, {"out": 250}, 5e-4),
        "few": Measured({"in": 250}, {"out": 250}, 1e-4),
    }
    assert expected(net.value, figures, net.value) == pytest.approx(1.6e-3)
    decision = propose(net.value, figures)
    assert decision is not None
    assert decision.tactics == ("merge_filters", "insert_projections")
    assert expected(decision.network, figures, net.value) == pytest.approx(1.1e-3)


def report(figures: dict[str, Measured]) -> dict[str, object]:
    return {"boxes": {name: [one.tuples_in, one.tuples_out, one.seconds] for name, one in figures.items()}}


def test_an_output_is_no_reason() -> None:
    """It is fed by another box after the change, and lets nothing through."""
    network = drawn("a", "b")
    figures = {**step_of(network, {"a": 0.9, "b": 0.1}), "out": Measured({"in": 90}, {}, 1e-3)}
    decision = propose(network, figures)
    assert decision is not None
    assert set(decision.figures) == {"a", "b"}


def test_the_log(tmp_path: Path) -> None:
    shares = {"a": 0.9, "b": 0.5, "c": 0.1}
    network, optimizer = drawn("more", "a", "b", "c"), Optimizer(tmp_path, automatic=True)
    with pytest.raises(RunError, match="no step of this version is done yet"):
        optimizer.on_demand(network)
    assert read_log(tmp_path) == []
    decision = None
    for _ in range(6):
        assert decision is None
        optimizer.add_step(1, [report(step_of(network, shares))])
        assert optimizer.on_demand(network) is not None
        decision = optimizer.next_network(network)
    assert decision is not None
    optimizer.note(decision, 2, 6)
    for _ in range(6):
        optimizer.add_step(2, [report(step_of(decision.network, shares))])
    made, came = read_log(tmp_path)
    assert (made["version"], made["step"], came["version"]) == (2, 6, 2)
    assert came["came"] == pytest.approx(made["expected"], rel=0.1)
    assert came["saved"] == pytest.approx(made["saving"], rel=0.1)
    (text,) = in_words(read_log(tmp_path))
    assert "version 2, after step 6: reorder" in text
    assert "because of c: 2 µs a tuple, lets 10 % through" in text
    optimizer.note_refusal(decision, "it does not fit")
    assert "not done: it does not fit" in in_words(read_log(tmp_path))[1]
    (tmp_path / "optimizer.jsonl").write_text("{")
    with pytest.raises(RunError, match=r"optimizer\.jsonl: is damaged .*delete it"):
        read_log(tmp_path)


def test_a_run_that_does_not_optimise_itself_only_looks(tmp_path: Path) -> None:
    network, optimizer = drawn("more", "c"), Optimizer(tmp_path, automatic=False)
    for _ in range(20):
        optimizer.add_step(1, [report(step_of(network, {"c": 0.1}))])
        assert optimizer.next_network(network) is None
    assert optimizer.on_demand(network) is not None
    assert optimizer.on_demand(drawn("c", "more")) is None
