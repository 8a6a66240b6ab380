"""An output that follows another reading of a rule is recognised, difference by difference."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from arterial.linearroad.semantics.profiles import PROFILES, SPEC, THESIS2003, WALMART, Profile
from arterial.linearroad.semantics.rules import with_rules
from arterial.linearroad.validate import Verdict, validate
from arterial.linearroad.validate.causes.alternatives import alternatives_of
from arterial.linearroad.validate.page import cause_in_words, page_of
from tests.linearroad.cities import City, balance, crowd, generate, report, small, stopped
from tests.linearroad.jams import jam
from tests.linearroad.outputs import Run, right_run


def _judge(run: Run, profile: Profile) -> Verdict:
    verdict = validate(run.data, run.output, tolls=run.tolls, segments=run.segments, profile=profile)
    for t, tally in verdict.tallies.items():
        found = verdict.causes[t].differences if t in verdict.causes else 0
        assert found == tally.differences, "the causes add up"
    return verdict


def _all(verdict: Verdict) -> Counter[str]:
    total: Counter[str] = Counter()
    for causes in verdict.causes.values():
        total.update(causes.counts)
    return total


@pytest.mark.thorough
@pytest.mark.parametrize(
    "rule", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("1", "2", "4", "5", "8", "18")), "10–12"]
)
def test_a_single_rule_is_named(rule: str, tmp_path: Path) -> None:
    """The interpreter answers with one rule of `walmart`; the differences, and the balances after them, are its.

    In a city of few vehicles another rule may give the same once; the right one stands first, and explains all.
    """
    spec = small("spec")
    found: Counter[str] = Counter()
    for seed in (1, 3, 4):
        run = right_run(generate(seed), tmp_path / str(seed), with_rules(spec, WALMART, [rule]))
        found += _all(_judge(run, spec))
    assert found.most_common(1)[0][0] == rule
    assert "none" not in found


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["6", *(pytest.param(one, marks=pytest.mark.slow) for one in ("13", "15", "18"))])
def test_a_single_rule_of_the_thesis_is_named(rule: str, tmp_path: Path) -> None:
    """Rule 16, the credits, is none by itself: they depend on the places of accidents, rules 10–12 of the thesis."""
    found: Counter[str] = Counter()
    cities = {"jam": City(tuple(jam(1))), "city": generate(21), "another": generate(24)}
    for name, city in cities.items():
        run = right_run(city, tmp_path / name, with_rules(SPEC, THESIS2003, [rule]))
        found += _all(_judge(run, SPEC))
    assert found.most_common(1)[0][0] == rule
    assert "none" not in found


@pytest.mark.thorough
def test_the_rules_of_what_is_accepted(tmp_path: Path) -> None:
    """Right answers of `spec` that `walmart` does not accept: the last charge's time, here with LAVs that are alike."""
    events = [*crowd(51, 60, 10), report(120, 1, 10), report(150, 1, 11), balance(170, 1, 7)]
    run = right_run(City(tuple(events)), tmp_path)
    verdict = _judge(run, WALMART)
    assert verdict.causes[2].counts == {"17": 1}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("made", "judged"),
    [
        pytest.param(*pair, marks=pytest.mark.slow if number else ())
        for number, pair in enumerate(itertools.permutations(PROFILES, 2))
    ],
)
def test_whole_profiles(made: str, judged: str, tmp_path: Path) -> None:
    """Nothing is left unexplained between profiles, and all that is named is a rule in which they differ."""
    found: Counter[str] = Counter()
    for seed in (1, 3):
        run = right_run(City(tuple(jam(seed))), tmp_path / str(seed), PROFILES[made])
        found += _all(_judge(run, PROFILES[judged]))
    assert found
    assert set(found) <= {one.label for one in alternatives_of(PROFILES[judged])}


def _plus_three(line: str) -> str:
    kind, *rest = line.split(",")
    return ",".join([kind, *rest[:3], str(int(rest[3]) + 3), rest[4]]) if kind == "0" else line


def _toll_doubled(line: str) -> str:
    kind, *rest = line.split(",")
    if kind in ("0", "2"):
        rest[4] = str(2 * int(rest[4]))
    return ",".join([kind, *rest])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("doctored", "causes"),
    [
        (_plus_three, {0: "none"}),
        (_toll_doubled, {0: "none", 2: "its own quotes"}),
    ],
)
def test_a_defect_that_no_rule_explains(tmp_path: Path, doctored: Callable[[str], str], causes: dict[int, str]) -> None:
    events = [*crowd(51, 60, 10), report(120, 1, 10), report(150, 1, 11), balance(170, 1, 7)]
    run = right_run(City(tuple(events)), tmp_path)
    run.rewrite([doctored(line) for line in run.lines()])
    verdict = _judge(run, SPEC)
    assert {t: set(one.counts) for t, one in verdict.causes.items()} == {t: {cause} for t, cause in causes.items()}


@pytest.mark.thorough
def test_missing_extra_and_early_answers(tmp_path: Path) -> None:
    events = [*crowd(51, 60, 10), report(120, 1, 10), report(150, 1, 11)]
    run = right_run(City(tuple(events)), tmp_path)
    lines = run.lines()
    early = "0,1,120,120.500,30,2"
    assert early in lines
    run.rewrite([*(line.replace("120.500", "119.000") for line in lines[1:]), lines[-1]])
    verdict = _judge(run, SPEC)
    assert verdict.causes[0].counts == {"20": 1, "none": 2}


@pytest.mark.thorough
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("types", ["0", "1", "01"])
def test_silence_is_no_reading(types: str, profile: str, tmp_path: Path) -> None:
    """A system that never alerts has not chosen to alert somebody else, nor to end all accidents early."""
    accident = [*stopped(101, 0, 12, 15), *stopped(102, 0, 12, 15)]
    passing = [report(t + 30 * i, 200 + t, 9 + i) for t in range(0, 300, 7) for i in range(9)]
    leaving = [report(t + 30 * i, 600 + t, 9 + i, lane=4 * (i == 2)) for t in range(0, 300, 7) for i in range(5)]
    run = right_run(City((*accident, *passing, *leaving)), tmp_path, PROFILES[profile])
    run.rewrite([line for line in run.lines() if line[0] not in types])
    verdict = _judge(run, PROFILES[profile])
    expected = {int(t): verdict.tallies[int(t)].counts["expected"] for t in types}
    assert min(expected.values()) > 10
    assert {t: causes.counts for t, causes in verdict.causes.items()} == {t: {"none": n} for t, n in expected.items()}


@pytest.mark.thorough
def test_causes_in_json_and_on_the_page(tmp_path: Path) -> None:
    run = right_run(City(tuple(jam(1))), tmp_path, WALMART)
    verdict = _judge(run, SPEC)
    told = verdict.as_json()
    for t, counts in told["causes"].items():
        kinds = told["types"][t]
        assert sum(counts.values()) == kinds["missing"] + kinds["extra"] + kinds["wrong"] > 0
        assert [one["cause"] for one in kinds["causes"]] == list(counts)
    html = page_of(verdict).html()
    assert "Why they differ" in html
    assert "Differences by the rule that explains them" in html
    assert not validate(run.data, run.output, causes=False).causes


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("2", "rule 2, read otherwise than in spec"),
        ("10–12", "rules 10–12, read otherwise than in spec"),
        ("1 and 2", "only rules 1 and 2 together"),
        ("several of walmart", "only several rules of walmart together"),
        ("20", "rule 20: right, but emitted before its time"),
        ("none", "no rule explains it"),
        ("its own quotes", "follows from the system's own toll notices, which differ"),
    ],
)
def test_causes_in_words(cause: str, words: str) -> None:
    assert cause_in_words(cause, "spec") == words


@pytest.mark.thorough
@pytest.mark.parametrize("profile", [SPEC, THESIS2003], ids=lambda one: one.name)
def test_answers_that_come_twice_are_no_other_reading(profile: Profile, tmp_path: Path) -> None:
    """Every line twice: what is extra by any reading is no rule's, however many right balances rule 17 has."""
    requests = [balance(143 + 2 * i, 1, i) for i in range(8)]
    events = [*crowd(151, 60, 10), report(120, 1, 10), report(150, 1, 11), *requests]
    run = right_run(City(tuple(events)), tmp_path, profile)
    run.rewrite([*run.lines(), *run.lines()])
    verdict = _judge(run, profile)
    assert {t: causes.counts for t, causes in verdict.causes.items()} == {
        0: {"none": verdict.tallies[0].counts["extra"]},
        2: {"none": len(requests)},
    }


@pytest.mark.thorough
def test_of_answers_by_another_reading_that_come_twice_one_is_explained(tmp_path: Path) -> None:
    events = [*crowd(50, 60, 10, speed=39), *crowd(51, 60, 10, speed=40, first=3000), report(120, 1, 10)]
    run = right_run(City(tuple(events)), tmp_path, with_rules(SPEC, WALMART, ["2"]))
    notice = next(line for line in run.lines() if line.startswith("0,1,"))
    run.rewrite([*run.lines(), notice])
    assert _judge(run, SPEC).causes[0].counts == {"2": 1, "none": 1}
