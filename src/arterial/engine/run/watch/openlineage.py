"""OpenLineage events when a run starts and ends: which sources its outputs come from, column by column.

They are made from the network alone, so nothing that a source or sink was given, such as a password, is in them. A file
gets a line for each event. An http address is called from a thread of its own, and the run does not wait for it.
"""

from __future__ import annotations

import json
import logging
import os
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

from arterial.engine.plan.plan import Plan
from arterial.engine.run.states import FAILED, FINISHED
from arterial.engine.run.watch.columns import Lineage, column_lineage
from arterial.engine.run.watch.log import without_secrets
from arterial.engine.run.watch.watchers import Watcher
from arterial.errors import RunError
from arterial.network.box import Box, Stream
from arterial.network.network import NetworkValue, Port
from arterial.version import __version__

if TYPE_CHECKING:
    from arterial.engine.run.figures.status import Status

PRODUCER = f"urn:arterial:{__version__}"
EVENT_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
NAMESPACE = "arterial"
KEY_VARIABLE = "OPENLINEAGE_API_KEY"
"""The environment variable with the key that an http address asks for."""
PATIENCE = 5.0
"""Seconds for an http address to answer, and for the last event to be sent."""
ATTEMPTS = 3

_FACETS = "https://openlineage.io/spec/facets"
_log = logging.getLogger("arterial")


class LineageWatcher(Watcher):
    """Sends events to a file or an http address."""

    def __init__(self, where: str, plan: Plan, run: str) -> None:
        self._network, self._run = plan.network, run
        self._sender: _File | _Http = _Http(where) if where.startswith(("http://", "https://")) else _File(where)

    def begin(self, status: Status) -> None:
        """The run starts."""
        self._sender.send(event("START", self._network, self._run))

    def become(self, status: Status) -> None:
        """The run has another state; an event says when it is over, and how."""
        if not status.is_active:
            kind = {FINISHED: "COMPLETE", FAILED: "FAIL"}.get(status.state, "ABORT")
            self._sender.send(event(kind, self._network, self._run, status.error))

    def close(self) -> None:
        """Wait a little for what is not sent yet."""
        self._sender.close()


def event(kind: str, network: NetworkValue, run: str, error: str | None = None) -> dict[str, Any]:
    """A RunEvent of OpenLineage; `run` is the run's id, 32 hexadecimal digits."""
    lineages = column_lineage(network)
    run_facets: dict[str, Any] = {
        "processing_engine": _facet("1-1-1", "ProcessingEngineRunFacet", name="arterial", version=__version__)
    }
    if error is not None:
        run_facets["errorMessage"] = _facet(
            "1-0-1", "ErrorMessageRunFacet", message=without_secrets(error), programmingLanguage="PYTHON"
        )
    return {
        "eventType": kind,
        "eventTime": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "producer": PRODUCER,
        "schemaURL": EVENT_SCHEMA,
        "run": {"runId": str(uuid.UUID(hex=run)), "facets": run_facets},
        "job": {
            "namespace": NAMESPACE,
            "name": network.name,
            "facets": {
                "jobType": _facet(
                    "2-0-3", "JobTypeJobFacet", processingType="STREAMING", integration="ARTERIAL", jobType="NETWORK"
                )
            },
        },
        "inputs": [
            _dataset(network, box, network.streams[Port(box.name, box.outputs[0])])
            for box in network.boxes
            if not box.inputs
        ],
        "outputs": [
            _dataset(network, box, next(iter(box.fed_by.values())), lineages[box.name])
            for box in network.boxes
            if box.name in lineages
        ],
    }


def _dataset(network: NetworkValue, box: Box, stream: Stream, lineage: Lineage | None = None) -> dict[str, Any]:
    fields = [{"name": field.name, "type": str(field.type)} for field in stream.schema]
    facets = {"schema": _facet("1-1-1", "SchemaDatasetFacet", fields=fields)}
    if lineage is not None:
        facets["columnLineage"] = _facet("1-2-0", "ColumnLineageDatasetFacet", **_columns(network, lineage))
    return {"namespace": NAMESPACE, "name": f"{network.name}.{box.name}", "facets": facets}


def _columns(network: NetworkValue, lineage: Lineage) -> Mapping[str, Any]:
    def inputs(ways: Mapping[Any, Any], kind: str) -> list[dict[str, Any]]:
        return [
            {
                "namespace": NAMESPACE,
                "name": f"{network.name}.{field.source}",
                "field": field.column,
                "transformations": [
                    {"type": kind, "subtype": way} for way in ([said] if isinstance(said, str) else sorted(said))
                ],
            }
            for field, said in sorted(ways.items())
        ]

    return {
        "fields": {name: {"inputFields": inputs(came, "DIRECT")} for name, came in lineage.columns.items()},
        "dataset": inputs(lineage.chosen_by, "INDIRECT"),
    }


def _facet(edition: str, facet: str, /, **content: Any) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": f"{_FACETS}/{edition}/{facet}.json#/$defs/{facet}", **content}


class _File:
    """A file with a line for each event."""

    def __init__(self, where: str) -> None:
        self._path = Path(where)
        try:
            with self._path.open("a"):
                pass
        except OSError as fault:
            raise RunError(
                f"--lineage {where}: cannot be written: {fault.strerror}. Name a file in a folder that exists, or an "
                "http address."
            ) from None

    def send(self, said: Mapping[str, Any]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(said, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """It is open only while it is written."""


class _Http:
    """An address to which events are posted by a thread."""

    def __init__(self, where: str) -> None:
        self._where, self._waiting = where, Queue[Mapping[str, Any] | None]()
        self._key = os.environ.get(KEY_VARIABLE)
        self._thread = Thread(target=self._work, name="arterial-lineage", daemon=True)
        self._thread.start()

    def send(self, said: Mapping[str, Any]) -> None:
        self._waiting.put(said)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        while True:
            try:
                said = self._waiting.get(timeout=3600)
            except Empty:
                continue
            if said is None:
                return
            self._post(said)

    def _post(self, said: Mapping[str, Any]) -> None:
        head = {"Content-Type": "application/json"}
        if self._key:
            head["Authorization"] = f"Bearer {self._key}"
        for attempt in range(1, ATTEMPTS + 1):
            try:
                request = urllib.request.Request(self._where, json.dumps(said).encode(), head, method="POST")
                with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                    reply.read(1024)
                return
            except (OSError, ValueError, HTTPException) as fault:
                refused = isinstance(fault, urllib.error.HTTPError) and fault.code < 500
                if isinstance(fault, urllib.error.HTTPError):
                    fault.close()
                if refused or attempt == ATTEMPTS:
                    _log.warning(
                        "lineage: the event %s could not be sent (%s), and the run goes on",
                        said["eventType"],
                        without_secrets(str(fault)),
                    )
                    return
