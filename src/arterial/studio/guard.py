"""Who may ask the studio: the page that it served itself, from a browser on this machine, or with the token.

A page of another site must not reach it, whatever name it resolves to here: so the Host that the browser asked for and
the Origin of the page that asks are checked on every request. There is no CORS. The token is compared in constant time
and stands in no log.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "arterial_studio"
MOST_BYTES = 1 << 20
"""How long the body of a request may be."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SAFE = ("GET", "HEAD")
_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; worker-src 'self' blob:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Guard:
    """Lets through what may ask, and refuses the rest before anything looks at it."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), token: str | None = None) -> None:
        self._app, self._token = app, token
        self._hosts = frozenset(host.lower() for host in (*_LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or socket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _refuse(scope, receive, send, *refused)
            return
        if self._token is not None and scope["type"] == "http" and scope["path"] == "/":
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if self._fits(given):
                answer = RedirectResponse("/", 303)
                answer.set_cookie(COOKIE, given, httponly=True, samesite="strict")
                await answer(scope, receive, send)
                return
        if not self._has_token(headers):
            await _refuse(scope, receive, send, 401, "the token is missing or wrong; open the address that was printed")
            return
        await self._app(scope, receive, _with_headers(send) if scope["type"] == "http" else send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._knows(host):
            return 421, "this host is not served here"
        origin = headers.get("origin")
        if origin is not None and _host_of(origin) != host.lower():
            return 403, "a page of another origin may not ask"
        site = headers.get("sec-fetch-site")
        if site not in (None, "same-origin", "none") and (scope["type"] == "websocket" or scope["path"] != "/"):
            return 403, "a page of another site may not ask"
        if scope["type"] == "websocket":
            return None
        if scope["method"] not in _SAFE:
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "expected application/json"
            length = headers.get("content-length", "")
            if not length.isascii() or not length.isdigit():
                return 411, "expected a content-length"
            if int(length) > MOST_BYTES:
                return 413, f"expected at most {MOST_BYTES:,} bytes"
        return None

    def _knows(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._hosts or (self._token is not None and _is_address(name))

    def _has_token(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._fits(given.strip()):
            return True
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and self._fits(cookies[COOKIE].value)

    def _fits(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def own_names() -> tuple[str, ...]:
    """The names by which other machines may know this one."""
    return (socket.gethostname(), socket.getfqdn())


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what is bound there."""
    return host in _LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _host_of(origin: str) -> str:
    """The host and port of an origin; empty if it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _refuse(scope: Scope, receive: Receive, send: Send, code: int, why: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": why})
        return
    await PlainTextResponse(f"{why}\n", code, headers=_HEADERS)(scope, receive, send)


def _with_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return add
