"""Accounts and account balances (VLDB 2004, §3.2.3): what was charged to each vehicle, over every expressway.

The accounts of a shard are one hash table in memory. In the state they are a log of the charges, a chunk a train, and a snapshot in
64 pieces of which each train writes one: a piece is never older than the log, and a train writes little. A train that
finds the table in the memo reads nothing; otherwise the table is built again from the pieces and the log.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba.types import int32, int64

from arterial.linearroad.kernels.compiled import Array, kernel, narrowed, reads, writes
from arterial.linearroad.kernels.hashing import bits_for, home
from arterial.linearroad.kernels.tolls import Charges
from arterial.network.state import State

PIECE_BITS = 6
PIECES = 1 << PIECE_BITS
FRESH_SECONDS = 60  # a last charge older than this is no longer the time of the balance (rule 17)


@dataclass(frozen=True)
class Requests:
    """Requests for a balance, in the order of time."""

    time: Array
    vid: Array
    qid: Array


@dataclass(frozen=True)
class Balances:
    """Answers to them."""

    time: Array
    qid: Array
    result_time: Array
    balance: Array


@dataclass(frozen=True)
class Accounts:
    """An open hash table of accounts; `vid` is -1 where there is none."""

    vid: Array
    balance: Array
    charged: Array  # time of the last charge
    used: int
    trains: int  # that brought charges

    @classmethod
    def empty(cls, rows: int = 0, trains: int = 0) -> Accounts:
        """A table with room for so many accounts."""
        size = 1 << int(bits_for(rows))
        return cls(np.full(size, -1, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int32), 0, trains)

    @property
    def bits(self) -> int:
        """The size as a power of two."""
        return self.vid.size.bit_length() - 1


def settle(state: State, charges: Charges, requests: Requests) -> Balances:
    """Book the charges and answer the requests, each after all charges of its second."""
    accounts = state.memo.get("accounts")
    if accounts is None:
        accounts = _restore(state)
    accounts = _with_room(accounts, charges.vid.size)
    time, vid, toll = charges.time.astype(np.int32), charges.vid.astype(np.int64), charges.toll.astype(np.int64)
    asked = requests.time.astype(np.int32)
    result_time = np.empty(asked.size, np.int32)
    balance = np.empty(asked.size, np.int64)
    used = accounts.used + book_and_answer(
        time, vid, toll, asked, requests.vid.astype(np.int64), result_time, balance,
        accounts.vid, accounts.balance, accounts.charged,
    )  # fmt: skip
    trains = accounts.trains + (1 if vid.size else 0)
    accounts = Accounts(accounts.vid, accounts.balance, accounts.charged, used, trains)
    if vid.size:
        _save(state, accounts, Charges(vid, time, toll))
    state.memo["accounts"] = accounts
    return Balances(requests.time, requests.qid, result_time, balance)


def _with_room(accounts: Accounts, more: int) -> Accounts:
    """A table that is at most half full after so many new accounts."""
    if 2 * (accounts.used + more) <= accounts.vid.size:
        return accounts
    larger = Accounts.empty(2 * (accounts.used + more), accounts.trains)
    kept = accounts.vid >= 0
    used = put_accounts(
        accounts.vid[kept], accounts.balance[kept], accounts.charged[kept], larger.vid, larger.balance, larger.charged
    )
    return Accounts(larger.vid, larger.balance, larger.charged, used, accounts.trains)


def _save(state: State, accounts: Accounts, charges: Charges) -> None:
    """Write the train's charges to the log, and the snapshot's piece whose turn it is."""
    turn = accounts.trains % PIECES
    number = np.array([accounts.trains], np.int64)
    vid, balance, charged = piece_of(turn, accounts.vid, accounts.balance, accounts.charged)
    state.put(
        "piece", f"{turn:02}", {"train": number, "vid": narrowed(vid), "balance": balance, "charged": charged}
    )  # fmt: skip
    state.put(
        "log",
        f"{turn:02}",
        {"train": number, "vid": narrowed(charges.vid), "time": charges.time, "toll": charges.toll.astype(np.int32)},
    )


def _restore(state: State) -> Accounts:
    """The table again, from every piece and the charges that came after it."""
    pieces = [(int(key), state.get("piece", key)) for key in state.keys("piece")]
    logs = [chunk for key in state.keys("log") if (chunk := state.get("log", key)) is not None]
    logs.sort(key=lambda chunk: int(chunk["train"][0]))
    written = np.zeros(PIECES, np.int64)
    accounts = Accounts.empty(sum(c["vid"].size for _, c in pieces if c is not None))
    used = 0
    for turn, chunk in pieces:
        if chunk is not None:
            written[turn] = int(chunk["train"][0])
            used += put_accounts(
                np.asarray(chunk["vid"]).astype(np.int64), np.asarray(chunk["balance"]), np.asarray(chunk["charged"]),
                accounts.vid, accounts.balance, accounts.charged,
            )  # fmt: skip
    trains = max((int(chunk["train"][0]) for chunk in logs), default=0)
    accounts = Accounts(accounts.vid, accounts.balance, accounts.charged, used, trains)
    for chunk in logs:
        vid = np.asarray(chunk["vid"]).astype(np.int64)
        later = written[pieces_of(vid)] < int(chunk["train"][0])
        vid, time = vid[later], np.asarray(chunk["time"])[later]
        toll = np.asarray(chunk["toll"])[later].astype(np.int64)
        accounts = _with_room(accounts, vid.size)
        none, nothing = np.empty(0, np.int32), np.empty(0, np.int64)
        used = accounts.used + book_and_answer(
            time, vid, toll, none, nothing, none, nothing, accounts.vid, accounts.balance, accounts.charged
        )
        accounts = Accounts(accounts.vid, accounts.balance, accounts.charged, used, trains)
    return accounts


@kernel(
    reads(int32),
    reads(int64),
    reads(int64),
    reads(int32),
    reads(int64),
    writes(int32),
    writes(int64),
    writes(int64),
    writes(int64),
    writes(int32),
    gives=int64,
)
def book_and_answer(
    time: Array,
    vid: Array,
    toll: Array,
    asked: Array,
    asking: Array,
    result_time: Array,
    answer: Array,
    keys: Array,
    balance: Array,
    charged: Array,
) -> int:
    """Book charges and answer requests in the order of time, charges of a second first; the number of new accounts."""
    mask = keys.size - 1
    bits = 0
    while (1 << bits) < keys.size:
        bits += 1
    new = 0
    row = 0
    for request in range(asked.size + 1):
        until = asked[request] if request < asked.size else np.int32(2147483647)
        while row < vid.size and time[row] <= until:
            slot = home(vid[row], bits)
            while keys[slot] != -1 and keys[slot] != vid[row]:
                slot = (slot + 1) & mask
            if keys[slot] == -1:
                keys[slot] = vid[row]
                new += 1
            balance[slot] += toll[row]
            charged[slot] = time[row]
            row += 1
        if request < asked.size:
            slot = home(asking[request], bits)
            while keys[slot] != -1 and keys[slot] != asking[request]:
                slot = (slot + 1) & mask
            answer[request] = 0
            result_time[request] = until
            if keys[slot] != -1:
                answer[request] = balance[slot]
                if charged[slot] >= until - FRESH_SECONDS:
                    result_time[request] = charged[slot]
    return new


@kernel(
    reads(int64),
    reads(int64),
    reads(int32),
    writes(int64),
    writes(int64),
    writes(int32),
    gives=int64,
)
def put_accounts(vid: Array, amount: Array, time: Array, keys: Array, balance: Array, charged: Array) -> int:
    """Put accounts that are not in the table into it; how many."""
    mask = keys.size - 1
    bits = 0
    while (1 << bits) < keys.size:
        bits += 1
    for row in range(vid.size):
        slot = home(vid[row], bits)
        while keys[slot] != -1:
            slot = (slot + 1) & mask
        keys[slot], balance[slot], charged[slot] = vid[row], amount[row], time[row]
    return vid.size


@kernel(
    int64,
    reads(int64),
    reads(int64),
    reads(int32),
    gives=several(writes(int64), writes(int64), writes(int32)),
)
def piece_of(piece: int, keys: Array, balance: Array, charged: Array) -> tuple[Array, Array, Array]:
    """The accounts of one piece: those whose home is in that part of the table, wherever probing put them."""
    mask = keys.size - 1
    first = (piece * keys.size) >> PIECE_BITS
    end = ((piece + 1) * keys.size) >> PIECE_BITS
    rows = np.empty(keys.size, np.int64) if keys.size < PIECES else np.empty(4 * (end - first) + 64, np.int64)
    found = 0
    at = first
    while at - first < keys.size and (at < end or keys[at & mask] != -1 or keys.size < PIECES):
        slot = at & mask
        if keys[slot] != -1 and home(keys[slot], PIECE_BITS) == piece:
            if found == rows.size:
                rows = np.concatenate((rows, np.empty(rows.size, np.int64)))
            rows[found] = slot
            found += 1
        at += 1
    rows = rows[:found]
    return keys[rows], balance[rows], charged[rows]


@kernel(reads(int64), gives=writes(int64))
def pieces_of(vid: Array) -> Array:
    """The piece that each vehicle's account belongs to."""
    pieces = np.empty(vid.size, np.int64)
    for row in range(vid.size):
        pieces[row] = home(vid[row], PIECE_BITS)
    return pieces
