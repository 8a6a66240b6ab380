"""The cleaner against the line-by-line one, however the input is cut."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arterial.connectors.rejects import Reject
from arterial.linearroad.data.cleaning import Cleaned, Cleaner, concatenated
from arterial.linearroad.formats.line_reader import MAX_LINE_BYTES
from tests.linearroad.traffic import (
    balance,
    clean_slowly,
    drive_along,
    expenditure,
    report,
    text_of,
    travel,
)

GOOD = b"0,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1\n"


def clean(data: bytes, disorder: int = 0, cuts: tuple[int, ...] = (), stored: bool = False) -> tuple[Cleaner, Cleaned]:
    cleaner = Cleaner(disorder=disorder)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = []
    for begin, end in itertools.pairwise(places):
        pieces.append(cleaner.feed(data[begin:end]))
        if stored:
            cleaner = Cleaner.restored(cleaner.state())
    pieces.append(cleaner.finish())
    return cleaner, concatenated(pieces)


def same_as_slow(data: bytes, disorder: int = 0, cuts: tuple[int, ...] = (), stored: bool = False) -> None:
    cleaner, cleaned = clean(data, disorder, cuts, stored)
    slow = clean_slowly(data, disorder)
    assert [tuple(row.values()) for row in cleaned.events.to_pylist()] == slow.events
    assert cleaned.lines.tolist() == slow.lines
    assert [(reject.line, reject.reason, reject.text) for reject in cleaned.rejects] == slow.rejects
    assert cleaner.blank == slow.blank


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"0,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1", "not 15 fields"),
        (b"0,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1,", "not 15 fields"),
        (b"hello", "not 15 fields"),
        (b"Type,Time,VID,Spd,XWay,Lane,Dir,Seg,Pos,QID,S,E,DOW,TOD,Day", "type is no integer"),
        (b"1,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "type is none of 0, 2, 3, 4"),
        (b"5,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "type is none of 0, 2, 3, 4"),
        (b"0,-1,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "time is not in 0..604799"),
        (b"0,2147483647,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "time is not in 0..604799"),
        (b"0,3631,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "time is far ahead of every earlier line"),
        (b"2,600000,7,-1,-1,-1,-1,-1,-1,1,-1,-1,-1,-1,-1", "time is far ahead of every earlier line"),
        (b"0,30,-7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "vid is not in 0..999999999999999999"),
        (b"0,30,7,-1,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "speed is not in 0..100"),
        (b"0,30,7,101,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "speed is not in 0..100"),
        (b"0,30,7,fast,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "speed is no integer"),
        (b"0,30,7,55.0,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "speed is no integer"),
        (b"0,30,7,,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "speed is no integer"),
        (b"0,30,7,- 5,0,1,0,20,105700,-1,-1,-1,-1,-1,-1", "speed is no integer"),
        (b"0,30,7,55,-1,1,0,20,105700,-1,-1,-1,-1,-1,-1", "xway is not in 0..2147483647"),
        (b"0,30,7,55,0,5,0,20,105700,-1,-1,-1,-1,-1,-1", "lane is not in 0..4"),
        (b"0,30,7,55,0,1,2,20,105700,-1,-1,-1,-1,-1,-1", "dir is not in 0..1"),
        (b"0,30,7,55,0,1,0,-2,105700,-1,-1,-1,-1,-1,-1", "seg is not in 0..99"),
        (b"0,30,7,55,0,1,0,100,105700,-1,-1,-1,-1,-1,-1", "seg is not in 0..99"),
        (b"0,30,7,55,0,1,0,20,528000,-1,-1,-1,-1,-1,-1", "pos is not in 0..527999"),
        (b"2,30,7,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1", "qid is not in 0..999999999999999999"),
        (b"3,30,7,-1,0,-1,-1,-1,-1,4,-1,-1,-1,-1,0", "day is not in 1..69"),
        (b"3,30,7,-1,0,-1,-1,-1,-1,4,-1,-1,-1,-1,70", "day is not in 1..69"),
        (b"4,30,7,-1,0,-1,-1,-1,-1,4,-1,9,1,480,-1", "sinit is not in 0..99"),
        (b"4,30,7,-1,0,-1,-1,-1,-1,4,3,100,1,480,-1", "send is not in 0..99"),
        (b"4,30,7,-1,0,-1,-1,-1,-1,4,3,9,8,480,-1", "dow is not in 1..7"),
        (b"4,30,7,-1,0,-1,-1,-1,-1,4,3,9,1,0,-1", "tod is not in 1..1440"),
        (
            b"0,30,99999999999999999999999999,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1",
            "vid is not in 0..999999999999999999",
        ),
        (b"x" * (MAX_LINE_BYTES + 1), f"line is longer than {MAX_LINE_BYTES} bytes"),
        (b"\xff\xfe,30", "not 15 fields"),
    ],
)
def test_a_dirty_line_is_set_aside_with_its_number_reason_and_text(line: bytes, reason: str) -> None:
    data = GOOD + line + b"\n" + GOOD.replace(b"30,7", b"31,7")
    _, cleaned = clean(data)
    assert cleaned.events["time"].to_pylist() == [30, 31]
    (reject,) = cleaned.rejects
    assert (reject.line, reject.reason) == (2, reason)
    assert reject.text == line[:MAX_LINE_BYTES].decode("utf-8", "backslashreplace")
    same_as_slow(data)


def test_fields_that_a_type_does_not_use_are_not_read_and_become_unused() -> None:
    data = b"2,5,7,abc,-9,99,,x,1e9,3,,,,,999\n0,6,7,55,0,1,0,20,105700,?,?,?,?,?,?\n"
    _, cleaned = clean(data)
    assert [tuple(row.values()) for row in cleaned.events.to_pylist()] == [
        balance(5, 7, 3),
        report(6, 7, 55, pos=105700),
    ]


def test_spaces_signs_carriage_returns_and_blank_lines_are_forgiven() -> None:
    data = b"\r\n 0, +30 ,7,\t55,0,1,0,020,105700,-1,-1,-1,-1,-1,-1\r\n  \n\n" + GOOD.replace(b"30,7", b"31,7").rstrip(
        b"\n"
    )
    cleaner, cleaned = clean(data)
    assert cleaned.events["time"].to_pylist() == [30, 31]
    assert cleaned.lines.tolist() == [2, 5]
    assert (cleaner.blank, cleaned.rejects) == (3, [])


def _at(*times: int) -> bytes:
    return b"".join(GOOD.replace(b"0,30,7", f"0,{time},{place}".encode()) for place, time in enumerate(times))


@pytest.mark.parametrize(
    ("times", "taken"),
    [
        ((30, 9000, 31, 32), (30, 31, 32)),  # one wrong line costs itself
        ((30, 3630, 3631), (30, 3630, 3631)),
        ((30, 9000, 9001, 9002, 31), (30, 9001, 9002)),  # a gap costs the line that shows it
        ((30, 9000, 31, 9000, 9001), (30, 31, 9001)),  # what was said once before is forgotten
        ((30, 9000, 300_000, 9001, 31), (30, 31)),  # two that do not agree
        ((86_399, 86_400), (86_399, 86_400)),  # cut from a longer run
        ((500_000, 30, 31), (30, 31)),
        ((500_000, 500_001, 500_002), (500_001, 500_002)),
    ],
)
def test_a_time_far_ahead_is_believed_when_the_next_line_has_it_too(
    times: tuple[int, ...], taken: tuple[int, ...]
) -> None:
    data = _at(*times)
    _, cleaned = clean(data)
    assert tuple(cleaned.events["time"].to_pylist()) == taken
    assert len(cleaned.rejects) == len(times) - len(taken)
    for cut in range(0, len(data), 7):
        same_as_slow(data, cuts=(cut,), stored=True)


def test_a_truncated_last_line_is_set_aside() -> None:
    _, cleaned = clean(GOOD + GOOD[:20])
    assert cleaned.rejects == [Reject(2, "last line is cut short", GOOD[:20].decode())]


def test_a_second_report_of_a_vehicle_in_a_second_is_set_aside_but_a_request_is_not() -> None:
    rows = [report(5, 1), balance(5, 1, 1), balance(5, 1, 2), report(5, 2), report(5, 1, speed=9), report(35, 1)]
    _, cleaned = clean(text_of(rows))
    assert [reject[:2] for reject in cleaned.rejects] == [(5, "second report of the vehicle in this second")]
    assert cleaned.events.num_rows == 5


def test_time_may_go_back_within_the_disorder_only() -> None:
    rows = [report(5, 1), report(9, 2), report(6, 3), report(5, 4), report(9, 5)]
    _, strict = clean(text_of(rows))
    assert strict.events["vid"].to_pylist() == [1, 2, 5]
    assert {reject.reason for reject in strict.rejects} == {"time is below that of an earlier line"}
    _, lax = clean(text_of(rows), disorder=3)
    assert lax.events["vid"].to_pylist() == [1, 3, 2, 5]
    assert [reject.line for reject in lax.rejects] == [4]
    _, laxer = clean(text_of(rows), disorder=4)
    assert laxer.events["vid"].to_pylist() == [1, 4, 3, 2, 5]


def test_complete_until_is_what_can_no_longer_change() -> None:
    cleaner = Cleaner(disorder=3)
    assert cleaner.feed(text_of([report(10, 1), report(12, 2)])).events.num_rows == 0
    assert cleaner.complete_until == 9
    assert cleaner.feed(text_of([report(15, 3)])).events["time"].to_pylist() == [10, 12]
    assert cleaner.complete_until == 12
    assert cleaner.finish().events["time"].to_pylist() == [15]


def test_a_cleaner_can_be_pickled_in_the_middle() -> None:
    data = text_of(drive_along(30, 300)) + b"junk\n"
    cleaner = Cleaner(disorder=5)
    first = cleaner.feed(data[:500])
    again: Cleaner = pickle.loads(pickle.dumps(cleaner))
    assert again.feed(data[500:]).events.equals(cleaner.feed(data[500:]).events)
    assert again.finish().events.equals(cleaner.finish().events)
    assert first.events.num_rows


@pytest.mark.thorough
def test_a_long_run_of_one_vehicle_keeps_the_state_small() -> None:
    cleaner, events = Cleaner(), 0
    for start in range(0, 200_000, 50_000):
        rows = [report(time, vid) for time in range(start, start + 50_000, 50) for vid in range(50)]
        events += cleaner.feed(text_of(rows)).events.num_rows
    assert events == 200_000
    assert len(cleaner.state()) < 10_000


numbers = st.one_of(st.integers(-2, 101), st.integers(0, 3), st.integers(-(10**20), 10**20), st.integers(0, 600_000))
texts = st.one_of(
    numbers.map(str),
    numbers.map(str),
    numbers.map(str),
    st.sampled_from(["", " ", "x", "1.5", "+3", " 4 ", "--1", "é"]),
)
wild_lines = st.lists(texts, min_size=13, max_size=17).map(",".join)
odd_lines = st.sampled_from(["", " \t", "\r", "nonsense", "y" * (MAX_LINE_BYTES + 5), ","])
likely_lines = st.one_of(
    st.builds(
        report,
        st.integers(0, 12),
        st.integers(0, 3),
        st.integers(-1, 100),
        lane=st.integers(0, 5),
        pos=st.integers(0, 9999),
    ),
    st.builds(balance, st.integers(0, 12), st.integers(0, 3), st.integers(-1, 9)),
    st.builds(expenditure, st.integers(0, 12), st.integers(0, 3), st.integers(0, 9), day=st.integers(0, 70)),
    st.builds(travel, st.integers(0, 12), st.integers(0, 3), st.integers(0, 9)),
).map(lambda row: ",".join(map(str, row)))
streams = st.tuples(
    st.lists(st.one_of(likely_lines, likely_lines, likely_lines, wild_lines, odd_lines), max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
).map(lambda parts: (parts[1].join(parts[0]) + parts[1] * parts[2]).encode())


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(streams, st.integers(0, 6), st.lists(st.integers(0, 10_000), max_size=6).map(tuple), st.booleans())
def test_any_stream_cut_anywhere_is_cleaned_as_line_by_line(
    data: bytes, disorder: int, cuts: tuple[int, ...], stored: bool
) -> None:
    same_as_slow(data, disorder, cuts, stored)


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=4).map(tuple))
def test_any_bytes_are_cleaned_as_line_by_line(data: bytes, cuts: tuple[int, ...]) -> None:
    same_as_slow(data, 0, cuts)
