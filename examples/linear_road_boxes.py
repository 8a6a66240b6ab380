"""Linear Road from library boxes only: the five queries of the benchmark, without a box or a function of its own.

docs/linear-road/boxes.md walks through its parts; docs/linear-road/semantics.md has the rules.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import arterial as art

REPORT = {
    "time": "int32", "vid": "int64", "speed": "int16", "xway": "int32",
    "lane": "int8", "dir": "int8", "seg": "int16", "pos": "int32",
}  # fmt: skip
REQUEST = {
    "type": "int8", "time": "int32", "vid": "int64", "xway": "int32", "qid": "int64",
    "sinit": "int16", "send": "int16", "dow": "int8", "tod": "int16", "day": "int16",
}  # fmt: skip

ROAD = ("xway", "dir")
SEGMENT = (*ROAD, "seg")
CHAIN = (*ROAD, "vid", "phase")
"""Reports of a vehicle exactly 30 s apart: those at 0, 30, 60 s and those at 15, 45 s are two chains."""


def linear_road(free_cars: int = 50, vids_apart: int = 0, xways_apart: int = 0) -> art.Network:
    """The network. A segment with at most `free_cars` vehicles is free.

    Where a data set stands for several, replica r has all vehicles raised by r times `vids_apart`, and all expressways
    by r times `xways_apart`; the history is that of the original.
    """
    net = art.Network("linear road from boxes")
    reports = net.source("reports", REPORT)
    requests = net.source("requests", REQUEST)
    roads = reports.group_by(*ROAD)

    with net.composed("trips"):
        phases = roads.map("phase", phase="cast(time % 30 as int8)").group_by(*CHAIN, name="by_chain")
        trips = phases.previous("predecessor", last_seg="seg", last_lane="lane", last_pos="pos", within="30 s")
        entering = trips.filter("enters_segment", "last_seg is null or last_seg <> seg")

    with net.composed("segment statistics"):
        per_vehicle = roads.group_by(*SEGMENT, "vid", name="by_segment_and_vehicle")
        means = per_vehicle.tumble("vehicle_means", every="1 minute", speed="avg(speed)")
        minutes = means.group_by(*SEGMENT, name="means_by_segment").tumble(
            "minute_means", every="1 minute", speed="avg(speed)", cars="count(*)"
        )
        lasting = minutes.slide(
            "five_minutes",
            over="5 minutes",
            every="1 minute",
            speed="avg(speed)",
            cars="last(cars)",
            counted="last(time)",
        )
        # A mean that is a whole number must not fall below it by a rounding error.
        known = lasting.map("velocity", lav="cast(floor(speed + 1e-9) as int64)", cars="if(counted = time, cars, 0)")
        priced = known.map(
            "price",
            toll=f"if(lav < 40 and cars > {free_cars}, 2 * (cars - {free_cars}) * (cars - {free_cars}), 0)",
            minute="time // 60 + 1",
        )
        tariff = net.relation("tariff", {**_SEGMENT_KEY, "lav": int, "toll": int, "minute": int}, SEGMENT)
        priced.update_relation("set_tariff", tariff, lav="lav", toll="toll", minute="minute")

    with net.composed("accidents"):
        same = "pos = last_pos and lane = last_lane and lane between 1 and 3"
        stopped = trips.in_a_row("stopped", same, n=3, further=True)
        spot = stopped.map("spot", keep=["time", *ROAD, "lane", "pos", "vid", "phase"])
        at_spot = spot.group_by(*ROAD, "lane", "pos", name="by_spot")
        pairs = at_spot.join("two_stopped", at_spot, within=29, after=0, on="left.vid <> right.vid", time="since")
        placed = pairs.map("place", seg="cast(pos // 5280 as int16)", until="right_time + 29", time_column="since")
        lasts = placed.group_by(*SEGMENT, name="accidents_by_segment").slide(
            "accident_minutes", over="2 minutes", every="1 minute", until="max(until)"
        )
        current = lasts.filter("still_there", "until > since - 60").group_by(*ROAD, name="accidents_by_road")
        upstream = [
            current.map(f"upstream_{i}", seg=f"cast(if(dir = 0, seg - {i}, seg + {i}) as int16)", ahead=str(i))
            for i in range(5)
        ]
        reach = upstream[0].union("in_reach", *upstream[1:]).group_by(*SEGMENT, name="reach_by_segment")
        nearest = reach.tumble("nearest_accident", every="1 minute", ahead="min(ahead)")
        accidents = net.relation("accidents", {**_SEGMENT_KEY, "ahead": int, "closed": int}, SEGMENT)
        nearest.update_relation("set_accidents", accidents, ahead="ahead", closed="since // 60 + 1")

    with net.composed("tolls"):
        here = entering.group_by(*SEGMENT, name="entering_by_segment")
        quoted = here.read_relation("read_tariff", tariff, before=True)
        warned = quoted.read_relation("read_accidents", accidents, before=True)
        facts = warned.map(
            "facts", known="coalesce(minute = time // 60, false)", accident="coalesce(closed = time // 60, false)"
        )
        quotes = facts.map(
            "quote",
            lav="if(known, lav, -1)",
            toll="if(known and not accident and lane <> 4, toll, 0)",
            keep=["time", "vid", "phase", "lane", *SEGMENT, "last_seg", "accident", "ahead"],
        )

    with net.composed("notices and alerts"):
        driving = quotes.filter("not_leaving", "lane <> 4")
        driving.map("notice", keep=["vid", "time", "lav", "toll", *SEGMENT]).output("notices", art.Delay(5, 10))
        alerted = driving.filter("accident_ahead", "accident")
        roads_ahead = alerted.group_by(*ROAD, name="alerts_by_road")
        alerts = roads_ahead.map(
            "alert", seg="cast(if(dir = 0, seg + ahead, seg - ahead) as int16)", keep=["time", "vid", *ROAD]
        )
        alerts.output("alerts", art.Delay(5, 10))

    with net.composed("accounts"):
        crossings = quotes.group_by(*CHAIN, name="quotes_by_chain").previous(
            "left_behind", quote="toll", within="3 hours"
        )
        charges = crossings.filter("charged", "last_seg is not null and quote > 0")
        accounts = net.relation("accounts", {"vid": int, "balance": int, "charged": "int32"}, "vid")
        charges.group_by("vid", name="charges_by_vehicle").update_relation(
            "charge", accounts, balance="sum(quote)", charged="last(time)"
        )
        asked = requests.filter("balance_requests", "type = 2").group_by("vid", name="requests_by_vehicle")
        balances = asked.read_relation("read_account", accounts)
        answers = balances.map(
            "balance",
            result_time="if(time - charged <= 60, charged, time)",
            balance="coalesce(balance, 0)",
            keep=["time", "qid", "vid"],
        )
        answers.output("balances", art.Delay(5, 10))

    with net.composed("daily expenditure"):
        spent = net.loaded_relation("tolls", {"vid": int, "day": "int16", "xway": "int32", "tolls": int}, _TOLL_KEY)
        past = requests.filter("expenditure_requests", "type = 3")
        if vids_apart:
            past = past.map(
                "original",
                vid=f"if(vid // {vids_apart} = xway // {xways_apart}, vid % {vids_apart}, -1)",
                xway=f"cast(xway % {xways_apart} as int32)",
            )
        paid = past.group_by(*_TOLL_KEY, name="requests_by_day").read_relation("read_tolls", spent)
        paid.map("expenditure", balance="coalesce(tolls, 0)", keep=["time", "qid", *_TOLL_KEY]).output(
            "expenditures", art.Delay(10, 20)
        )

    with net.composed("travel time"):
        usual = net.loaded_relation("segments", {**_MINUTE_KEY, "seconds": float, "price": float}, tuple(_MINUTE_KEY))
        asked = requests.filter("travel_requests", "type = 4")
        if xways_apart:
            asked = asked.map("original_road", xway=f"cast(xway % {xways_apart} as int32)")
        journeys = asked.map("direction", dir="cast(if(send >= sinit, 0, 1) as int8)").group_by(
            "xway", "dir", name="journeys"
        )
        later = "elapsed + seconds"
        clock = f"cast((tod - 1) * 60 + {later} as int64)"
        ends = journeys.follow(
            "journey",
            usual,
            begin={"seg": "sinit", "weekday": "dow", "minute": "tod", "elapsed": "0.0", "paid": "0.0"},
            each={
                "seg": "cast(seg + if(dir = 0, 1, -1) as int16)",
                "weekday": f"cast((dow - 1 + {clock} // 86400) % 7 + 1 as int8)",
                "minute": f"cast({clock} // 60 % 1440 + 1 as int16)",
                "elapsed": later,
                "paid": "paid + price",
            },
            until="seg = send",
            most=100,
        )
        travels = ends.map(
            "travel",
            travel_time="cast(coalesce(floor(elapsed + 0.5), -1) as int64)",
            toll="if(elapsed is null, -1, cast(floor(paid + 0.5) as int64))",
            keep=["time", "qid", "xway", "dir"],
        )
        travels.output("travels", art.Delay(30, 60))
    return net


def prepare_history(history: Path, out: Path) -> None:
    """The two tables that the network loads, from the folder that `arterial linear-road history` made."""
    out.mkdir(parents=True, exist_ok=True)
    tolls = pl.scan_parquet(history / "tolls.parquet").unique(_TOLL_KEY, keep="last")
    tolls.select("vid", "day", "xway", "tolls").sink_parquet(out / "tolls.parquet")
    usual_traffic(pl.scan_parquet(history / "segments.parquet")).sink_parquet(out / "segments.parquet")


def usual_traffic(segments: pl.LazyFrame, free_cars: int = 50) -> pl.LazyFrame:
    """How long a mile takes and what it costs, by weekday and minute, from the means of ten weeks."""
    lav, cars = pl.col("lav").filter(pl.col("lav") > 0).mean(), pl.col("cnt").mean()
    crowded = (lav < 40) & (cars > free_cars)
    return (
        segments.with_columns(weekday=(pl.col("day") - 1) % 7 + 1)
        .group_by(list(_MINUTE_KEY))
        .agg(seconds=3600 / lav, price=pl.when(crowded).then(2 * (cars - free_cars) ** 2).otherwise(0.0))
    )


_TOLL_KEY = ("vid", "day", "xway")
_MINUTE_KEY = {"xway": "int32", "dir": "int8", "seg": "int16", "weekday": "int8", "minute": "int16"}
_SEGMENT_KEY = {"xway": "int32", "dir": "int8", "seg": "int16"}

net = linear_road()

if __name__ == "__main__":
    prepare_history(Path(sys.argv[1]), Path(sys.argv[2]))
