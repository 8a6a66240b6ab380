"""Ids of objects and queries: any text, each given a slot (a row of the engine's columns) and a rank (its place in
order).

Ids that are written as whole numbers ("7", "-12", not "007") compare as numbers and come first; all others compare as
text, by code point, after them. "The smaller id" and the order of the updates follow this order.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.network.keys.hash_kernels import place_in

Id = int | str

SMALL = 1 << 22
"""Numbers from 0 to below this are found by address, without hashing."""
TEXT_RANK = 1 << 62
"""Texts rank from here on; numbers beyond ± this are texts to the table, so that all ranks fit 64 bits."""
_RANKS_OF_TEXTS = 1 << 62
_FEW = 8
"""Texts are ranked one by one if those known are this many times as many."""
_UNUSED, _DROPPED = -1, -2


def parsed_id(text: str) -> Id:
    """The id that a text means: a number if it is one in its plain form.

    >>> parsed_id("7"), parsed_id("007"), parsed_id("-3"), parsed_id("bus 7")
    (7, '007', -3, 'bus 7')
    """
    digits = text[1:] if text.startswith("-") else text
    if digits.isascii() and digits.isdigit() and len(digits) < 19 and str(number := int(text)) == text:
        return number
    return text


def id_order(identity: Id) -> tuple[int, int, str]:
    """The sort key of an id: numbers as numbers, then texts as texts.

    >>> sorted(["b", 10, "a", 9], key=id_order)
    [9, 10, 'a', 'b']
    """
    return (0, identity, "") if isinstance(identity, int) else (1, 0, identity)


class SlotTable:
    """Ids to slots and back; slots are small numbers that are used again when freed."""

    def __init__(self) -> None:
        self._after = np.zeros(16, np.int32)
        """One more than the slot of each small number, 0 for none; as long as the largest of them needs."""
        self._keys = np.zeros(16, np.int64)
        self._slots = np.full(16, _UNUSED, np.int32)
        self._filled = 0
        self._texts: dict[str, int] = {}
        self._text_order: list[str] = []
        self._free: list[int] = []
        self.used = 0
        """All slots in use are below this."""
        self.rank = np.zeros(16, np.int64)
        self.text_of: dict[int, str] = {}

    def __len__(self) -> int:
        return self.used - len(self._free)

    def slots_of_numbers(self, numbers: Array) -> Array:
        """The slot of every number, a new one for a number not seen before."""
        found = np.empty(len(numbers), np.int32)
        missing = _look_up(self._after, self._keys, self._slots, numbers, found)
        if missing:
            new = np.unique(numbers[found == _UNUSED])
            slots = self._take(len(new))
            self.rank[slots] = new
            self._insert(new, slots)
            _look_up(self._after, self._keys, self._slots, numbers, found)
        return found

    def slots_of_texts(self, texts: Sequence[str]) -> Array:
        """The slot of every text, a new one for a text not seen before."""
        known = self._texts
        if new := sorted({text for text in texts if text not in known}):
            slots = self._take(len(new))
            for text, slot in zip(new, slots.tolist(), strict=True):
                known[text] = slot
                self.text_of[slot] = text
            self._order_texts(new)
        return np.fromiter((known[text] for text in texts), np.int32, len(texts))

    def slot(self, identity: Id) -> int:
        """The slot of one id, a new one if it was not seen before."""
        if isinstance(identity, int):
            return int(self.slots_of_numbers(np.array([identity], np.int64))[0])
        return int(self.slots_of_texts([identity])[0])

    def find(self, identity: Id) -> int | None:
        """The slot of one id, or None."""
        if isinstance(identity, str):
            return self._texts.get(identity)
        found = int(self.find_numbers(np.array([identity], np.int64))[0])
        return None if found == _UNUSED else found

    def find_numbers(self, numbers: Array) -> Array:
        """The slot of every number, or -1."""
        found = np.empty(len(numbers), np.int32)
        _look_up(self._after, self._keys, self._slots, numbers, found)
        return found

    def find_texts(self, texts: Sequence[str]) -> Array:
        """The slot of every text, or -1."""
        return np.fromiter((self._texts.get(text, _UNUSED) for text in texts), np.int32, len(texts))

    def id_of(self, slot: int) -> Id:
        """The id in a slot."""
        text = self.text_of.get(slot)
        return int(self.rank[slot]) if text is None else text

    def ids_of(self, slots: Array) -> list[Id]:
        """The ids that slots stand for."""
        if not self.text_of:
            return list(self.rank[slots].tolist())
        return [self.id_of(slot) for slot in slots.tolist()]

    def free(self, slots: Iterable[int]) -> None:
        """Forget ids; their slots may be given to others."""
        freed = sorted(slots)
        numbers = [slot for slot in freed if slot not in self.text_of]
        if numbers:
            _remove(self._after, self._keys, self._slots, self.rank[np.array(numbers)])
        texts = {self.text_of.pop(slot) for slot in freed if slot in self.text_of}
        if texts:
            for text in texts:
                del self._texts[text]
            self._text_order = [text for text in self._text_order if text not in texts]
        self._free += reversed(freed)

    def _take(self, count: int) -> Array:
        again = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = range(self.used, self.used + count - len(again))
        self.used += len(fresh)
        if self.used > len(self.rank):
            self.rank = np.concatenate([self.rank, np.zeros(max(self.used, 2 * len(self.rank)), np.int64)])
        return np.array([*again, *fresh], np.int32)

    def _insert(self, numbers: Array, slots: Array) -> None:
        small = numbers[(numbers >= 0) & (numbers < SMALL)]
        if len(small) and (largest := int(small.max())) >= len(self._after):
            longer = np.zeros(1 << largest.bit_length(), np.int32)
            longer[: len(self._after)] = self._after
            self._after = longer
        hashed = len(numbers) - len(small)
        self._reserve(hashed)
        _insert(self._after, self._keys, self._slots, numbers, slots)
        self._filled += hashed

    def _reserve(self, more: int) -> None:
        if 2 * (self._filled + more) <= len(self._keys):
            return
        in_use = self._slots >= 0
        keys, slots = self._keys[in_use], self._slots[in_use]
        size = 16
        while size < 4 * (len(keys) + more):
            size *= 2
        self._keys, self._slots = np.zeros(size, np.int64), np.full(size, _UNUSED, np.int32)
        _insert(self._after[:0], self._keys, self._slots, keys, slots)
        self._filled = len(keys)

    def _order_texts(self, new: list[str]) -> None:
        """Rank new texts, which are in order. Ranks have gaps, so that few texts among many take one in a gap."""
        order = self._text_order
        if len(new) * _FEW > len(order) or not all(self._ranked_in_a_gap(text) for text in new):
            self._text_order = sorted({*order, *new})
            slots = np.fromiter((self._texts[text] for text in self._text_order), np.int64, len(self._text_order))
            gap = _RANKS_OF_TEXTS // (len(slots) + 1)
            self.rank[slots] = TEXT_RANK + gap * np.arange(1, len(slots) + 1)

    def _ranked_in_a_gap(self, text: str) -> bool:
        """Whether there was a gap for it."""
        order, rank = self._text_order, self.rank
        at = bisect.bisect(order, text)
        below = int(rank[self._texts[order[at - 1]]]) if at else TEXT_RANK
        above = int(rank[self._texts[order[at]]]) if at < len(order) else TEXT_RANK + _RANKS_OF_TEXTS - 1
        between = (below + above) // 2
        if between == below:
            return False
        rank[self._texts[text]] = between
        order.insert(at, text)
        return True


@njit(cache=True)
def _look_up(after: Array, keys: Array, slots: Array, wanted: Array, found: Array) -> int:
    missing = 0
    for i in range(len(wanted)):
        key = wanted[i]
        if 0 <= key < len(after):
            found[i] = after[key] - 1
        else:
            place = place_in(key, len(keys))
            while slots[place] != _UNUSED and (slots[place] == _DROPPED or keys[place] != key):
                place = (place + 1) & (len(keys) - 1)
            found[i] = slots[place]
        missing += found[i] == _UNUSED
    return missing


@njit(cache=True)
def _insert(after: Array, keys: Array, slots: Array, new: Array, new_slots: Array) -> None:
    for i in range(len(new)):
        if 0 <= new[i] < len(after):
            after[new[i]] = new_slots[i] + 1
        else:
            place = place_in(new[i], len(keys))
            while slots[place] != _UNUSED:
                place = (place + 1) & (len(keys) - 1)
            keys[place] = new[i]
            slots[place] = new_slots[i]


@njit(cache=True)
def _remove(after: Array, keys: Array, slots: Array, gone: Array) -> None:
    for i in range(len(gone)):
        if 0 <= gone[i] < len(after):
            after[gone[i]] = 0
        else:
            place = place_in(gone[i], len(keys))
            while slots[place] == _DROPPED or keys[place] != gone[i]:
                place = (place + 1) & (len(keys) - 1)
            slots[place] = _DROPPED
