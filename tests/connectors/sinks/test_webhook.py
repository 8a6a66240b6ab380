"""The webhook sink against a server that fails, delays, refuses and drops connections."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from arterial.connectors.sink import Delivery
from arterial.connectors.sinks import webhook
from arterial.connectors.sinks.webhook import WebhookSink
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import Train
from arterial.storage.remote import path_of
from tests.connectors.sinks.hook import DELAY, DROP, Webhook
from tests.stores import MemoryStore

STREAM = Stream(Schema.of({"t": int}), "t")


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    monkeypatch.setattr(webhook, "_FIRST_WAIT_SECONDS", 0.01)
    made = Webhook()
    yield made
    made.close()


def post(hook: Webhook, folder: Path, *values: int, **options: Any) -> WebhookSink:
    """One step."""
    sink = WebhookSink(hook.url, **options).bind("out", STREAM, folder)
    sink.write(Delivery("out", 1, 0, Train(pl.DataFrame({"t": values}), 1)))
    sink.commit(1)
    return sink


def letters(sink: WebhookSink) -> list[dict[str, Any]]:
    return (
        [json.loads(line) for line in sink.dead_letters.read_text().splitlines()] if sink.dead_letters.exists() else []
    )


@pytest.mark.parametrize("fault", [DROP, DELAY, 500, 503, 429, 408], ids=str)
def test_what_fails_is_repeated_with_the_same_key(hook: Webhook, tmp_path: Path, fault: Any) -> None:
    hook.answers = [fault, fault]
    sink = post(hook, tmp_path, 1, 2, timeout=0.3)
    assert [body for _, body in hook.taken] == [[{"t": 1}, {"t": 2}]]
    assert [key for key, *_ in hook.asked] == [f"{sink.run}/out/1/0"] * 3
    assert not letters(sink)


@pytest.mark.parametrize("status", [400, 401, 404, 410, 301, 308])
def test_what_is_refused_becomes_a_dead_letter_at_once(hook: Webhook, tmp_path: Path, status: int) -> None:
    other = Webhook()
    hook.answers = [(status, {"Location": other.url})]
    sink = post(hook, tmp_path, 1, 2, 3, rows=2)
    assert [body for _, body in hook.taken] == [[{"t": 3}]]
    assert [(one["status"], one["attempts"], one["body"]) for one in letters(sink)] == [
        (status, 1, [{"t": 1}, {"t": 2}])
    ]
    assert not other.asked
    other.close()


def test_in_a_store_each_dead_letter_is_a_file(
    hook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    store = MemoryStore.in_place(monkeypatch)
    hook.answers = [400] * 4
    for _ in range(2):  # the second time the step is repeated
        sink = post(hook, path_of("s3://city/run"), 1, 2, rows=1)
        store.unlink("city/run/sinks/out/journal.json")
    names = [one.name for one in (sink.dead_letters.parent / "dead-letters").iterdir()]
    assert names == ["000000001-000000000.jsonl", "000000001-000000001.jsonl"]
    content = store.files[f"city/run/sinks/out/dead-letters/{names[1]}"]
    assert json.loads(content)["body"] == [{"t": 2}]
    assert "kept in s3://city/run/sinks/out/dead-letters\n" in capfd.readouterr().err
    post(hook, tmp_path, 1, dead_letters="s3://city/letters.jsonl")
    assert "city/letters" not in str(list(tmp_path.rglob("*")))


def test_what_fails_too_often_becomes_a_dead_letter(
    hook: Webhook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hook.answers = [500, DROP, 502]
    sink = post(hook, tmp_path, 7, attempts=3, shape="object", dead_letters=tmp_path / "letters" / "dead.jsonl")
    assert [(one["status"], one["attempts"], one["body"]) for one in letters(sink)] == [(502, 3, {"t": 7})]
    assert not hook.taken
    assert sink.dead_letters == tmp_path / "letters" / "dead.jsonl"
    assert f"502 no more; requests that are not taken are kept in {sink.dead_letters}" in capsys.readouterr().err


def test_one_object_a_request(hook: Webhook, tmp_path: Path) -> None:
    sink = post(hook, tmp_path, 1, 2, shape="object")
    assert hook.taken == [(f"{sink.run}/out/1/0", {"t": 1}), (f"{sink.run}/out/1/1", {"t": 2})]


def test_it_waits_as_long_as_the_server_asks(hook: Webhook, tmp_path: Path) -> None:
    hook.answers = [(429, {"Retry-After": "1"})]
    began = time.monotonic()
    post(hook, tmp_path, 1)
    assert time.monotonic() - began >= 1.0
    assert len(hook.taken) == 1


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_FIRST_WAIT_SECONDS", 0.01)
    gone = Webhook()
    gone.close()
    sink = post(gone, tmp_path, 1, attempts=2)
    assert [(one["status"], one["attempts"]) for one in letters(sink)] == [(0, 2)]
    assert "refused" in letters(sink)[0]["reason"]


def test_no_proxy_of_the_environment(hook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    post(hook, tmp_path, 1)
    assert [path for _, path, _ in hook.asked] == ["/hook?for=us"]


def test_the_secret_is_sent_and_kept_nowhere(hook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "Bearer 4711")
    hook.answers = [400]
    post(hook, tmp_path, 1, authorization_env="HOOK_TOKEN")
    assert hook.asked[0][2]["Authorization"] == "Bearer 4711"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"4711" in path.read_bytes()]
    monkeypatch.delenv("HOOK_TOKEN")
    with pytest.raises(RunError, match="HOOK_TOKEN"):
        post(hook, tmp_path, 1, authorization_env="HOOK_TOKEN")


def test_a_user_in_the_address_is_sent_as_basic_authentication(
    hook: Webhook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hook.url = hook.url.replace("http://", "http://me:s3%20cret@")
    hook.answers = [400]
    post(hook, tmp_path, 1)
    assert hook.asked[0][2]["Authorization"] == "Basic " + b64encode(b"me:s3 cret").decode()
    assert "s3" not in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3" in path.read_bytes()]


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="array or object"):
        WebhookSink("https://example.org", shape="xml")
    with pytest.raises(RunError, match="positive"):
        WebhookSink("https://example.org", attempts=0)
