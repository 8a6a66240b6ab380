"""Why a vehicle was answered as it was, as a page that one can send to a driver who complains."""

from __future__ import annotations

from pathlib import Path

from arterial.linearroad.semantics.profiles import PROFILES, Profile
from arterial.linearroad.why.words import Answer, Explained, clock
from arterial.report.page import Page, Tile

_TILES = {
    "lav": ("mean speed", "mph, in the five minutes before (LAV)"),
    "cars": ("vehicles", "in the segment in the minute before"),
    "balance": ("balance", "all that was charged"),
    "result_time": ("true at second", "since the start"),
}


def page_of(said: Explained) -> Page:
    """The page: each answer with its figures, the rules that gave it, and what they looked at."""
    page = Page(
        f"Why: vehicle {said.vid}, {clock(said.time)} after the start",
        f"second {said.time:,} of the data set {Path(said.data).name}, by the rules of the profile {said.profile}",
    )
    for answer in said.answers:
        page.verdict(f"{answer.kind.capitalize()}: {answer.says}", detail=_in_a_sentence(answer))
        if tiles := _tiles(answer):
            page.tiles(tiles)
        page.section("How it came to that", _how(answer, PROFILES[said.profile]))
        page.table(["rule", "what it says here"], [[one.rule, one.text] for one in answer.reasons])
        if answer.figures:
            page.section("What the rules looked at")
        for table in answer.figures:
            page.table(table.heads, [_cells(row) for row in table.rows], caption=table.title)
    page.text(
        "The rules have the numbers of the page on Linear Road's semantics. A minute is numbered from 1, a segment is "
        "one mile, seconds count from the start. All figures are the validator's, computed from the reports alone."
    )
    return page


def _in_a_sentence(answer: Answer) -> str:
    """The rule that decided."""
    deciding = {"toll notice": "6", "accident alert": "9–12", "no toll notice": "7", "account balance": "17"}
    return next((one.text for one in answer.reasons if one.rule == deciding.get(answer.kind)), "")


def _how(answer: Answer, profile: Profile) -> str:
    """What the rules are about, for a reader who does not know them."""
    if answer.kind == "toll notice":
        dense = f" and there were more than {profile.toll_free_cars} vehicles" if profile.toll_needs_more_cars else ""
        return (
            "A vehicle that enters a segment is quoted a toll. There is one if traffic was slow (a mean speed "
            f"below {profile.toll_lav_below} mph){dense}, and no accident is near. What was quoted is charged when the "
            "vehicle reports from the next segment."
        )
    if answer.kind == "accident alert":
        return (
            "Two vehicles that report the same place four times in a row are an accident. Whoever is upstream and near "
            "enough is warned."
        )
    if answer.kind == "account balance":
        return "A balance is the sum of the tolls that were charged, on all expressways."
    return ""


def _tiles(answer: Answer) -> list[Tile]:
    values = answer.values
    found = []
    if answer.kind == "toll notice":
        charged = values["charged"]
        remark = f"charged at second {charged:,}" if charged >= 0 else "not charged"
        found.append(Tile("toll", f"{values['toll']:,}", remark if values["toll"] else "nothing to charge"))
    return found + [Tile(name, f"{values[key]:,}", remark) for key, (name, remark) in _TILES.items() if key in values]


def _cells(row: tuple[object, ...]) -> list[object]:
    return [f"{value:.2f}" if isinstance(value, float) else value for value in row]
