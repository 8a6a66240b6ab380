"""Ad-hoc queries on a run: history, then live; tokens; views; what cannot be asked."""

from __future__ import annotations

import contextlib
import gc
import time
from pathlib import Path

import polars as pl
import pytest

import arterial as art
from arterial import Network, RunError, attach
from arterial.connectors.points import keeper as keeper_module
from arterial.engine.attach.attachment import FINISHED, REACHED, STOPPED, Attachment
from arterial.engine.attach.token import Token
from arterial.engine.run.local import LocalRun
from arterial.errors import ArterialError
from arterial.sql.attach import Options, attach_to
from arterial.sql.text.mistake import SqlError
from tests.engine.attach.asked import SECONDS, city, finished, reports, running

COUNTS = "SELECT seg, count(*) AS n FROM kept WHERE speed < 50 GROUP BY seg, TUMBLE(time, '10 seconds')"
WINDOWS = ["time", "seg", "n", "sign"]


def counts(tuples: pl.DataFrame | None = None) -> pl.DataFrame:
    """What `COUNTS` gives for the whole stream."""
    slow = (reports() if tuples is None else tuples).filter(pl.col("speed") < 50)
    by = slow.group_by(pl.col("time") // 10 * 10 + 9, "seg").agg(pl.len().cast(pl.Int64).alias("n"))
    return by.with_columns(pl.lit(1, pl.Int8).alias("sign")).select(WINDOWS).sort("time", "seg")


def same(got: pl.DataFrame, expected: pl.DataFrame) -> bool:
    return got.select(expected.columns).sort(expected.columns).equals(expected.sort(expected.columns))


def all_of(attachment: Attachment) -> pl.DataFrame:
    return next(iter(attachment.collect().values()))


def take(attachment: Attachment, through: int) -> tuple[pl.DataFrame, str]:
    """The answer up to a time, and its token; the attachment is left as by kill -9."""
    frames, token = [], ""
    for answer in attachment:
        frames.append(answer.frame)
        token = answer.token
        if answer.through >= through:
            break
    return pl.concat(frames), token


def wait_for(run: LocalRun, step: int) -> None:
    while run.status.step < step:
        time.sleep(0.01)


@pytest.mark.thorough
def test_history_of_a_finished_run(tmp_path: Path) -> None:
    finished(tmp_path / "c")
    attachment = attach(tmp_path / "c", "kept")
    assert all_of(attachment).equals(reports())
    assert attachment.ended == FINISHED
    assert same(all_of(attach(tmp_path / "c", "kept", COUNTS)), counts())


def test_history_then_live_is_the_answer_to_the_whole_stream(tmp_path: Path) -> None:
    run, source = running(tmp_path / "c", first=15)
    attachment = attach(tmp_path / "c", "kept", COUNTS)
    pieces = []
    for answer in attachment:
        pieces.append(answer.frame)
        if answer.through >= 30:
            source.all.set()
    assert attachment.ended == FINISHED
    assert same(pl.concat(pieces), counts())
    run.wait(60)


@pytest.mark.thorough
@pytest.mark.parametrize("query", ["SELECT vid, seg FROM kept WHERE seg = 3", COUNTS])
def test_a_token_goes_on_without_gap_or_duplicate(tmp_path: Path, query: str) -> None:
    run, source = running(tmp_path / "c", first=15)
    first, token = take(attach(tmp_path / "c", "kept", query), 44)
    source.all.set()
    run.wait(60)
    rest = all_of(attach(tmp_path / "c", "kept", query, token=token))
    whole = all_of(attach(tmp_path / "c", "kept", query))
    assert pl.concat([first, rest]).equals(whole)
    assert not rest.is_empty()


@pytest.mark.thorough
def test_a_token_file_keeps_the_state_beyond_the_retention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "GRACE_SECONDS", -1.0)
    net = Network("short")
    stream = net.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    stream.connection_point("kept", 30).output("out")
    run, source = running(tmp_path / "c", first=9, net=net)
    query = "SELECT count(*) AS n FROM kept"
    _, text = take(attach(tmp_path / "c", "kept", query), 26)
    with attach(tmp_path / "c", "kept", query, token_file=tmp_path / "token") as attachment:
        for answer in attachment:
            if answer.through >= 26:
                break
    for may in range(10, 25):  # the reader keeps up, step by step; what it began with is dropped
        source.may = may
        with attach(tmp_path / "c", "kept", query, token_file=tmp_path / "token") as attachment:
            take(attachment, 3 * may - 1)
    with pytest.raises(RunError, match=r"history that the query began with is no longer kept.*--token FILE"):
        attach(tmp_path / "c", "kept", query, token=text)
    for may in range(25, SECONDS // 3 - 5):  # until no more is left than what is kept: then nobody can be overtaken
        source.may = may
        with attach(tmp_path / "c", "kept", query, token_file=tmp_path / "token") as attachment:
            take(attachment, 3 * may - 1)
    source.all.set()
    last = all_of(attach(tmp_path / "c", "kept", query, token_file=tmp_path / "token"))
    assert last.filter(pl.col("sign") > 0)["n"][-1] == reports().height
    run.wait(60)


@pytest.mark.thorough
def test_a_piece_that_was_not_dealt_with_is_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.engine.attach.attachment.FIRST_TRAIN", 100)
    monkeypatch.setattr("arterial.engine.attach.attachment.GROWTH", 1)
    monkeypatch.setattr("arterial.engine.attach.attachment.SAVE_SECONDS", 0.0)
    finished(tmp_path / "c")
    taken = []
    for fails_at in (3, 5, 1, 2, None):
        with (
            contextlib.suppress(OSError),
            attach(tmp_path / "c", "kept", COUNTS, token_file=tmp_path / "token") as attachment,
        ):
            for number, answer in enumerate(attachment, start=1):
                if number == fails_at:
                    raise OSError("nobody reads any more")
                taken.append(answer.frame)
    assert same(pl.concat(taken), counts())


@pytest.mark.thorough
def test_a_token_of_an_answer_that_is_complete(tmp_path: Path) -> None:
    finished(tmp_path / "c")
    attachment = attach(tmp_path / "c", "kept", COUNTS)
    all_of(attachment)
    again = attach(tmp_path / "c", "kept", COUNTS, token=str(attachment.token))
    assert all_of(again).is_empty()
    assert again.ended == FINISHED
    some = attach(tmp_path / "c", "kept", COUNTS, up_to=50)
    all_of(some)
    again = attach(tmp_path / "c", "kept", COUNTS, up_to=50, token=str(some.token))
    assert all_of(again).is_empty()
    assert again.ended == REACHED


@pytest.mark.thorough
def test_since_and_up_to(tmp_path: Path) -> None:
    finished(tmp_path / "c")
    some = reports().filter(pl.col("time").is_between(40, 79))
    query = "SELECT vid, seg, speed FROM kept"
    attachment = attach(tmp_path / "c", "kept", query, since=40, up_to=79)
    assert same(all_of(attachment).drop("sign"), some)
    assert attachment.ended == REACHED
    assert same(all_of(attach(tmp_path / "c", "kept", f"{query} SINCE 40 UP TO 79")).drop("sign"), some)
    last = all_of(attach(tmp_path / "c", "kept", f"{query} SINCE '20 seconds'"))
    assert int(last["time"].min()) == 100  # type: ignore[arg-type]
    with pytest.raises(RunError, match="leave one out"):
        attach(tmp_path / "c", "kept", f"{query} SINCE 40", since=40)
    with pytest.raises(RunError, match="is not a time; expected a number of seconds"):
        attach(tmp_path / "c", "kept", query, since="yesterday")


def test_a_run_that_stops_ends_the_answer_unless_one_follows(tmp_path: Path) -> None:
    run, _ = running(tmp_path / "c", first=10)
    wait_for(run, 10)
    run.stop()
    attachment = attach(tmp_path / "c", "kept")
    assert all_of(attachment).equals(reports().filter(pl.col("time") < 30))
    assert attachment.ended == STOPPED


def test_the_same_command_goes_on_from_a_token_with_a_time_before_now(tmp_path: Path) -> None:
    run, source = running(tmp_path / "c", first=15)
    query = f"{COUNTS} SINCE '20 seconds'"
    wait_for(run, 15)
    since = 45 - 20
    with attach(tmp_path / "c", "kept", query, token_file=tmp_path / "token", up_to=40) as attachment:
        first = all_of(attachment)
    text = str(attachment.token)
    source.all.set()
    run.wait(60)
    expected = counts(reports().filter(pl.col("time") >= since))
    for again in ({"token_file": tmp_path / "token"}, {"token": text}):
        rest = all_of(attach(tmp_path / "c", "kept", query, **again))
        assert same(pl.concat([first, rest]), expected)
    with pytest.raises(RunError, match="began at another time"):
        attach(tmp_path / "c", "kept", COUNTS, since=30, token=text)


def test_a_run_that_is_started_over_ends_the_answer(tmp_path: Path) -> None:
    run, _ = running(tmp_path / "c", first=10)
    wait_for(run, 10)
    pieces = iter(attach(tmp_path / "c", "kept", follow=True))
    assert next(pieces).through == 29
    run.stop()
    finished(tmp_path / "c")
    with pytest.raises(RunError, match="begun again"):
        next(pieces)


def test_a_point_that_a_replacement_drops_ends_the_answer(tmp_path: Path) -> None:
    run, source = running(tmp_path / "c", first=10)
    wait_for(run, 10)
    pieces = iter(attach(tmp_path / "c", "kept"))
    assert next(pieces).through == 29
    other = Network("n")  # its source has another name
    other.source("any", {"time": int, "speed": int}).output("o")
    still = attach(tmp_path / "c", "kept", other)
    without = Network("city")
    stream = without.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    stream.filter("slow", "speed < 30").output("alerts")
    run.replace(without.value)
    for asked in (pieces, still):
        with pytest.raises(RunError, match="no longer has the connection point 'kept'"):
            list(asked)
    source.all.set()
    run.wait(60)


def test_a_point_that_comes_back_begins_again_and_hides_no_gap(tmp_path: Path) -> None:
    run, source = running(tmp_path / "c", first=10)
    wait_for(run, 10)
    pieces = iter(attach(tmp_path / "c", "kept", follow=True))
    assert next(pieces).through == 29
    without = Network("city")
    stream = without.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    stream.filter("slow", "speed < 30").output("alerts")
    run.replace(without.value)
    source.may = 12
    wait_for(run, 12)
    run.replace(city().value)
    source.may = 15
    wait_for(run, 15)
    with pytest.raises(RunError, match=r"table was begun again.*its network has the connection point again"):
        next(pieces)
    assert all_of(attach(tmp_path / "c", "kept", up_to=44)).equals(reports().filter(pl.col("time").is_between(36, 44)))
    source.all.set()
    run.wait(60)


def test_another_version_may_keep_tuples_for_another_time(tmp_path: Path) -> None:
    run, source = running(tmp_path / "c", first=20)
    wait_for(run, 20)
    shorter = Network("city")
    stream = shorter.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    stream.connection_point("kept", 9, ["seg"]).filter("slow", "speed < 30").output("alerts")
    run.replace(shorter.value)
    source.may = 25
    wait_for(run, 25)
    kept = all_of(attach(tmp_path / "c", "kept", up_to=74))
    assert set(range(65, 75)) <= set(kept["time"]) <= set(range(60, 75))  # whole files go, of steps of three seconds
    source.all.set()
    run.wait(60)


def test_an_answer_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    finished(tmp_path / "c")
    for since, up_to, said in (
        (50, 40, r"at 50, up to 40"),
        ("10 seconds", "1 minute", r"at 110 \(10 seconds before now\), up to 60 \(1 minute before now\)"),
    ):
        with pytest.raises(RunError, match=f"would end before it begins: it begins {said}$"):
            attach(tmp_path / "c", "kept", since=since, up_to=up_to)
    assert all_of(attach(tmp_path / "c", "kept", since=40, up_to=40)).height == 10


def test_object_and_tables_are_for_queries(tmp_path: Path) -> None:
    from arterial.sql.catalog import TableEntry
    from arterial.sql.inputs.reading import Input

    finished(tmp_path / "c")
    with pytest.raises(RunError, match="object 'vid' is for a query in SQL"):
        attach(tmp_path / "c", "kept", object="vid")
    with pytest.raises(RunError, match="the table 'w' is for a query"):
        attach_to(tmp_path / "c", "kept", None, Options(tables={"w": Input(TableEntry.of({"a": int}), pl.DataFrame())}))


def test_times_in_text_of_a_stream_with_timestamps(tmp_path: Path) -> None:
    net = Network("dates")
    net.source("s", {"time": "timestamp", "x": int}).connection_point("kept", "1 hour").output("o")
    rows = [{"time": f"2026-03-01T12:00:0{second}", "x": second} for second in range(9)]
    run = art.run(net, s=rows, local=True)
    run.wait(60)
    for since, expected in (("2026-03-01T12:00:05", 4), ("20260301T120005", 4), ("20260301", 9), ("20260302", 0)):
        assert all_of(run.attach("kept", since=since)).height == expected
    with pytest.raises(RunError, match=r"'5' is not a time; expected a date and time"):
        run.attach("kept", since="5")


@pytest.mark.thorough
def test_a_run_of_this_process(tmp_path: Path) -> None:
    run = art.run(city(), reports=reports(), local=True)
    attachment = run.attach("kept", COUNTS)
    assert same(all_of(attachment), counts())
    run.wait(60)
    assert same(all_of(run.attach("kept", COUNTS)), counts())
    folder = run.checkpoint
    assert folder.exists()
    del run, attachment
    gc.collect()
    assert not folder.exists()  # a temporary run leaves nothing, once nobody has it


@pytest.mark.thorough
def test_a_network_as_a_query(tmp_path: Path) -> None:
    finished(tmp_path / "c")
    net = Network("fast")
    net.source("any", {"time": int, "speed": int}).filter("f", "speed > 80").output("fast")
    expected = reports().filter(pl.col("speed") > 80).select("time", "speed")
    assert all_of(attach(tmp_path / "c", "kept", net)).equals(expected)


@pytest.mark.thorough
def test_a_filter_on_the_storage_key_reads_less(tmp_path: Path) -> None:
    from arterial.connectors.points.conditions import Condition

    finished(tmp_path / "c")
    for where, expected in (
        ("seg = 3", {Condition("seg", 3, 3)}),
        ("seg IN (3, 1)", {Condition("seg", values=(1, 3))}),
        ("seg < 4 AND speed > 2 * seg", {Condition("seg", None, 4)}),
        ("seg = 3 OR speed = 4", set()),
    ):
        attachment = attach(tmp_path / "c", "kept", f"SELECT seg, speed FROM kept WHERE {where}")
        assert set(attachment.points["kept"].conditions) == expected
    none = attach(tmp_path / "c", "kept", "SELECT seg FROM kept WHERE seg = 700")
    assert all_of(none).is_empty()
    assert none.reading.bytes == 0


@pytest.mark.thorough
def test_a_join_on_the_storage_key_reads_less(tmp_path: Path) -> None:
    from arterial.sql.catalog import TableEntry
    from arterial.sql.inputs.reading import Input

    finished(tmp_path / "c")
    rows = pl.DataFrame({"segment": [700, 800], "name": ["a", "b"]})
    query = "SELECT k.vid, w.name FROM kept k JOIN watched w ON k.seg = w.segment"
    for values, found in (([700, 800], 0), ([3, 800], 60)):
        given = rows.with_columns(pl.Series("segment", values))
        table = Input(TableEntry.of({"segment": int, "name": str}), given)
        attachment = attach_to(tmp_path / "c", "kept", query, Options(tables={"watched": table}))
        assert all_of(attachment).height == found
        assert (attachment.reading.bytes > 0) == bool(found)


@pytest.mark.thorough
@pytest.mark.parametrize("materialise", ["none", "some", "all"])
def test_a_view_has_its_history_whether_it_is_kept_or_not(tmp_path: Path, materialise: str) -> None:
    run = finished(tmp_path / "c", city(busy=materialise))
    computed = "busy_counts" in {box.name for box in run.plan.network.boxes}
    assert computed == (materialise != "none")
    expected = counts().drop("sign")
    assert same(all_of(attach(tmp_path / "c", "busy")), expected)
    # Windows that began before are whole, wherever the view is computed.
    later = attach(tmp_path / "c", "busy", since=35)
    assert same(all_of(later), expected.filter(pl.col("time") >= 35))
    _, token = take(attach(tmp_path / "c", "busy", since=35), 59)
    rest = all_of(attach(tmp_path / "c", "busy", since=35, token=token))
    assert same(rest, expected.filter(pl.col("time") > Token.of(token).through))
    busiest = all_of(attach(tmp_path / "c", "busy", "SELECT seg FROM busy WHERE n > 3"))
    assert same(busiest.select("time", "seg"), expected.filter(pl.col("n") > 3).select("time", "seg"))


@pytest.mark.thorough
def test_a_view_that_is_computed_from_two_points(tmp_path: Path) -> None:
    net = Network("two")
    stream = net.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    slow = stream.filter("slow", "speed < 40").connection_point("slow_kept", "1 hour").group_by("seg")
    fast = stream.filter("fast", "speed > 50").group_by("seg", name="g").connection_point("fast_kept", "1 hour")
    pairs = slow.join("pairs", fast, within=9)
    pairs.view("pairs_computed")
    pairs.group_by(name="all").view("pairs_kept", "all")
    pairs.output("out")
    finished(tmp_path / "c", net)
    computed, kept = (all_of(attach(tmp_path / "c", name)) for name in ("pairs_computed", "pairs_kept"))
    assert same(computed, kept)
    assert kept.height > 20


def test_a_view_without_a_connection_point_before_it_is_refused(tmp_path: Path) -> None:
    net = Network("city")
    net.source("reports", {"time": int, "speed": int}).filter("slow", "speed < 3").view("v")
    with pytest.raises(RunError, match=r"nothing is kept on the way from the source 'reports'"):
        art.run(net, reports=[{"time": 1, "speed": 1}], local=True)


@pytest.mark.thorough
def test_what_cannot_be_asked(tmp_path: Path) -> None:
    finished(tmp_path / "c", city(busy="none"))
    finished(tmp_path / "other")
    token = take(attach(tmp_path / "c", "kept", COUNTS), 20)[1]
    other = Network("n")
    other.source("kept", {"time": int, "sped": int}).output("o")
    cases: list[tuple[type[ArterialError], str, dict[str, object]]] = [
        (
            RunError,
            r"no connection point or view 'kapt'; there are: busy, kept; did you mean 'kept'",
            {"point": "kapt"},
        ),
        (SqlError, "there is no column 'sge'", {"query": "SELECT sge FROM kept"}),
        (SqlError, "nothing is behind 'reports'; there is: kept", {"query": "SELECT seg FROM reports"}),
        (SqlError, "expected SELECT", {"query": "DROP kept"}),
        (RunError, "expected the column 'sped'", {"query": other}),
        (RunError, "is no token", {"token": "abc"}),
        (RunError, "the token is of another query", {"token": token, "query": "SELECT seg FROM kept"}),
        (RunError, "the token is of another run", {"token": token, "folder": tmp_path / "other"}),
        (RunError, "no run is there", {"folder": tmp_path}),
    ]
    for kind, said, given in cases:
        with pytest.raises(kind, match=said):
            attach(**{"folder": tmp_path / "c", "point": "kept", "query": COUNTS, **given})  # type: ignore[arg-type]


def test_a_token_is_text_and_back() -> None:
    token = Token({"kept": "abc"}, "q", 17, None, -3)
    assert Token.of(str(token)) == token
    assert " " not in str(token)


@pytest.mark.thorough
def test_several_outputs(tmp_path: Path) -> None:
    finished(tmp_path / "c")
    net = Network("two")
    kept = net.source("kept", {"time": int, "speed": int})
    fast = kept.filter("f", "speed > 80")
    fast.output("fast")
    fast.otherwise.output("others")
    rows = attach(tmp_path / "c", "kept", net).collect()
    assert rows["fast"].height + rows["others"].height == reports().height
    answer = next(iter(attach(tmp_path / "c", "kept", net)))
    with pytest.raises(RunError, match="take one of `rows`"):
        _ = answer.frame
