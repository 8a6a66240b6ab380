"""The addresses of the studio: what a page can ask, as an application that `server.py` serves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from arterial.causes.recorded import why_in
from arterial.causes.why import SeveralRowsError
from arterial.drawing.as_python import as_python
from arterial.engine.plan.description import NetworkFacts
from arterial.engine.run.control.settlement import count_late, count_waiting
from arterial.engine.run.versions.optimizer import in_words, read_log
from arterial.engine.run.versions.requests import REPLACE, SETTLE, Answer, ask
from arterial.engine.steering.control import read_control
from arterial.errors import ArterialError
from arterial.figures.step import as_json
from arterial.network.expression.parser import FUNCTIONS
from arterial.network.serial import to_json
from arterial.studio import commands, draft, samples
from arterial.studio.channels import CHANNELS, Asked
from arterial.studio.frames import pack
from arterial.studio.guard import Guard
from arterial.studio.subject import Run, Subject
from arterial.studio.vehicle import why_of_vehicle
from arterial.version import __version__

PAGE = Path(__file__).parent / "page"
SEND_SECONDS = 20.0
"""A page that takes no frame for so long is let go."""
MOST_CHANNELS = 32
WHY_SECONDS = 10.0
"""How long tuples are left out, one after the other, to see whether a row changes."""
MOST_LISTED = 200
"""So many rows are listed at most where a condition fits several."""
ANSWER_SECONDS = 20.0
"""How long a run may take to answer a request."""
PARQUET = "application/vnd.apache.parquet"
_PARQUET: dict[str, Any] = {
    "description": "The file.",
    "content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}},
}
_MISTAKE: dict[int | str, dict[str, Any]] = {400: {"description": "A mistake, with what to do about it."}}
_POSTED: dict[int | str, dict[str, Any]] = {
    **_MISTAKE,
    413: {"description": "The body is too long.", "content": {"text/plain": {}}},
    415: {"description": "The body is not JSON.", "content": {"text/plain": {}}},
}
_NO_RUN: dict[int | str, dict[str, Any]] = {404: {"description": "No run is shown."}}


Rows = Annotated[list[dict[str, Any]], Field(max_length=samples.MOST_ROWS)]


class Sample(BaseModel):
    """Tuples of an arc."""

    arc: str = Field(max_length=1000)
    rows: Rows


class AskedWhy(BaseModel):
    """A row of an output: by its values, or by a condition that is true of it alone."""

    output: str = Field(max_length=1000)
    row: dict[str, Any] = {}
    where: str = Field("", max_length=10_000)


class Trial(BaseModel):
    """A network that is drawn in the page, and tuples of its sources."""

    network: dict[str, Any]
    sources: dict[str, Rows] = {}


class Settle(BaseModel):
    """All that waits: there is nothing to choose."""


class Text(BaseModel):
    """A text to keep."""

    text: str


class Overflowed(BaseModel):
    """What was left out to be settled later."""

    waiting: int
    """So many tuples wait."""
    ports: dict[str, int]
    """The same by the port at the end of the arc on which they were left out."""
    late: dict[str, int]
    """So many answers came late, by output."""


class Traced(BaseModel):
    """The tuples of every port ("box.port") and output."""

    tuples: dict[str, list[dict[str, Any]]]


class SubjectFacts(BaseModel):
    """What the studio shows."""

    kind: str
    """`run` or `network`."""
    name: str
    version: str
    places: list[str]
    """The connection points and views that can be asked."""


def make_app(subject: Subject, *, hosts: tuple[str, ...] = (), token: str | None = None) -> FastAPI:
    """The application that shows one subject."""
    app = FastAPI(
        title="Arterial studio",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        swagger_ui_oauth2_redirect_url=None,
    )
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    app.add_middleware(Guard, hosts=hosts, token=token)

    @app.exception_handler(ArterialError)
    async def mistaken(request: Request, mistake: ArterialError) -> JSONResponse:
        return JSONResponse({"detail": str(mistake)}, 400)

    @app.exception_handler(SeveralRowsError)
    async def several(request: Request, mistake: SeveralRowsError) -> JSONResponse:
        # The page lists them, and one of them is chosen.
        rows = samples.as_plain(mistake.rows[:MOST_LISTED])
        return JSONResponse({"detail": str(mistake).partition(":\n")[0], "rows": rows}, 400)

    def the_run() -> Run:
        if not isinstance(subject, Run):
            raise HTTPException(404, "no run is shown here, but a network")
        return subject

    of_run, to_run = {**_MISTAKE, **_NO_RUN}, {**_POSTED, **_NO_RUN}

    @app.get("/api/subject", responses=_MISTAKE)
    def get_subject() -> SubjectFacts:
        """What is shown."""
        kind, places = ("run", subject.places()) if isinstance(subject, Run) else ("network", [])
        return SubjectFacts(kind=kind, name=subject.name, version=__version__, places=places)

    @app.get("/api/network", responses=_MISTAKE)
    def get_network() -> NetworkFacts:
        """The network: boxes, arcs, groups, superboxes."""
        return subject.network

    @app.get("/api/status", responses=of_run)
    def get_status() -> dict[str, Any]:
        """The status of the run, as `arterial status --json` prints it."""
        return asdict(the_run().look().status)

    @app.get("/api/steps", responses=of_run)
    def get_steps(
        before: Annotated[int | None, Query(ge=0, le=2**53, description="Only steps before this one.")] = None,
        most: Annotated[int, Query(ge=1, le=5000, description="So many at most, the last ones.")] = 1000,
    ) -> list[dict[str, Any]]:
        """The figures of steps, as `steps.jsonl` has them."""
        run = the_run()
        run.look()
        steps, _ = run.steps_since(0)
        found = [step for step in steps if before is None or step.figures.step < before]
        return [as_json(step.figures) for step in found[-most:]]

    @app.get("/api/control", responses=of_run)
    def get_control() -> dict[str, Any]:
        """The commands in force."""
        return asdict(read_control(the_run().folder))

    @app.post("/api/control", responses=to_run)
    def post_control(command: commands.Command) -> dict[str, Any]:
        """Give the run a command, as `arterial control` does; the commands then in force."""
        return commands.give(the_run(), command)

    @app.get("/api/overflow", responses=of_run)
    def get_overflow() -> Overflowed:
        """What was left out and waits to be settled, and the answers that came late by that."""
        checkpoint = the_run().checkpoint
        ports = count_waiting(checkpoint)
        return Overflowed(waiting=sum(ports.values()), ports=ports, late=count_late(checkpoint))

    @app.post("/api/settle", responses=to_run)
    def post_settle(asked: Settle) -> Answer:
        """Settle what waits at once, as `arterial control DIR settle` does; what the run says to that."""
        return ask(the_run().checkpoint, SETTLE, seconds=ANSWER_SECONDS)

    @app.get("/api/decisions", responses=of_run)
    def get_decisions() -> list[str]:
        """What the run's optimizer changed and why, in words, as `arterial explain --why` says it."""
        return in_words(read_log(the_run().folder))

    @app.get("/api/python", responses=_MISTAKE)
    def get_python() -> Text:
        """The network as the Python that draws it."""
        return Text(text=as_python(subject.value))

    @app.get("/api/drawing", responses=_MISTAKE)
    def get_drawing() -> dict[str, Any]:
        """The network as JSON, to draw on."""
        found: dict[str, Any] = json.loads(to_json(subject.value))
        return found

    @app.post("/api/sample/test", responses=_POSTED)
    def post_test(sample: Sample) -> Text:
        """Tuples of an arc as a pytest file: with what comes of them, as expected."""
        value = subject.value
        return Text(text=samples.as_test(value, samples.find_arc_of(value, sample.arc), sample.rows))

    @app.post("/api/sample/parquet", responses={**_POSTED, 200: _PARQUET}, response_class=Response)
    def post_parquet(sample: Sample) -> Response:
        """Tuples of an arc as a Parquet file, with the types of its columns."""
        return Response(samples.as_parquet(subject.network, sample.arc, sample.rows), media_type=PARQUET)

    @app.post("/api/sample/trace", responses=_POSTED)
    def post_trace(sample: Sample) -> Traced:
        """Tuples of an arc through a copy of what is behind it: what each box got and gave."""
        value = subject.value
        part = samples.behind(value, samples.find_arc_of(value, sample.arc))
        return Traced(tuples=samples.as_plain(samples.traced(part, {part.boxes[0].name: sample.rows})))

    @app.post("/api/why", responses=to_run)
    def post_why(asked: AskedWhy) -> dict[str, Any]:
        """What caused a row of an output, as `arterial why --json` prints it; whole numbers beyond 2**53 as texts."""
        said = why_in(the_run().checkpoint, asked.output, asked.where or asked.row, seconds=WHY_SECONDS)
        return dict(samples.as_plain(said.as_data()))

    @app.get("/api/vehicle/why", responses=of_run)
    def get_vehicle_why(
        vid: Annotated[int, Query(ge=0, le=2**53, description="The vehicle.")],
        time: Annotated[int, Query(ge=0, le=2**31, description="The second of its report.")],
    ) -> dict[str, Any]:
        """Why a vehicle was answered as it was, as `arterial linear-road why --json` prints it; and its balance."""
        return why_of_vehicle(the_run(), vid, time)

    @app.get("/api/kinds")
    def get_kinds() -> list[draft.Kind]:
        """The kinds of boxes that can be drawn."""
        return draft.kinds()

    @app.get("/api/functions")
    def get_functions() -> list[str]:
        """The functions of the expression language, for completion."""
        return sorted(FUNCTIONS)

    @app.post("/api/draft/check", responses=_POSTED)
    def post_check(trial: Trial) -> draft.Checked:
        """What fits of a network that is drawn, and what is wrong with the rest."""
        return draft.check(trial.network)

    @app.post("/api/draft/try", responses=_POSTED)
    def post_try(trial: Trial) -> Traced:
        """Run a network that is drawn on tuples of its sources."""
        value = draft.whole_network(trial.network)
        return Traced(tuples=samples.as_plain(samples.traced(value, trial.sources)))

    @app.post("/api/replace", responses=to_run)
    def post_replace(trial: Trial) -> Answer:
        """Let the run go on with a network that is drawn, as `arterial replace` does; what it says to that."""
        return ask(the_run().checkpoint, REPLACE, draft.whole_network(trial.network), {}, ANSWER_SECONDS)

    @app.websocket("/api/live")
    async def live(socket: WebSocket) -> None:
        if not isinstance(subject, Run):
            await socket.close(1008, "no run is shown here")
            return
        await socket.accept()
        await _Page(socket, subject).serve()

    if PAGE.is_dir():
        app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    return app


class _Page:
    """One page that looks on: its socket and the channels that it opened."""

    def __init__(self, socket: WebSocket, run: Run) -> None:
        self._socket, self._run = socket, run
        self._open: dict[int, asyncio.Task[None]] = {}
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Until the page is gone, says what nobody understands, or takes nothing any more."""
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                if not self._obey(message.get("text")):
                    await self._socket.close(1003, "expected {open, id, …} or {close}")
                    return
        except WebSocketDisconnect:
            return
        finally:
            tasks = list(self._open.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _obey(self, text: str | None) -> bool:
        try:
            said = json.loads(text or "")
        except (ValueError, RecursionError):
            return False
        if not isinstance(said, dict):
            return False
        if isinstance(number := said.get("close"), int):
            if task := self._open.pop(number, None):
                task.cancel()
            return True
        number, name = said.get("id"), said.get("open")
        if not isinstance(number, int) or isinstance(number, bool) or not isinstance(name, str):
            return False
        if not 0 <= number < 1 << 31:  # it goes before each frame, in four bytes
            return False
        if name not in CHANNELS or number in self._open or len(self._open) >= MOST_CHANNELS:
            return False
        self._open[number] = asyncio.create_task(self._serve_channel(number, CHANNELS[name](self._run, said), said))
        return True

    async def _serve_channel(self, number: int, frames: AsyncIterator[bytes], asked: Asked) -> None:
        try:
            try:
                async for frame in frames:
                    await self._send(number, frame)
                await self._send(number, pack({"end": True}))
            except ArterialError as mistake:
                await self._send(number, pack({"error": str(mistake)}))
            except (TimeoutError, WebSocketDisconnect, RuntimeError):
                raise
            except Exception as fault:
                # Whatever it is, the page hears of it, and the other channels go on.
                said = f"the studio cannot answer this: {type(fault).__name__}: {fault}"
                await self._send(number, pack({"error": said}))
            finally:
                await frames.aclose()  # type: ignore[attr-defined]
                self._open.pop(number, None)
        except (TimeoutError, WebSocketDisconnect, RuntimeError):
            with suppress(Exception):
                await self._socket.close(1013, "too slow")

    async def _send(self, number: int, frame: bytes) -> None:
        async with self._sending, asyncio.timeout(SEND_SECONDS):
            await self._socket.send_bytes(number.to_bytes(4, "little", signed=True) + b"\0\0\0\0" + frame)
