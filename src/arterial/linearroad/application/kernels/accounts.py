"""Accounts and account balances (VLDB 2004, §3.2.3): what was charged to each vehicle, over every expressway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base.compiled import column, int32, int64, kernel, reads, writes
from arterial.linearroad.application.kernels.base.table import Table
from arterial.linearroad.application.kernels.tolls import Charges, Notices
from arterial.network.state import State

ACCURATE_SECONDS = 60  # a last charge older than this is no longer the time of the balance (rule 17)

BalanceAt = Literal["last_charge", "request", "last_notice"]
"""The moment of the balance in an answer: `Profile.balance_result_time`, or what the dialect `original` wants."""

COLUMNS: dict[str, type[np.generic]] = {"balance": np.int64, "charged": np.int32}
NOTICE_COLUMNS: dict[str, type[np.generic]] = {"noticed": np.int32, "balance_noticed": np.int64}


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


def settle(
    state: State, charges: Charges, requests: Requests, at: BalanceAt = "last_charge", notices: Notices | None = None
) -> Balances:
    """Book the charges and answer the requests, each after all charges of its second.

    State: a table of accounts. Notices are needed, and remembered, only for balances at the last notice.
    """
    remember = at == "last_notice" and notices is not None
    table = Table.open(state, COLUMNS | NOTICE_COLUMNS if at == "last_notice" else COLUMNS)
    charged = column(charges.vid, np.int64)
    noticed = column(notices.vid, np.int64) if remember and notices is not None else np.empty(0, np.int64)
    changed = table.insert(np.concatenate([charged, noticed]))
    asked = column(requests.time, np.int32)
    asking = table.find(column(requests.vid, np.int64))
    balance, result_time = np.zeros(asked.size, np.int64), asked.copy()
    columns = table.columns
    if remember and notices is not None:
        book_and_answer_at_notice(
            column(charges.time, np.int32),
            changed[: charged.size],
            column(charges.toll, np.int64),
            column(notices.time, np.int32),
            changed[charged.size :],
            asked,
            asking,
            result_time,
            balance,
            columns["balance"],
            columns["noticed"],
            columns["balance_noticed"],
        )
    else:
        book_and_answer(
            column(charges.time, np.int32),
            changed,
            column(charges.toll, np.int64),
            asked,
            asking,
            ACCURATE_SECONDS if at == "last_charge" else -1,
            result_time,
            balance,
            columns["balance"],
            columns["charged"],
        )
    table.save(state, changed)
    return Balances(requests.time, requests.qid, result_time, balance)


@kernel(
    reads(int32),
    reads(int64),
    reads(int64),
    reads(int32),
    reads(int64),
    int64,
    writes(int32),
    writes(int64),
    writes(int64),
    writes(int32),
)
def book_and_answer(
    time: Array,
    account: Array,
    toll: Array,
    asked: Array,
    asking: Array,
    accurate: int,
    result_time: Array,
    answer: Array,
    balance: Array,
    charged: Array,
) -> None:
    """Book charges and answer requests in the order of time, charges of a second first; an account of -1 is unknown.

    An answer is of the last charge unless that is more than `accurate` seconds old; `charged` is one more than its
    time, 0 if there was none.
    """
    row = 0
    for request in range(asked.size + 1):
        while row < time.size and (request == asked.size or time[row] <= asked[request]):
            balance[account[row]] += toll[row]
            charged[account[row]] = time[row] + 1
            row += 1
        if request < asked.size and asking[request] >= 0:
            answer[request] = balance[asking[request]]
            last = charged[asking[request]] - 1
            if last >= 0 and asked[request] - last <= accurate:
                result_time[request] = last


@kernel(
    reads(int32),
    reads(int64),
    reads(int64),
    reads(int32),
    reads(int64),
    reads(int32),
    reads(int64),
    writes(int32),
    writes(int64),
    writes(int64),
    writes(int32),
    writes(int64),
)
def book_and_answer_at_notice(
    time: Array,
    account: Array,
    toll: Array,
    notice_time: Array,
    notice_account: Array,
    asked: Array,
    asking: Array,
    result_time: Array,
    answer: Array,
    balance: Array,
    noticed: Array,
    balance_noticed: Array,
) -> None:
    """The same, but an answer is of the last notice, whose time `noticed` has in the same way."""
    row = 0
    notice = 0
    for request in range(asked.size + 1):
        while notice < notice_time.size and (request == asked.size or notice_time[notice] <= asked[request]):
            while row < time.size and time[row] <= notice_time[notice]:
                balance[account[row]] += toll[row]
                row += 1
            noticed[notice_account[notice]] = notice_time[notice] + 1
            balance_noticed[notice_account[notice]] = balance[notice_account[notice]]
            notice += 1
        if request < asked.size and asking[request] >= 0 and noticed[asking[request]] > 0:
            answer[request] = balance_noticed[asking[request]]
            result_time[request] = noticed[asking[request]] - 1
    while row < time.size:
        balance[account[row]] += toll[row]
        row += 1
