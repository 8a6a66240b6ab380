"""The validator passes right outputs and tells of every mutated one what is wrong with it."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arterial.errors import ArterialError
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.formats.dialects import DIALECTS, dialect
from arterial.linearroad.reference import Event
from arterial.linearroad.semantics.profiles import SPEC, WALMART, Profile, profile
from arterial.linearroad.validate import Verdict, job, validate
from arterial.linearroad.validate.parcels import Parcel
from arterial.linearroad.validate.verdict import KINDS
from tests.linearroad.cases import CASES
from tests.linearroad.cities import City, balance, crowd, expenditure, generate, report, small, stopped, travel
from tests.linearroad.outputs import Run, right_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NIGHT = next(case for case in CASES if case.name == "a journey over midnight eastbound")


def _city() -> City:
    """Something of every type: vehicle 1 is charged 2 at 150, alerted at 150 and 180, and asks all there is to ask."""
    events: list[Event] = [
        *crowd(51, 60, 10),
        *stopped(101, 0, 6, 15),
        *stopped(102, 0, 6, 15),
        report(120, 1, 10),
        report(150, 1, 11),
        report(180, 1, 12),
        balance(170, 1, 7),
        balance(300, 1, 7),
        expenditure(160, 1, 8, day=5),
        travel(161, 1, 9, sinit=10, send=12, dow=7, tod=1440),
        report(400, 3, 50),
    ]
    return City(
        tuple(events), (next(c for c in CASES if c.name == "daily expenditures").tolls[0],), tuple(_NIGHT.segments)
    )


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return right_run(_city(), tmp_path)


def _judge(run: Run, *, causes: bool = False, **more: object) -> Verdict:
    return validate(
        run.data,
        run.output,
        tolls=run.tolls,
        segments=run.segments,
        causes=causes,
        **more,  # type: ignore[arg-type]
    )


def _faults(verdict: Verdict) -> dict[tuple[int, str], int]:
    return {(t, k): tally.counts[k] for t, tally in verdict.tallies.items() for k in KINDS if tally.counts[k]}


def test_a_right_output_passes(run: Run) -> None:
    verdict = _judge(run)
    assert verdict.passes
    assert not _faults(verdict)
    assert {t: tally.counts["right"] for t, tally in verdict.tallies.items()} == {0: 57, 1: 2, 2: 2, 3: 1, 4: 1}
    assert verdict.tallies[0].latency.greatest == 0.5
    assert not verdict.notes


def test_workers_may_be_in_another_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's stay where it was started, even if a notebook goes elsewhere; paths are by the notebook's folder."""
    here = job._here

    def elsewhere(*task: Any) -> list[Parcel]:
        with chdir("/"):
            return here(*task)

    monkeypatch.setattr(job, "_here", elsewhere)
    monkeypatch.chdir(tmp_path)
    run.rewrite([*run.lines(), "nonsense"])
    given = {"tolls": run.tolls, "segments": run.segments}
    verdict = validate(
        open_data(run.data.path.relative_to(tmp_path)),
        run.output.relative_to(tmp_path),
        **{name: None if path is None else path.relative_to(tmp_path) for name, path in given.items()},
    )
    assert {t: tally.counts["right"] for t, tally in verdict.tallies.items()} == {0: 57, 1: 2, 2: 2, 3: 1, 4: 1}
    assert not Path(verdict.faults[0]["file"]).is_absolute()


MUTATIONS = [
    ("toll changed", "0,1,120,120.500,30,2", "0,1,120,120.500,30,4", (0, "wrong"), "rule 6: LAV 30, 51 cars"),
    ("LAV changed", "0,1,120,120.500,30,2", "0,1,120,120.500,31,2", (0, "wrong"), "rules 1–4: LAV is 30"),
    ("notice dropped", "0,1,120,120.500,30,2", None, (0, "missing"), "rule 7: vehicle 1 reported from segment 10"),
    ("notice late", "0,1,120,120.500,30,2", "0,1,120,125.001,30,2", (0, "late"), "the limit is 5 s"),
    ("notice early", "0,1,120,120.500,30,2", "0,1,120,119.999,30,2", (0, "wrong"), "rule 20: emitted before its time"),
    ("alert elsewhere", "1,150,150.500,1,0,15,0", "1,150,150.500,1,0,14,0", (1, "wrong"), "accident 4 segments"),
    ("alert of another road", "1,150,150.500,1,0,15,0", "1,150,150.500,1,1,15,0", (1, "wrong"), "rules 13, 14"),
    ("alert dropped", "1,150,150.500,1,0,15,0", None, (1, "missing"), "rule 15: vehicle 1 entered it"),
    ("alert late", "1,150,150.500,1,0,15,0", "1,150,155.100,1,0,15,0", (1, "late"), "rule 20"),
    (
        "balance wrong",
        "2,170,170.500,150,7,2",
        "2,170,170.500,150,7,3",
        (2, "wrong"),
        "right are 0 since 110, 2 since",
    ),
    ("balance too old", "2,170,170.500,150,7,2", "2,170,170.500,109,7,0", (2, "wrong"), "rule 17"),
    ("balance of the future", "2,170,170.500,150,7,2", "2,170,170.500,171,7,2", (2, "wrong"), "rule 17"),
    ("balance late", "2,170,170.500,150,7,2", "2,170,176.000,150,7,2", (2, "late"), "6.000 s after"),
    ("expenditure wrong", "3,160,160.500,8,30", "3,160,160.500,8,31", (3, "wrong"), "rule 18: 30 for vehicle 1, day 5"),
    ("expenditure late", "3,160,160.500,8,30", "3,160,170.001,8,30", (3, "late"), "the limit is 10 s"),
    ("travel time wrong", "4,161,161.500,9,210,200", "4,161,161.500,9,221,200", (4, "wrong"), "rule 19: 210 s"),
    ("travel toll wrong", "4,161,161.500,9,210,200", "4,161,161.500,9,210,211", (4, "wrong"), "rule 19"),
    ("travel late", "4,161,161.500,9,210,200", "4,161,191.001,9,210,200", (4, "late"), "the limit is 30 s"),
]


@pytest.mark.parametrize(("old", "new", "fault", "rule"), [m[1:] for m in MUTATIONS], ids=[m[0] for m in MUTATIONS])
def test_a_mutated_line_is_detected(run: Run, old: str, new: str | None, fault: tuple[int, str], rule: str) -> None:
    lines = run.lines()
    assert lines.count(old) == 1
    run.rewrite([new if line == old else line for line in lines if line != old or new is not None])  # type: ignore[misc]
    verdict = _judge(run)
    assert not verdict.passes
    assert _faults(verdict) == {fault: 1}
    (example,) = verdict.tallies[fault[0]].examples
    assert example.kind == fault[1]
    assert rule in example.rule


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0,1,120,120.500,30,2", "0,1,120,125.000,30,2"),
        ("2,170,170.500,150,7,2", "2,170,170.500,170,7,2"),
        ("2,170,170.500,150,7,2", "2,170,170.500,149,7,0"),
        ("2,170,170.500,150,7,2", "2,170,170.500,110,7,0"),
        ("4,161,161.500,9,210,200", "4,161,191.500,9,220,190"),
    ],
)
def test_every_other_right_answer_is_accepted(run: Run, old: str, new: str) -> None:
    run.rewrite([new if line == old else line for line in run.lines()])
    assert _faults(_judge(run)) in ({}, {(4, "late"): 1})


@pytest.mark.parametrize("answer_type", range(5))
def test_a_repeated_line_is_extra(run: Run, answer_type: int) -> None:
    again = next(line for line in run.lines() if line.startswith(f"{answer_type},"))
    run.rewrite([*run.lines(), again])
    verdict = _judge(run)
    assert _faults(verdict) == {(answer_type, "extra"): 1}
    assert "more often than it was asked for" in verdict.tallies[answer_type].examples[0].rule


def test_answers_nobody_asked_for(run: Run) -> None:
    run.rewrite(
        [*run.lines(), "0,1,121,121.5,30,2", "1,121,121.5,1,0,15,0", "2,5,5.5,5,7,0", "3,5,5.5,8,0", "4,5,5.5,9,0,0"]
    )
    assert _faults(_judge(run)) == {(t, "extra"): 1 for t in range(5)}


def test_files_that_are_empty_or_not_read_are_named(run: Run) -> None:
    text = run.file.read_text()
    run.file.write_text("")
    (run.output / "answers.csv").write_text(text)
    notes = _judge(run).notes
    assert f"{run.file}: no lines in it." in notes
    assert f"{run.output}: not read as answers: answers.csv." in notes


@pytest.mark.parametrize("name", ["tolls", "segments"])
def test_a_history_that_is_not_there_is_an_error_though_nobody_asks(name: str, tmp_path: Path) -> None:
    run = right_run(City((report(0, 1, 10),)), tmp_path)
    with pytest.raises(ArterialError, match="no such history"):
        validate(run.data, run.output, **{name: tmp_path / "none"})  # type: ignore[arg-type]


@pytest.mark.parametrize("window", [{}, {"first": 0, "until": 10_000}], ids=["all", "a window that has all"])
@pytest.mark.parametrize("time", [-1, 401, 10**15])
def test_an_answer_of_a_second_that_the_input_does_not_have_is_extra(run: Run, time: int, window: Any) -> None:
    run.rewrite(
        [
            *run.lines(),
            f"0,1,{time},{time}.500,30,2",
            f"1,{time},{time}.500,1,0,15,0",
            f"2,{time},{time}.500,{time},1,0",
            f"3,{time},{time}.500,1,0",
            f"4,{time},{time}.500,1,0,0",
        ]
    )
    verdict = _judge(run, **window)
    assert _faults(verdict) == {(t, "extra"): 1 for t in range(5)}
    assert all(set(tally.latency.minutes) <= set(range(7)) for tally in verdict.tallies.values())


def test_any_accident_in_range_is_right(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "several accidents in range")
    run = right_run(City(tuple(case.events)), tmp_path)
    lines = run.lines()
    assert "1,120,120.500,1,0,52,0" in lines
    run.rewrite([line.replace("1,120,120.500,1,0,52,0", "1,120,120.500,1,0,54,0") for line in lines])
    assert _judge(run).passes


def test_walmart_accepts_only_the_nearest_accident(tmp_path: Path) -> None:
    """Rule 14."""
    case = next(case for case in CASES if case.name == "several accidents in range")
    run = right_run(City(tuple(case.events)), tmp_path, WALMART)
    assert _judge(run, profile=WALMART).passes
    lines = run.lines()
    farther = [line.replace("1,120,120.500,1,0,52,0", "1,120,120.500,1,0,54,0") for line in lines]
    assert farther != lines
    run.rewrite(farther)
    verdict = _judge(run, profile=WALMART)
    assert _faults(verdict) == {(1, "wrong"): 1}
    assert "rules 13, 14" in verdict.tallies[1].examples[0].rule
    assert "only the nearest" in verdict.tallies[1].examples[0].rule


def test_an_alert_that_the_thesis_does_not_ask_for(tmp_path: Path) -> None:
    """The recipient's last report is exactly 30 s old at detection."""
    events = [*stopped(101, 0, 5, 12), *stopped(102, 0, 5, 12), report(60, 1, 10), report(61, 2, 10)]
    thesis = profile("thesis2003")
    run = right_run(City(tuple(events)), tmp_path, thesis)
    assert [line for line in run.lines() if line[0] == "1"] == ["1,90,90.500,2,0,12,0"]
    run.rewrite([*run.lines(), "1,90,90.500,1,0,12,0"])
    verdict = _judge(run, profile=thesis)
    assert _faults(verdict) == {(1, "extra"): 1}
    assert "no accident was detected at second 90, 1 to 5 segments ahead" in verdict.tallies[1].examples[0].rule


@pytest.mark.parametrize(
    ("result_time", "bal", "spec", "walmart"),
    [(170, 2, True, True), (150, 2, True, False), (149, 0, True, False), (170, 0, False, False)],
)
def test_walmart_accepts_only_the_balance_at_the_request(
    tmp_path: Path, result_time: int, bal: int, spec: bool, walmart: bool
) -> None:
    """Rule 17: vehicle 1 is charged 2 at 150 and asks at 170."""
    events = [*crowd(51, 60, 10), report(120, 1, 10), report(150, 1, 11), balance(170, 1, 7)]
    run = right_run(City(tuple(events)), tmp_path, WALMART)
    assert "2,170,170.500,170,7,2" in run.lines()
    run.rewrite([line.replace("170.500,170,7,2", f"170.500,{result_time},7,{bal}") for line in run.lines()])
    for judging, accepted in ((SPEC, spec), (WALMART, walmart)):
        assert (_judge(run, profile=judging).tallies[2].counts["right"] == 1) == accepted
    said = [example.rule for example in _judge(run, profile=WALMART).tallies[2].examples]
    assert said == ([] if walmart else ["rule 17: right is 2 with ResultTime 170 alone (profile walmart)"])


@pytest.mark.parametrize(("profile", "emit", "late"), [(SPEC, 170, 0), (WALMART, 165, 0), (WALMART, 165.001, 1)])
def test_walmart_has_five_seconds_for_an_expenditure(run: Run, profile: Profile, emit: float, late: int) -> None:
    """Rule 20."""
    run.rewrite([line.replace("3,160,160.500", f"3,160,{emit}") for line in run.lines()])
    assert _judge(run, profile=profile).tallies[3].counts["late"] == late


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("2,125,125.500,125,7,0", True),  # true at the request
        ("2,125,129.900,125,7,0", True),
        ("2,125,130.000,130,7,-7", True),  # true when the answer came
        ("2,125,140.000,130,7,-7", True),
        ("2,125,140.000,126,7,-7", False),  # not yet true at that time
        ("2,125,129.900,130,7,-7", False),  # before it was true
        ("2,125,126.000,128,7,0", False),  # ResultTime after the answer
        ("2,125,140.000,139,7,-7", True),
        ("2,140,140.500,130,8,-7", True),
        ("2,140,140.500,129,8,0", False),  # no longer true at the request
        ("3,125,125.500,9,0", True),
        ("3,125,131.000,9,-7", True),
        ("3,125,129.900,9,-7", False),
        ("3,140,140.500,10,-7", True),
        ("3,140,140.500,10,0", False),
    ],
)
def test_thesis_balances_are_true_between_request_and_answer(tmp_path: Path, answer: str, right: bool) -> None:
    """Vehicle 1 has a credit of 7 at 130."""
    thesis = profile("thesis2003", basecredit=7)
    events = [
        *stopped(101, 0, 6, 12),
        *stopped(102, 0, 6, 12),
        report(100, 1, 10),
        report(130, 1, 10, lane=4),
        balance(125, 1, 7),
        balance(140, 1, 8),
        expenditure(125, 1, 9, day=1),
        expenditure(140, 1, 10, day=1),
    ]
    run = right_run(City(tuple(events)), tmp_path, thesis)
    assert _judge(run, profile=thesis).passes
    kind, place = int(answer[0]), 4 if answer[0] == "2" else 3
    same = [line for line in run.lines() if line[0] == answer[0] and line.split(",")[place] == answer.split(",")[place]]
    run.rewrite([answer if line == same[0] else line for line in run.lines()])
    assert _faults(_judge(run, profile=thesis)) == ({} if right else {(kind, "wrong"): 1})


def test_a_thesis_balance_may_come_true_after_the_window(tmp_path: Path) -> None:
    thesis = profile("thesis2003", basecredit=7)
    events = [
        *stopped(101, 0, 6, 12),
        *stopped(102, 0, 6, 12),
        report(100, 1, 10),
        report(130, 1, 10, lane=4),
        balance(125, 1, 7),
    ]
    run = right_run(City(tuple(events)), tmp_path, thesis)
    run.rewrite([line.replace("2,125,125.500,125,7,0", "2,125,135.000,130,7,-7") for line in run.lines()])
    assert _judge(run, profile=thesis, until=126).tallies[2].passes


def test_repeated_query_ids_pair_by_time_and_by_what_fits(tmp_path: Path) -> None:
    """Vehicles 1 (balance 2) and 2 (balance 0) ask with one QID in one second: either order of the answers is right."""
    events = [*crowd(51, 60, 10), report(120, 1, 10), report(150, 1, 11), balance(300, 1, 7), balance(300, 2, 7)]
    run = right_run(City(tuple(events)), tmp_path)
    assert _judge(run).passes
    run.rewrite(run.lines()[::-1])
    assert _judge(run).passes
    run.rewrite([line.replace("300,7,0", "300,7,2") for line in run.lines()])
    assert _faults(_judge(run)) == {(2, "wrong"): 1}


def test_dirty_lines_fail_the_run_with_their_number(run: Run) -> None:
    lines = run.lines()
    run.rewrite([*lines[:3], "not an answer", *lines[3:], "0,1"])
    verdict = _judge(run)
    assert not verdict.passes
    assert not _faults(verdict)
    assert [(fault["line"], fault["reason"]) for fault in verdict.faults] == [
        (4, "the type is no integer"),
        (len(lines) + 2, "type 0 has 6 fields in dialect paper"),
    ]


@pytest.mark.parametrize("time", [2**31 - 1, 604_799, 20_000])
def test_one_line_of_input_with_a_time_far_ahead_is_set_aside_alone(tmp_path: Path, time: int) -> None:
    right_run(_city(), tmp_path)
    events = tmp_path / "input" / "events.csv"
    lines = events.read_text().splitlines()
    events.write_text("\n".join([*lines[:60], f"0,{time},1,30,0,1,0,20,105600,-1,-1,-1,-1,-1,-1", *lines[60:]]) + "\n")
    data = open_data(events)
    verdict = validate(
        data, tmp_path / "output", tolls=tmp_path / "input" / "tolls.csv", segments=tmp_path / "input" / "segments.csv"
    )
    assert verdict.passes
    assert (verdict.rejected, data.last_second) == (1, 400)


@pytest.mark.thorough
def test_a_window_is_judged_alone(run: Run) -> None:
    """What lies before the window still counts: the balance of second 170 knows of the charge at 150."""
    inside = [line for line in run.lines() if 160 <= int(line.split(",")[2 if line[0] == "0" else 1]) < 301]
    run.rewrite(inside)
    verdict = _judge(run, first=160, until=301)
    assert verdict.passes, _faults(verdict)
    assert verdict.tallies[2].counts["right"] == 2
    assert not _judge(run).passes
    run.rewrite([*inside, "0,1,120,120.500,30,2"])
    verdict = _judge(run, first=160, until=301)
    assert verdict.passes
    assert verdict.tallies[0].outside == 1
    with pytest.raises(ArterialError, match="is empty"):
        _judge(run, first=5, until=5)


@pytest.mark.thorough
def test_without_history_unknown_keys_are_expected(run: Run) -> None:
    verdict = validate(run.data, run.output)
    assert _faults(verdict) == {(3, "wrong"): 1, (4, "wrong"): 1}
    assert [note.split(":")[0] for note in verdict.notes] == ["No --tolls", "No --segments"]
    run.rewrite([line.replace("9,210,200", "9,-1,-1").replace("8,30", "8,0") for line in run.lines()])
    assert validate(run.data, run.output).passes


def test_untimed_outputs_are_judged_but_for_their_times(run: Run) -> None:
    run.rewrite([line.replace("0,1,120,120.500", "0,1,120,3.000") for line in run.lines()])
    assert not _judge(run).passes
    verdict = _judge(run, timed=False)
    assert verdict.passes
    assert verdict.notes == ["Response times are not judged (--untimed)."]


@pytest.mark.thorough
def test_a_replicated_run(tmp_path: Path) -> None:
    """The events thrice: vehicles (up to 1050) are 10,000 apart, query ids (up to 9) 10, expressways 1."""
    run = right_run(_city(), tmp_path)
    vid, qid, xway = 10_000, 10, 1
    lines = run.lines()
    for replica in (1, 2):
        for line in list(run.lines()):
            parts = [float(part) if "." in part else int(part) for part in line.split(",")]
            for place, step in {0: {1: vid}, 1: {3: vid, 4: xway}, 2: {4: qid}, 3: {3: qid}, 4: {3: qid}}[
                parts[0]
            ].items():
                parts[place] += replica * step
            lines.append(",".join(map(str, parts)))
    run.rewrite(lines)
    verdict = _judge(run, replicate=3)
    assert verdict.passes, _faults(verdict)
    assert verdict.tallies[0].counts["right"] == 3 * 57
    assert verdict.xways == 3
    assert _faults(_judge(run, replicate=4)) == {
        (0, "missing"): 57,
        (1, "missing"): 2,
        (2, "missing"): 2,
        (3, "missing"): 1,
        (4, "missing"): 1,
    }
    run.rewrite([line for line in lines if not line.startswith("0,20001,150")])
    assert _faults(_judge(run, replicate=3)) == {(0, "missing"): 1}
    with pytest.raises(ArterialError, match="1 or more"):
        _judge(run, replicate=0)


@pytest.mark.thorough
@pytest.mark.parametrize("dialect_name", DIALECTS)
@pytest.mark.parametrize("profile_name", ["spec", "walmart", "thesis2003"])
def test_right_answers_pass_in_every_profile_and_dialect(tmp_path: Path, profile_name: str, dialect_name: str) -> None:
    for seed in range(6):
        of, profile = dialect(dialect_name), small(profile_name)
        run = right_run(generate(seed), tmp_path / str(seed), profile, of)
        verdict = _judge(run, profile=profile, dialect=of)
        assert verdict.passes, (seed, _faults(verdict), verdict.faults, [t.examples for t in verdict.tallies.values()])


def test_spark_judges_as_this_process_does(spark: SparkSession, tmp_path: Path) -> None:
    for seed in range(2):
        run = right_run(generate(seed), tmp_path / str(seed), small("spec"))
        lines = run.lines()
        run.rewrite([*lines[5:], lines[-1], "dirt"])
        told: list[float] = []
        here = _judge(run, profile=small("spec"), causes=True)
        there = _judge(run, profile=small("spec"), causes=True, spark=spark, progress=told.append)
        assert _faults(here) == _faults(there)
        assert {**here.as_json(), "seconds": 0} == {**there.as_json(), "seconds": 0}
        assert told[-1] == 1.0


def test_a_mistake_in_a_task_is_told_as_such(spark: SparkSession, run: Run) -> None:
    run.tolls.write_text("one,two\n")
    for session in (None, spark):
        with pytest.raises(ArterialError, match="not a TollHistory"):
            _judge(run, spark=session)
