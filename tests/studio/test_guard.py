"""Who may ask the studio: pages of other origins, other hosts and those without the token may not."""

from __future__ import annotations

import logging

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from arterial.studio.app import make_app
from arterial.studio.guard import COOKIE, is_loopback
from arterial.studio.subject import Drawn
from tests.studio.traffic import traffic

TOKEN = "not-for-logs-0815"


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app(Drawn(traffic())), base_url="http://localhost")


@pytest.fixture
def guarded() -> TestClient:
    return TestClient(make_app(Drawn(traffic()), hosts=("studio.example",), token=TOKEN), base_url="http://10.0.0.7")


def test_the_page_itself_may_ask(client: TestClient) -> None:
    answer = client.get("/api/subject", headers={"origin": "http://localhost", "sec-fetch-site": "same-origin"})
    assert answer.json()["kind"] == "network"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:81"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example"}, 421),
        ({"host": "10.0.0.7"}, 421),
        ({"host": ""}, 421),
        ({"host": "["}, 421),
    ],
)
def test_others_may_not(client: TestClient, headers: dict[str, str], code: int) -> None:
    assert client.get("/api/network", headers=headers).status_code == code


def test_a_socket_of_another_origin_is_refused(client: TestClient) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("ws://localhost/api/live", headers={"origin": "http://evil.example"}),
    ):
        pass


def test_what_changes_something_is_json_and_not_too_long(client: TestClient) -> None:
    plain = client.post("/api/draft/check", content="{}", headers={"content-type": "text/plain"})
    assert plain.status_code == 415
    long = client.post("/api/draft/check", content=b" " * 10_000_000, headers={"content-type": "application/json"})
    assert long.status_code == 413
    pieces = client.post("/api/draft/check", content=iter([b"{}"]), headers={"content-type": "application/json"})
    assert pieces.status_code == 411


def test_without_the_token_nothing_is_shown(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for path in ("/", "/api/network", "/api/openapi.json", "/?token=wrong", "/index.html"):
        assert guarded.get(path).status_code == 401, path
    assert guarded.get("/api/network", headers={"authorization": "Bearer no"}).status_code == 401
    assert guarded.get("/api/network", headers={"cookie": f"{COOKIE}=ö; =".encode()}).status_code == 401
    with pytest.raises(WebSocketDisconnect), guarded.websocket_connect("ws://10.0.0.7/api/live"):
        pass
    answer = guarded.get(f"/?token={TOKEN}", follow_redirects=False)
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert guarded.get("/api/network").status_code == 200
    # The client of this test says what it asks; the studio says nothing.
    assert not [record for record in caplog.records if TOKEN in record.getMessage() and record.name != "httpx2"]


def test_the_token_as_a_header(guarded: TestClient) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/api/network", headers=headers).status_code == 200
    assert guarded.get("/api/network", headers={**headers, "host": "studio.example"}).status_code == 200
    assert guarded.get("/api/network", headers={**headers, "host": "other.example"}).status_code == 421


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fapp.py",
        "/%2e%2e/app.py",
        "/assets/..%2f..%2fapp.py",
        "//etc/passwd",
        "/.%00/x",
    ],
)
def test_no_path_leads_out_of_the_page(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (400, 404), path
    assert "FastAPI" not in answer.text


def test_what_is_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "localhost", "::1", "127.0.0.2")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.7", "studio.example")))
