"""Ids, slots and ranks."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest

from arterial.moving.queries.ids import Id, SlotTable, id_order, parsed_id


def test_numbers_are_ids_only_in_their_plain_form() -> None:
    assert [parsed_id(text) for text in ("0", "-0", "+1", "12", "1.0", "９", "9" * 18, "9" * 19)] == [
        0,
        "-0",
        "+1",
        12,
        "1.0",
        "９",
        int("9" * 18),
        "9" * 19,
    ]


@pytest.mark.parametrize("scale", [1, 1 << 18])
def test_a_table_is_a_dictionary_with_ranks_in_order(scale: int) -> None:
    chance = random.Random(5)
    table, known = SlotTable(), dict[Id, int]()
    for _ in range(300):
        some: list[Id] = [
            chance.randint(-500, 500) * scale if chance.random() < 0.5 else f"o{chance.randint(0, 200)}"
            for _ in range(20)
        ]
        numbers = np.array([one for one in some if isinstance(one, int)], np.int64)
        texts = [one for one in some if isinstance(one, str)]
        slots = [*table.slots_of_numbers(numbers).tolist(), *table.slots_of_texts(texts).tolist()]
        for identity, slot in zip([*numbers.tolist(), *texts], slots, strict=True):
            assert known.setdefault(identity, slot) == slot
        gone = chance.sample(sorted(known, key=id_order), min(len(known), chance.choice([0, 5, 40])))
        table.free([known.pop(identity) for identity in gone])
        assert len(table) == len(known) == len(set(known.values()))
        for identity in gone:
            assert table.find(identity) is None
        for identity, slot in known.items():
            assert table.find(identity) == slot
            assert table.id_of(slot) == identity
        in_order = sorted(known, key=id_order)
        ranks = table.rank[[known[identity] for identity in in_order]]
        assert (np.diff(ranks) > 0).all()


@pytest.mark.parametrize("names", [range(3000), range(3000, 0, -1), [i * 1009 % 3001 for i in range(3001)]])
def test_texts_that_come_one_by_one_rank_in_order(names: Iterable[int]) -> None:
    table = SlotTable()
    texts = [f"bus {name:05}" for name in names]
    slots = {text: table.slot(text) for text in texts}
    assert (np.diff(table.rank[[slots[text] for text in sorted(texts)]]) > 0).all()
