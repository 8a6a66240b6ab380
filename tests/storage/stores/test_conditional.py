"""The class by which Spark writes its part of a checkpoint on S3: of two that write a new file, one succeeds."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from arterial.storage.place import make_folder
from tests.stores import RunningStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCRIPT = """
import json, sys
from arterial.engine.spark.logs.store_files import check_writer, writer_for
from arterial.engine.spark.session import spark_session
from arterial.errors import RunError
from arterial.storage.remote import path_of, spark_name

jars, folder, careless = sys.argv[1:]
# A file longer than a part is put in several, which S3 joins when it is closed.
settings = {"spark.jars": jars, "spark.hadoop.fs.s3a.multipart.size": "5M"}
settings["spark.hadoop.fs.s3a.bucket.careless.endpoint"] = careless
session = spark_session("conditional", master="local[1]", settings=settings)
jvm = session.sparkContext._jvm
hadoop = jvm.org.apache.hadoop.conf.Configuration(session.sparkContext._jsc.hadoopConfiguration())
for name, value in writer_for(session, path_of(folder)).items():
    hadoop.set(name, value)
at = lambda name: jvm.org.apache.hadoop.fs.Path(f"{spark_name(path_of(folder))}/{name}")
files = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.create(at("."), hadoop)


def refusal(does):
    try:
        does()
    except RunError as refused:
        return str(refused)
    except Exception as refused:
        return getattr(refused, "java_exception", refused).toString()
    return "none"


def content(name):
    if not files.exists(at(name)):
        return "nothing"
    file = files.open(at(name))
    try:
        return chr(file.read())
    finally:
        file.close()


def begun(name, letter, size, overwrite=False):
    file = files.createAtomic(at(name), overwrite)
    file.write(letter * size)
    return file


found = {}
for size in (7, 11 << 20):
    first, second = begun(f"new-{size}", b"1", size), begun(f"new-{size}", b"2", size)
    seen = [content(f"new-{size}")]
    second.close()
    seen += [refusal(first.close), content(f"new-{size}")]
    first.cancel()
    late = begun(f"new-{size}", b"3", size)
    seen += [refusal(late.close), content(f"new-{size}")]
    other = begun(f"new-{size}", b"4", size, True)
    seen += [content(f"new-{size}")]
    other.close()
    seen += [content(f"new-{size}")]
    gone = begun(f"cancelled-{size}", b"5", size)
    gone.cancel()
    gone.close()
    kept = begun(f"new-{size}", b"6", size, True)
    kept.cancel()
    found[size] = [*seen, content(f"cancelled-{size}"), content(f"new-{size}")]
found["kept"] = sorted(status.getPath().getName() for status in files.list(at(".")))
found["fits"] = refusal(lambda: check_writer(session, path_of(folder)))
found["careless"] = refusal(lambda: check_writer(session, path_of("s3://careless/run")))
found["no bucket"] = refusal(lambda: check_writer(session, path_of("s3://nowhere/run")))
print("found", json.dumps(found))
"""


@contextmanager
def without_conditions(address: str) -> Iterator[str]:
    """A server before another one, which does not know `If-None-Match`."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            kept = {name: value for name, value in self.headers.items() if name.lower() != "if-none-match"}
            size = int(self.headers.get("Content-Length", 0))
            request = urllib.request.Request(
                address + self.path, self.rfile.read(size) if size else None, kept, method=self.command
            )
            try:
                answer = urllib.request.urlopen(request)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                body = answer.read()
                self.send_response_only(answer.status)
                for name, value in answer.headers.items():
                    if name.lower() not in ("connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def found(s3: RunningStore) -> dict[str, Any]:
    if not s3.spark:
        pytest.skip("Spark's client for S3 is not here: make stores")
    address = s3.environment["AWS_ENDPOINT_URL"]
    urllib.request.urlopen(urllib.request.Request(f"{address}/careless", method="PUT")).close()
    folder = s3.folder()
    make_folder(folder)
    jars = s3.spark[1].removeprefix("spark.jars=")
    with without_conditions(address) as careless:
        command = [sys.executable, "-c", SCRIPT, jars, str(folder), careless]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    seen: dict[str, Any] = json.loads(done.stdout.partition("found ")[2])
    return seen


@pytest.mark.parametrize("size", ["7", str(11 << 20)])
def test_of_two_writers_one_succeeds(found: dict[str, Any], size: str) -> None:
    """The first to close, also where a file is put in parts; what is cancelled leaves nothing."""
    before, first, second, late, again, meanwhile, replaced, cancelled, kept = found[size]
    assert before == "nothing", "a file is there when it is closed"
    assert first.startswith("org.apache.hadoop.fs.FileAlreadyExistsException")
    assert late.startswith("org.apache.hadoop.fs.FileAlreadyExistsException")
    assert (second, again, meanwhile, replaced) == ("2", "2", "2", "4")
    assert (cancelled, kept) == ("nothing", "4")


def test_nothing_else_is_left(found: dict[str, Any]) -> None:
    assert found["kept"] == sorted(["new-7", f"new-{11 << 20}"])


def test_a_store_without_conditions_is_refused(found: dict[str, Any]) -> None:
    assert found["fits"] == "none"
    assert "of two that write the same new file both succeed there" in found["careless"]


def test_a_bucket_that_is_not_there(found: dict[str, Any]) -> None:
    assert "Spark's own client cannot write there" in found["no bucket"]
    assert "Expected credentials" in found["no bucket"]
