"""Accounts: what was charged to whom, when and where (rules 16, 17; §3.2.3, table 5)."""

from __future__ import annotations

from dataclasses import dataclass

ACCURATE_SECONDS = 60


@dataclass(frozen=True)
class Charge:
    """An amount charged to a vehicle; a credit is below 0."""

    time: int
    vid: int
    xway: int
    amount: int


class Accounts:
    """Every charge of every vehicle, and the time of its last toll notice."""

    def __init__(self) -> None:
        self._charges: dict[int, list[Charge]] = {}
        self._noticed: dict[int, int] = {}

    def charge(self, charge: Charge) -> None:
        """Rule 16; a crossing with toll 0 is no charge."""
        if charge.amount != 0:
            self._charges.setdefault(charge.vid, []).append(charge)

    def notice(self, vid: int, time: int) -> None:
        """Remember that a vehicle was sent a toll notice."""
        self._noticed[vid] = time

    def balance(self, vid: int, time: int) -> int:
        """The balance of a vehicle at a time, that second's charges included."""
        return sum(charge.amount for charge in self._charges.get(vid, []) if charge.time <= time)

    def today(self, vid: int, xway: int) -> int:
        """What was charged so far on one expressway."""
        return sum(charge.amount for charge in self._charges.get(vid, []) if charge.xway == xway)

    def result_time(self, vid: int, time: int) -> int:
        """Rule 17: the time of the last charge, or that of the request if there is none or it is older than 60 s."""
        times = [charge.time for charge in self._charges.get(vid, [])]
        return times[-1] if times and time - times[-1] <= ACCURATE_SECONDS else time

    def last_notice(self, vid: int, time: int) -> int:
        """Dialect `original`: the time of the last toll notice, or that of the request if there was none."""
        return self._noticed.get(vid, time)
