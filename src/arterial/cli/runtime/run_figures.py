"""The figures of a run in words and tables: what `arterial status` and `arterial top` show of `status.json`.

Names are the user's, and a terminal must not take them for commands: they are shown by `plain`, or as `Text`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from arterial.cli.parts.progress import in_words
from arterial.errors import plain

if TYPE_CHECKING:
    from arterial.engine.run.figures.status import Status

SOME_SECONDS = 2.0
"""A run says when no step ended for so long."""


def headline(status: Status) -> str:
    """What is the case, in one line."""
    since = f"since {status.started}" if status.is_active else f"at {status.finished or 'an unknown time'}"
    return f"{plain(status.network)}: {status.state} {since}, step {status.step}, {status.counts}"


def lines(status: Status) -> Iterator[str]:
    """All figures, line by line."""
    window = status.window
    sources, outputs = window.get("sources", {}), window.get("outputs", {})
    for name, number in status.tuples_in.items():
        yield f"  in  {plain(name)}: {number:,}{_source(sources.get(name, {}))}"
    for name, number in status.tuples_out.items():
        yield f"  out {plain(name)}: {number:,}{_output(outputs.get(name, {}))}"
    facts = list(_facts(status))
    if facts:
        yield f"  {', '.join(facts)}"
    for place in window.get("bottlenecks", [])[:3]:
        yield f"  {100 * place['share']:.0f} % of a step: {where(place)}"
    for arc, said in _steered(status).items():
        yield f"  {plain(arc)}: {said}"
    if status.error:
        yield f"  {plain(status.error)}"


def tables(status: Status) -> Group:
    """All figures as tables for a terminal."""
    window = status.window
    rates = Table("source or output", box=None, pad_edge=False)
    for column in ("tuples", "per second", "waiting", "delay p50", "p99", "worst", "worth"):
        rates.add_column(column, justify="right")
    for name, number in status.tuples_in.items():
        source = window.get("sources", {}).get(name, {})
        rates.add_row(Text(name), f"{number:,}", _rate(source), _number(source.get("waiting")), "", "", "", "")
    for name, number in status.tuples_out.items():
        output = window.get("outputs", {}).get(name, {})
        delays = [_seconds(output.get(key)) for key in ("p50", "p99", "delay")]
        rates.add_row(Text(name), f"{number:,}", _rate(output), "", *delays, _worth(output))
    boxes = Table("where the time goes", box=None, pad_edge=False)
    for column in ("of a step", "in/s", "out/in", "µs/tuple"):
        boxes.add_column(column, justify="right")
    for place in window.get("bottlenecks", []):
        boxes.add_row(Text(where(place)), f"{100 * place['share']:.1f} %", *_costs(place["box"], window))
    parts: list[Any] = [Text(headline(status)), Text(", ".join(_facts(status))), rates, Text(""), boxes]
    steered = _steered(status)
    if steered:
        arcs = Table("arc", "steered", box=None, pad_edge=False)
        for arc, said in steered.items():
            arcs.add_row(Text(arc), Text(said))
        parts += [Text(""), arcs]
    if status.error:
        parts.append(Text(status.error))
    return Group(*parts)


def where(place: Mapping[str, Any]) -> str:
    """A place at which time is spent."""
    if place["level"] is None:
        return "planning, scheduling, committing"
    level = "head" if place["level"] < 0 else f"level {place['level']}"
    what = f"box {plain(place['box'])}" if place["box"] is not None else "reading and sending"
    return f"{what} ({level}, slot {place['slot']})"


def _facts(status: Status) -> Iterator[str]:
    window = status.window
    if status.is_active and window and (seconds := time.time() - window["until"]) > SOME_SECONDS:
        yield f"no step ended for {in_words(seconds)}"  # nothing may have come, or a long one may be at work
    for name, source in window.get("sources", {}).items():
        if source["event_time"] is not None:
            lag = "" if source["lag"] is None else f", {source['lag']:,.1f} s behind the clock"
            yield f"{plain(name)} at {source['event_time']}{lag}"
    if window:
        yield f"{1000 * window['seconds'] / window['steps']:.0f} ms a step"
        state = window["state"]
        yield f"state {_bytes(state['bytes'])}, {_bytes(state['written'] / max(1, window['steps']))} written a step"
    if "utility" in window:
        yield f"utility {window['utility']:.2f}"
    if status.network_version > 1:
        yield f"version {status.network_version} of the network"
    if status.restarts:
        yield f"{status.restarts} restart(s)"
    if status.set_aside:
        yield f"{status.set_aside:,} set aside"


def _steered(status: Status) -> dict[str, str]:
    """What is done to arcs, by their names."""
    said: dict[str, list[str]] = {}
    held = status.window.get("held", {})
    for arc, drop in status.steering.get("shed", {}).items():
        keep = "" if drop["keep"] is None else f" all but {plain(drop['keep'])}"
        groups = f" of the groups by {plain(', '.join(drop['by']))}" if drop.get("by") else ""
        share = f" {100 * drop['share']:.3g} %{groups}" if drop["share"] else ""
        said.setdefault(arc, []).append(f"shed{share}{' and' if share and keep else ''}{keep}")
    for arc, number in status.shed.items():
        said.setdefault(arc, []).append(f"{number:,} tuples left out so far")
    for arc in {**status.steering.get("hold", {}), **held}:
        take = status.steering.get("hold", {}).get(arc)
        more = "let through" if take is None else f"{take:,} a step go on" if take else "none goes on"
        said.setdefault(arc, []).append(f"held: {held.get(arc, 0):,} wait, {more}")
    return {arc: ", ".join(parts) for arc, parts in said.items()}


def _source(source: Mapping[str, Any]) -> str:
    if not source:
        return ""
    waiting = "" if source["waiting"] is None else f", {source['waiting']:,} wait"
    share = "" if source["share"] is None else f", {100 * source['share']:.0f} % read"
    return f", {source['rate']:,.0f}/s{waiting}{share}"


def _output(output: Mapping[str, Any]) -> str:
    if not output:
        return ""
    delay = ""
    if output["delay"] is not None:
        delay = f", delay p50 {output['p50']:.2f} s, p99 {output['p99']:.2f} s, worst {output['delay']:.2f} s"
    worth = _worth(output)
    return f", {output['rate']:,.0f}/s{delay}{f', worth {worth}' if worth else ''}"


def _worth(output: Mapping[str, Any]) -> str:
    """What the output is worth: its utility, or what its delay graph says of the worst delay."""
    if output.get("utility") is not None:
        return f"{output['utility']:.2f}"
    graph, delay = output.get("graph"), output.get("delay")
    if not graph or delay is None:
        return ""
    import numpy as np

    return f"{np.interp(delay, [x for x, _ in graph], [y for _, y in graph]):.2f}"


def _costs(box: str | None, window: Mapping[str, Any]) -> tuple[str, str, str]:
    figures = window.get("boxes", {}).get(box)
    if not figures:
        return "", "", ""
    came = figures["in"]
    rate = f"{came / max(window['span'], 1e-9):,.0f}"
    return (rate, f"{figures['out'] / came:.3g}", f"{1e6 * figures['seconds'] / came:.3g}") if came else (rate, "", "")


def _rate(figures: Mapping[str, Any]) -> str:
    return f"{figures['rate']:,.0f}" if figures else ""


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"


def _bytes(size: float) -> str:
    """A number of bytes, as people say it.

    >>> _bytes(900), _bytes(12_345_678)
    ('900 B', '12.3 MB')
    """
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
