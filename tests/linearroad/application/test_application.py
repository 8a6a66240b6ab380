"""The stream gives the answers of the interpreter, on every generated city, however it is cut and sharded."""

from __future__ import annotations

import random
from dataclasses import astuple

import pytest

from arterial.linearroad.reference import answer
from tests.linearroad.application.stream import stream_answers
from tests.linearroad.cities import generate, small

CITIES = 60


@pytest.mark.parametrize("name", ["spec", "walmart", "thesis2003"])
@pytest.mark.parametrize("balance_at", ["request", "last_notice"])
def test_stream_and_interpreter_agree(name: str, balance_at: str) -> None:
    for seed in range(CITIES):
        city = generate(seed)
        right = answer(city.table(), (), (), small(name), balance_at=balance_at)  # type: ignore[arg-type]
        rng = random.Random(seed)
        given = stream_answers(city.table(), small(name), shards=rng.choice((1, 2, 3)), cuts=rng, balance_at=balance_at)
        for told, wanted in zip(astuple(given), astuple(right), strict=True):
            assert sorted(told) == sorted(wanted), f"city {seed}"
