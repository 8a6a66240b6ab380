"""Live input from a topic of Kafka: lines of the paper's flat file, a message each.

The source for any network reads the topic, with the progress of each partition, its offsets and what it sets aside in
`kafka` beside the spool. Its steps are cleaned and spooled by whole seconds like all live input.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from arterial.connectors.kafka.source import KafkaSource
from arterial.connectors.source import Ask, Part, Progress, Span
from arterial.errors import DataError
from arterial.linearroad.application.live.input import CHECK_SECONDS, SpooledInput
from arterial.linearroad.application.live.spooler import Spooler
from arterial.linearroad.data.event_files import writing
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.formats.line_writer import event_lines
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END
from arterial.storage.place import put_in_place

SCHEME = "kafka:"
SCHEMA = Schema.of(dict.fromkeys(EVENT_SCHEMA.names, "int64"))
STEP_EVENTS = 500_000
TOPIC_FOLDER = "kafka"
"""In the run's folder; it is there as soon as the topic is read."""


class TopicInput(SpooledInput):
    """The lines of a topic; they end as those of other networks do, or at `until`.

    With the position in the topic goes the state of the spooler, for the events of the seconds that are not complete
    yet; so after a crash each message is still taken exactly once.
    """

    def __init__(self, uri: str, *, work: Path, **where: Any) -> None:
        source = KafkaSource.from_text(uri)
        if source.format not in ("json", "csv") or source.columns:
            raise DataError(
                "--data kafka://…: lines of Linear Road are CSV without names; leave out format and columns"
            )
        super().__init__(source.cluster.place, work=work, **where)
        self.notes = []
        self._source = replace(source, format="csv").allow(self.disorder, signed=False)
        self._state = self.spool.folder / "state"
        self._folder = (work / TOPIC_FOLDER).absolute()

    def _receive(self) -> None:
        state, at = None, self._source.begin()
        if self._state.exists():
            kept, _, state = self._state.read_bytes().partition(b"\n")
            at = Progress(**json.loads(kept))
        spooler = self._spooler(state)
        source = self._source.bind("events", SCHEMA, "time", self._folder)
        source.start()
        try:
            while not self._stopped.is_set() and not spooler.done:
                after = source.plan(at, Ask(time.time(), STEP_EVENTS))
                if after != at:
                    self._take(spooler, source, Span(at, after))
                    at = after
                else:
                    self._stopped.wait(CHECK_SECONDS)
                    spooler.check_silence()
                self._wait_for_room()
                self.spool.trim()
        finally:
            source.close(ended=at.through == END)
            self.notes += source.notices

    def _take(self, spooler: Spooler, source: KafkaSource, span: Span) -> None:
        for train in source.read_trains(span, Part(0, 1)):
            for tuples in (train.tuples, train.late):
                if tuples is not None and tuples.height:
                    spooler.feed(b"".join(event_lines(tuples.to_arrow())))
        if span.after.through == END:
            spooler.finish()
        elif span.after.through > BEGIN:
            spooler.complete(span.after.through + 1)
        with writing(self._state):
            put_in_place(self._state, json.dumps(asdict(span.after)).encode() + b"\n" + spooler.state())
