"""Balances, keyed by vehicle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import KeyedCoProcessFunction, RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from road import EMIT

NEVER = -1_000_000


class Accounts(KeyedCoProcessFunction):
    """Rule 17: a request waits for the watermark of its second, when all charges up to then are there."""

    def __init__(self, opened: Any) -> None:
        self.opened = opened

    def open(self, runtime_context: RuntimeContext) -> None:
        """State: the balance and the second of the last charge; charges and requests that may be later."""
        pickled = Types.PICKLED_BYTE_ARRAY()
        self.account = runtime_context.get_state(ValueStateDescriptor("account", pickled))
        self.later = runtime_context.get_list_state(ListStateDescriptor("later", pickled))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", pickled))
        self.opened("accounts", runtime_context)

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        """A charge."""
        self.later.add((value[1], value[2]))

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        """A request: its second and its id. Those of made-up vehicles are for warm-up."""
        if value[2] < 0:
            return
        self.waiting.add((value[1], value[9]))
        ctx.timer_service().register_event_time_timer(value[1] * 1000)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[str]:
        """All charges through this second are there."""
        second = timestamp // 1000
        balance, charged = self.account.value() or (0, NEVER)
        later, waiting = list(self.later.get() or ()), list(self.waiting.get() or ())
        for time, amount in later:
            if time <= second:
                balance, charged = balance + amount, max(charged, time)
        self.later.update([one for one in later if one[0] > second])
        self.account.update((balance, charged))
        for time, qid in waiting:
            if time <= second:
                since = charged if time - charged <= 60 else time
                yield f"2,{time},{EMIT},{since},{qid},{balance}\n"
        self.waiting.update([one for one in waiting if one[0] > second])
