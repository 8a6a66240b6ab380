"""Balances: a stateful step for a shard of vehicles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
from packed import ANSWERS, BLOB, CHARGE, CHARGES, EMIT, REQUEST, Row, frame, lines
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

ACCOUNT = np.dtype([("vid", "i4"), ("balance", "i4"), ("since", "i4")])


class Accounts(StatefulProcessor):
    """Rule 17: a request is answered with all charges through its second, which are in the same micro-batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """One value: the accounts, ordered by vehicle."""
        self.accounts = handle.getValueState("accounts", BLOB)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Answers go on; charges and requests are taken second by second."""
        came = [Row(*row) for part in rows for row in part.itertuples(index=False)]
        made = [row for row in came if row.kind == ANSWERS]
        ours = sorted((row for row in came if row.kind != ANSWERS), key=attrgetter("second"))
        if ours:
            value = self.accounts.get()
            before = accounts = np.empty(0, ACCOUNT) if value is None else np.frombuffer(value[0], ACCOUNT)
            for second, some in groupby(ours, attrgetter("second")):
                now = list(some)
                charges = b"".join(row.payload for row in now if row.kind == CHARGES)
                accounts = charged(accounts, second, np.frombuffer(charges, CHARGE))
                requests = np.frombuffer(b"".join(row.payload for row in now if row.kind != CHARGES), REQUEST)
                if len(requests):
                    made.append(Row(key[0], second, ANSWERS, balances(accounts, second, requests)))
            if accounts is not before:
                self.accounts.update((accounts.tobytes(),))
        yield frame(made)


def charged(accounts: np.ndarray, second: int, charges: np.ndarray) -> np.ndarray:
    """The accounts after the charges of a second."""
    if not len(charges):
        return accounts
    vids, number = np.unique(charges["vid"], return_inverse=True)
    new = np.zeros(len(vids), ACCOUNT)
    new["vid"] = vids
    missing = new[~np.isin(vids, accounts["vid"])]
    accounts = np.insert(accounts, np.searchsorted(accounts["vid"], missing["vid"]), missing)
    at = np.searchsorted(accounts["vid"], vids)
    accounts["balance"][at] += np.bincount(number, charges["amount"]).astype(np.int32)
    accounts["since"][at] = second
    return accounts


def balances(accounts: np.ndarray, second: int, requests: np.ndarray) -> bytes:
    """What vehicles owe, and since when if that is at most a minute."""
    balance, since = np.zeros(len(requests), np.int32), np.full(len(requests), second, np.int32)
    if len(accounts):
        at = np.minimum(np.searchsorted(accounts["vid"], requests["vid"]), len(accounts) - 1)
        own = accounts[at]
        known = own["vid"] == requests["vid"]
        balance = np.where(known, own["balance"], 0)
        since = np.where(known & (second - own["since"] <= 60), own["since"], second)
    return lines(2, second, EMIT, since, requests["qid"], balance)
