"""Live sources through real sockets and pipes, in this process: the same answers as from a file."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import arterial as art
from arterial.connectors.live.source import LiveSource
from arterial.connectors.live.spool import Spool
from arterial.connectors.source import Ask, Part, Span
from arterial.errors import ArterialError, DataError, RunError
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END
from tests.connectors.live.senders import HEADER, NETWORK, free_port, lines, network, start_sender, wait_until

ALL = HEADER + lines(0, 100)
SCHEMA = Schema.of({"time": "int64", "machine": "string", "load": "float64"})


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    file = tmp_path_factory.mktemp("file") / "reports.csv"
    file.write_bytes(ALL)
    return art.collect(network(), reports=str(file))


def same(run: Any, right: dict[str, pl.DataFrame]) -> None:
    for name in ("sums", "all"):
        assert sorted(run[name].rows()) == sorted(right[name].rows())


def listening(**options: Any) -> LiveSource:
    return LiveSource("tcp+listen://127.0.0.1:0", **options)


def start(source: LiveSource) -> tuple[Any, int]:
    run = art.run(network(), reports=source, local=True)
    bound = run._sources["reports"]
    assert wait_until(lambda: bool(bound._receivers))
    return run, bound.port


def test_a_sender_that_connects(right: dict[str, pl.DataFrame]) -> None:
    run, port = start(listening())
    with socket.create_connection(("127.0.0.1", port)) as sender:
        for at in range(0, len(ALL), 97):
            sender.sendall(ALL[at : at + 97])
        sender.sendall(b"#end\n")
        assert run.wait(30)
    same(run, right)


def test_two_senders_at_once(right: dict[str, pl.DataFrame]) -> None:
    """Each sends the reports of every other second, the second one far later than the first."""
    run, port = start(listening(senders=2))
    for part in (0, 1):
        rows = [line for line in lines(0, 100).splitlines(keepends=True) if int(line.split(b",")[0]) % 2 == part]
        with socket.create_connection(("127.0.0.1", port)) as sender:
            sender.sendall(HEADER + b"".join(rows) + b"#end\n")
            sender.shutdown(socket.SHUT_WR)
            while sender.recv(100):
                pass
    assert run.wait(30)
    same(run, right)


def test_to_connect_and_to_connect_again(right: dict[str, pl.DataFrame]) -> None:
    """The other side closes in the middle of a line, and goes on with that line when it is asked again."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            cut = ALL.index(b"\n50,") + 1
            for piece in (ALL[: cut + 3], HEADER + ALL[cut:] + b"#end\n"):
                client, _ = server.accept()
                with client:
                    client.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        run = art.run(network(), reports=f"tcp://127.0.0.1:{server.getsockname()[1]}", local=True)
        assert run.wait(30)
        thread.join()
    same(run, right)
    assert any("1 of 201 lines were set aside" in text and "1 of them had no end" in text for text in run.notices)


def test_a_sender_that_is_killed_stops_the_run() -> None:
    run, port = start(listening(wait="200 ms"))
    sender = start_sender(port, ALL)
    assert wait_until(lambda: run.statistics.tuples_in > 190)
    sender.kill()
    sender.wait()
    with pytest.raises(RunError, match=r"closed its connection after 200 line\(s\).*'#end'.*--until TIME"):
        run.wait(30)
    assert not run.ended


def test_no_one_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    run = art.run(network(), reports=f"tcp://127.0.0.1:{port}?wait=0", local=True)
    with pytest.raises(RunError, match=r"no connection: Connection refused. Start the sender"):
        run.wait(30)


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        run = art.run(network(), reports=f"tcp://127.0.0.1:{server.getsockname()[1]}?listen", local=True)
        with pytest.raises(RunError, match="cannot listen there"):
            run.wait(30)


def test_a_stranger_does_not_stop_a_run(right: dict[str, pl.DataFrame]) -> None:
    run, port = start(listening(idle="300 ms"))
    with socket.create_connection(("127.0.0.1", port)) as stranger, socket.create_connection(("127.0.0.1", port)):
        stranger.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert stranger.recv(10) == b""
        with socket.create_connection(("127.0.0.1", port)) as sender:
            sender.sendall(ALL + b"#end\n")
            assert run.wait(30)
    same(run, right)
    assert any("1 of 201 lines were set aside" in notice for notice in run.notices), run.notices


def test_strangers_that_say_nothing_make_room(right: dict[str, pl.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.connectors.live.receiver.MOST_CONNECTIONS", 2)
    run, port = start(listening(idle="300 ms"))
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
    with strangers[0], strangers[1], socket.create_connection(("127.0.0.1", port)) as sender:
        sender.sendall(ALL + b"#end\n")
        assert run.wait(30)
    same(run, right)


@pytest.mark.thorough
def test_strangers_do_not_use_up_the_files_that_a_process_may_open(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    port = free_port()
    words = ["run", "net.py:net", "--source", f"reports=tcp+listen://:{port}?idle=500 ms", "--local", "--out", "out"]
    run = subprocess.Popen(
        ["bash", "-c", 'ulimit -n 200; exec "$@"', "-", sys.executable, "-m", "arterial", *words],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    open_ones: list[socket.socket] = []

    def is_connected() -> bool:
        with suppress(OSError):
            open_ones.append(socket.create_connection(("127.0.0.1", port)))
        return bool(open_ones)

    try:
        assert wait_until(is_connected)
        open_ones += [socket.create_connection(("127.0.0.1", port)) for _ in range(220)]
        open_ones[-1].sendall(ALL + b"#end\n")
        _, said = run.communicate(timeout=120)
    finally:
        run.kill()
        for one in open_ones:
            one.close()
    assert "finished: 200 tuples in" in said, said
    assert "others have to wait: this process may have 200 files open (ulimit -n)" in said


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "data", "code", "said"),
    [
        ("", ALL + b"#end\n", 0, "finished: 200 tuples in"),
        pytest.param("?eof=end", ALL, 0, "finished: 200 tuples in", marks=pytest.mark.slow),
        ("", ALL, 1, "ended after 200 line(s), without saying that it is done"),
        pytest.param("?eof=end", b"", 0, "finished: 0 tuples in", marks=pytest.mark.slow),
        pytest.param("?eof=end", HEADER + b"x,1,1\n" * 9, 1, "none of the 9 lines read fits", marks=pytest.mark.slow),
    ],
)
def test_standard_input_of_the_command(tmp_path: Path, options: str, data: bytes, code: int, said: str) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    words = ["run", "net.py:net", "--source", f"reports=-{options}", "--local", "--out", "out"]
    done = subprocess.run([sys.executable, "-m", "arterial", *words], input=data, cwd=tmp_path, capture_output=True)
    assert (done.returncode, said in done.stderr.decode()) == (code, True), done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.thorough
def test_until_a_time(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    words = ["run", "net.py:net", "--source", "stdin:", "--until", "50", "--local", "--out", "out", "--format", "csv"]
    done = subprocess.run([sys.executable, "-m", "arterial", *words], input=ALL, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    got = pl.concat([pl.read_csv(part) for part in sorted((tmp_path / "out" / "all").iterdir())])
    assert got["time"].max() == 49
    assert got.height == 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tcp://5000", "expected - or stdin:, tcp://HOST:PORT"),
        ("tcp://127.0.0.1:70000", "expected - or stdin:, tcp://HOST:PORT"),
        ("tcp+lisen://:1", "did you mean 'tcp\\+listen'"),
        ("tcp://127.0.0.1:1?until=noon", "until is 'noon'"),
        ("tcp://127.0.0.1:1?idle=soon", "idle must be a duration"),
        ("tcp://127.0.0.1:1?spool=big", "spool is 'big'"),
        ("tcp://127.0.0.1:1?senders=2", "need a port to come to"),
        ("-?format=xml", "the format is 'xml'; expected csv or jsonl"),
        ("-?cont=5", "unknown option 'cont'.*did you mean 'count'"),
        ("stdin:?eof=yes", "eof is 'yes'; expected stop or end"),
        ("stdin:?timezone=Mars", "unknown time zone"),
    ],
)
def test_wrong_words(text: str, message: str) -> None:
    with pytest.raises(ArterialError, match=message):
        art.run(network(), reports=text, local=True)


def test_listening_is_on_loopback_unless_a_host_is_given() -> None:
    run, _ = start(LiveSource("tcp+listen://:0"))
    server = run._sources["reports"]._receivers[0]._server
    assert server.getsockname()[0] == "127.0.0.1"
    run.stop()
    assert run.state == "stopped"


@pytest.mark.thorough
def test_steps_are_read_again_as_they_were(tmp_path: Path) -> None:
    """Planned and read by other objects than the one that spools, in small steps; the spool is empty at the end."""
    source = listening(spool="100k").allow(3, signed=False).bind("reports", SCHEMA, "time", tmp_path)
    source.start()
    data = [
        line
        for pair in zip(*[iter(lines(0, 2000).splitlines(keepends=True))] * 4, strict=True)
        for line in reversed(pair)
    ]
    sender = threading.Thread(target=_send, args=(source.port, HEADER + b"".join(data) + b"#end\n"))
    sender.start()
    planner = LiveSource(**source.__getstate__())
    before, spans = planner.begin(), []
    got = []
    while before.through != END:
        after = planner.plan(before, Ask(0.0, 100, None if len(spans) % 3 else max(before.through, -1) + 40))
        if after == before:
            continue
        parts = [source.read_trains(Span(before, after), Part(n, 2))[0] for n in (0, 1)]
        again = [planner.read_trains(Span(before, after), Part(n, 2))[0] for n in (0, 1)]
        for one, other in zip(parts, again, strict=True):
            assert one.tuples.equals(other.tuples)
            assert one.late is None
            if len(one):
                assert before.through < one.tuples["time"].min() <= one.tuples["time"].max() <= after.through  # type: ignore[operator]
        got += [part.tuples for part in parts]
        spans.append(Span(before, after))
        before = after
    sender.join()
    wanted = pl.read_csv(lines(0, 2000), has_header=False, new_columns=list(SCHEMA.names))
    assert sorted(pl.concat(got).rows()) == sorted(wanted.rows())
    assert pl.concat(got)["time"].is_sorted()
    assert len(spans) > 20
    assert max(len(part) for part in got) < 1000
    source.close(ended=True)
    assert len(list((tmp_path / "sources" / "reports" / "spool").glob("*.arrow"))) == 1
    assert planner.begin().through == BEGIN


@pytest.mark.parametrize("seed", range(20))
def test_large_files_that_complete_nothing_hold_up_no_one(tmp_path: Path, seed: int) -> None:
    """As when the other partitions of a topic have not come yet: a file has more rows than a step takes; they wait."""
    dice, number, complete = random.Random(seed), count(), [BEGIN]
    source = LiveSource("tcp+listen://:0").bind("reports", SCHEMA, "time", tmp_path)
    spool = Spool(tmp_path / "sources" / "reports" / "spool")
    for _ in range(dice.randint(2, 12)):
        low = max(complete[-1] + 1, 0)
        times = sorted(dice.randint(low, low + 50) for _ in range(dice.choice((0, 1, 30, 300))))
        complete.append(dice.choice((complete[-1], complete[-1], max(complete[-1], 0) + dice.randint(0, 60))))
        machines = [f"m{next(number)}" for _ in times]
        rows = pl.DataFrame({"time": times, "machine": machines, "load": [0.0] * len(times)}, schema=SCHEMA.polars())
        spool.write(rows.to_arrow(), complete[-1], **({"low": times[0], "high": times[-1]} if times else {}))
    spool.write(SCHEMA.empty().to_arrow(), END)
    before, got = source.begin(), []
    while before.through != END:
        after = source.plan(before, Ask(0.0, 100))
        assert after != before
        got.append(source.read(before, after, Part(0, 1)))
        before = after
    read = pl.concat(got)
    assert sorted(read["machine"]) == sorted(f"m{one}" for one in range(next(number)))
    assert read["time"].is_sorted()


def test_what_is_not_complete_does_not_wait_for_the_run(tmp_path: Path) -> None:
    """The last instant waits for its sender: an input that is silent is no backlog."""
    source = LiveSource("tcp+listen://:0").bind("reports", SCHEMA, "time", tmp_path)
    spool, before = Spool(tmp_path / "sources" / "reports" / "spool"), source.begin()
    assert source.waiting(before, 0.0) == 0
    for low, high, through in ((0, 9, 8), (9, 19, 18), (40, 49, 18)):
        rows = pl.DataFrame({"time": list(range(low, high + 1))}).with_columns(machine=pl.lit("m"), load=0.5)
        spool.write(rows.to_arrow(), through, low=low, high=high)
    assert source.waiting(before, 0.0) == 21
    after = source.plan(before, Ask(0.0, 100))
    assert after.through == 18
    assert source.waiting(after, 0.0) == source.waiting_after(18) == 0
    assert source.waiting_after(8) == 21


@pytest.mark.thorough
def test_what_was_kept_survives_the_process(tmp_path: Path) -> None:
    """Without Spark: a process is killed while it takes lines in; the next one has them all."""
    program = f"""
import sys, time
from pathlib import Path
from arterial.connectors.live.source import LiveSource
from arterial.network.schema import Schema
schema = Schema.of({{"time": "int64", "machine": "string", "load": "float64"}})
source = LiveSource("tcp+listen://127.0.0.1:0").bind("r", schema, "time", Path({str(tmp_path)!r}))
source.start()
print(source.port, flush=True)
time.sleep(600)
"""
    first = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert first.stdout
    port = int(first.stdout.readline())
    spool = tmp_path / "sources" / "r" / "spool"
    from tests.connectors.live.senders import spooled_lines

    with socket.create_connection(("127.0.0.1", port)) as sender:
        sender.sendall(HEADER + lines(0, 60))
        assert wait_until(lambda: spooled_lines(spool) == 120)
        os.kill(first.pid, 9)
        first.wait()
        first.stdout.close()
    second = listening().allow(0, signed=False).bind("r", SCHEMA, "time", tmp_path)
    second.start()
    _send(second.port, HEADER + lines(60, 100) + b"#end\n")
    planner, before, got = second, second.begin(), []
    while before.through != END:
        after = planner.plan(before, Ask(0.0, 1000))
        got.append(planner.read(before, after, Part(0, 1)))
        before = after
    second.close(ended=True)
    assert pl.concat(got).height == 200


def test_a_column_that_is_missing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        run = art.run(network(), reports=f"tcp://127.0.0.1:{server.getsockname()[1]}", local=True)
        client, _ = server.accept()
        with client:
            client.sendall(b"time,machine\n1,a\n")
            with pytest.raises((RunError, DataError), match=r"the column 'load' is missing.*columns="):
                run.wait(30)


def _send(port: int, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as sender:
        sender.sendall(data)
