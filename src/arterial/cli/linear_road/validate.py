"""`arterial linear-road validate`: judge the output of any system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from arterial.linearroad.validate import Verdict

WIDTH = 132
SMALL_EVENTS = 300_000


def validate(
    data: Path = typer.Option(
        ..., "--data", help="The input: a data set's folder, or any file or folder of events (Parquet, CSV, .dat)."
    ),
    output: Path = typer.Option(..., "--output", help="The output to judge: a file, or a folder of output files."),
    tolls: Path | None = typer.Option(
        None, "--tolls", help="TollHistory, a file or a history's folder; without it daily expenditures are unknown."
    ),
    segments: Path | None = typer.Option(
        None, "--segments", help="SegmentHistory, likewise; without it travel times are expected to be -1, -1."
    ),
    profile: str = typer.Option("spec", "--profile", help="The semantics: spec, walmart or thesis2003."),
    dialect: str = typer.Option("paper", help="The layout of the output; an unknown name prints the list."),
    first: int | None = typer.Option(
        None, "--from", metavar="SECOND", help="Judge answers from this second on; the input before still counts."
    ),
    until: int | None = typer.Option(
        None, "--until", metavar="SECOND", help="Judge answers before this second.", show_default="the end"
    ),
    untimed: bool = typer.Option(
        False, "--untimed", help="Do not judge response times: the run was not paced by the clock."
    ),
    early: float = typer.Option(
        0.0,
        "--early",
        min=0,
        metavar="SECONDS",
        help="By how much Emit may lie before its time, for a system whose clock began with the first line it read.",
    ),
    replicate: int = typer.Option(
        1, "--replicate", min=1, metavar="K", help="The run repeated the data K times, with disjoint vehicles and ids."
    ),
    disorder: int = typer.Option(
        0, "--disorder", min=0, metavar="SECONDS", help="How much older than an earlier line a line of input may be."
    ),
    basetoll: int | None = typer.Option(None, "--basetoll", help="Constant of profile thesis2003."),
    basecredit: int | None = typer.Option(None, "--basecredit", help="Constant of profile thesis2003."),
    ftmin: int | None = typer.Option(None, "--ftmin", help="Constant of profile thesis2003."),
    causes: bool = typer.Option(
        True,
        "--causes/--no-causes",
        help="Look for the rules that explain what differs: a second pass, if anything does.",
    ),
    report: Path | None = typer.Option(None, "--report", metavar="PAGE.html", help="Write a page with plots there."),
    json_output: bool = typer.Option(False, "--json", help="Print the verdict as JSON, and no progress."),
) -> None:
    """Judge the output of any system against its input: every answer and every response time.

    A Spark job; an input of up to 300,000 events is judged in this process. Exit code 0 only if the run passes: nothing
    missing, extra, wrong or late, and every line an answer.
    """
    from arterial.cli.parts.progress import Bar
    from arterial.engine.spark.session import spark_session
    from arterial.linearroad.data.dataset import open_data
    from arterial.linearroad.formats.dialects import dialect as dialect_of
    from arterial.linearroad.formats.dialects import output_files
    from arterial.linearroad.semantics.profiles import profile as profile_of
    from arterial.linearroad.validate import validate as judge
    from arterial.linearroad.validate.page import page_of

    semantics = profile_of(profile, basetoll=basetoll, basecredit=basecredit, ftmin=ftmin)
    written = dialect_of(dialect)
    output_files(output)
    events = open_data(data, disorder=disorder)
    # A small input is judged before Spark would have started.
    spark = spark_session("arterial linear-road validate") if events.events * replicate > SMALL_EVENTS else None
    with Bar("validating", total=100, unit="%", quiet=json_output) as bar:
        verdict = judge(
            events,
            output,
            tolls=tolls,
            segments=segments,
            profile=semantics,
            dialect=written,
            first=first,
            until=until,
            timed=not untimed,
            replicate=replicate,
            early=early,
            causes=causes,
            spark=spark,
            progress=lambda share: bar.to(100 * share),
        )
    if report is not None:
        page_of(verdict).write(report)
    if json_output:
        typer.echo(json.dumps({**verdict.as_json(), "report": str(report) if report else None}, indent=2))
    else:
        _print(verdict, report)
    if not verdict.passes:
        raise typer.Exit(1)


def _print(verdict: Verdict, report: Path | None) -> None:
    from rich.console import Console

    from arterial.errors import plain
    from arterial.linearroad.formats.answers import TITLE_OF_TYPE
    from arterial.linearroad.validate.page import cause_in_words, fields, headline, outside_in_words

    console = Console(width=WIDTH, highlight=False, soft_wrap=False)
    console.print(_table(verdict))
    for t, causes in verdict.causes.items():
        what = f"{TITLE_OF_TYPE[t]}s differ" if causes.differences != 1 else f"{TITLE_OF_TYPE[t]} differs"
        console.print(f"Why {causes.differences:,} {what}:", markup=False)
        for cause, count in causes.counts.items():
            console.print(f"  {count:>12,}  {cause_in_words(cause, verdict.profile)}", markup=False)
    for t, tally in verdict.tallies.items():
        for example in tally.examples:
            console.print(f"[bold]{example.kind}[/] {TITLE_OF_TYPE[t]} of second {example.time}", markup=True)
            console.print(f"  expected {fields(example.expected)}", markup=False)
            console.print(f"  got      {fields(example.got)}", markup=False)
            console.print(f"  {example.rule}", markup=False)
    for reason, count in verdict.fault_counts.items():
        console.print(f"{count:,} line{'s are no answers' if count != 1 else ' is no answer'}: {reason}", markup=False)
    for fault in verdict.faults[:5]:
        console.print(f"  {fault['file']}:{fault['line']}: {fault['reason']}: {plain(fault['text'])}", markup=False)
    if verdict.outside:
        console.print(outside_in_words(verdict.outside))
    if verdict.rejected:
        console.print(f"{verdict.rejected:,} lines of the input were set aside as dirty.")
    for note in verdict.notes:
        console.print(note, markup=False)
    if report is not None:
        console.print(f"Report: {report}", markup=False)
    console.print(f"{headline(verdict)} ({verdict.seconds:.1f} s).", style="green" if verdict.passes else "red")


def _table(verdict: Verdict) -> Table:
    from rich.table import Table

    from arterial.linearroad.formats.answers import TITLE_OF_TYPE
    from arterial.linearroad.validate.verdict import COUNTS, KINDS, PERCENTILES

    table = Table(title=f"Profile {verdict.profile}, dialect {verdict.dialect}", title_justify="left")
    table.add_column("type")
    for name in COUNTS:
        table.add_column(name, justify="right")
    for name in (*(f"p{share}" for share in PERCENTILES), "max", "limit"):
        table.add_column(name, justify="right")
    for t, tally in verdict.tallies.items():
        counts = [
            f"[red]{tally.counts[name]:,}[/]" if name in KINDS and tally.counts[name] else f"{tally.counts[name]:,}"
            for name in COUNTS
        ]
        latency = tally.latency
        times = [
            f"{seconds:.3f}" for seconds in (*(latency.percentile(share) for share in PERCENTILES), latency.greatest)
        ]
        shown = times if verdict.timed and tally.counts["got"] else ["–"] * len(times)
        table.add_row(f"{t} {TITLE_OF_TYPE[t]}", *counts, *shown, f"{verdict.limits[t]} s")
    return table
