"""What stands before every request: the served host, the own origin, a session, a bounded body.

A page that lets people decide is worth attacking from another tab of the same browser. So a request
has to name the host that is served (no name that was bent to this address), has to come from this
page and no other (a cookie alone proves nothing), and everything but the login needs a session.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vepa.annotate.arbitration.page.door import Door, Session
from vepa.annotate.arbitration.page.limits import Buckets, Limits
from vepa.viewer.signs import visible

__all__ = ["Asked", "Guard", "Hosts"]

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: with it a form would be sent with the origin `null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for the log: nothing of its query, body or cookies is in it."""

    address: str
    who: str
    method: str
    path: str
    status: int
    seconds: float

    def __str__(self) -> str:
        who = f"{self.who} " if self.who else ""
        spent = f"{self.seconds * 1000:.0f} ms"
        return f"{self.address} {who}{self.method} {visible(self.path)[:80]} {self.status} {spent}"


class Hosts:
    """The names that the server answers to.

    Parameters
    ----------
    host
        What it listens on.
    port
        Where.
    """

    def __init__(self, host: str, port: int):
        self._any = False
        names = {host.lower()}
        try:
            address = ipaddress.ip_address(host)
            names = {f"[{host}]" if address.version == 6 else host}
            self._any = address.is_unspecified
            names |= {"localhost"} if address.is_loopback else set()
        except ValueError:
            names |= {"127.0.0.1"} if host.lower() == "localhost" else set()
        self._port = port
        self._known = {f"{name}:{port}" for name in names} | (names if port == 80 else set())

    def serve(self, named: str) -> bool:
        """Whether a `Host` is one of them; listening everywhere, any address that is no name.

        A name that somebody bent to this machine's address is thus never taken.
        """
        if named.lower() in self._known:
            return True
        if not self._any:
            return False
        name, _, port = named.rpartition(":")
        if port != str(self._port):
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


class Guard:
    """The application behind its checks.

    Parameters
    ----------
    app
        What is guarded; it finds `state.session`.
    door
        Sessions.
    hosts
        Of `Hosts`.
    cookie
        Name of the cookie.
    open_paths
        Path -> methods that need no session.
    refuse
        Status and words -> the answer that says no.
    limits
        How much is taken.
    log
        Told every request.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        door: Door,
        hosts: Hosts,
        cookie: str,
        open_paths: Mapping[str, frozenset[str]],
        refuse: Callable[[Headers, int, str], Response],
        limits: Limits,
        log: Callable[[Asked], None],
    ):
        self._app = app
        self._door = door
        self._hosts = hosts
        self._cookie = cookie
        self._open = open_paths
        self._refuse = refuse
        self._limits = limits
        self._log = log
        self._sessions = Buckets(limits.session)
        self._addresses = Buckets(limits.address)
        self._logins = Buckets(limits.login)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # neither sockets nor a life span
        began = time.monotonic()
        headers = Headers(scope=scope)
        session = self._door.session(_cookie(headers, self._cookie))
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    given.setdefault(name, value)
            await send(message)

        try:
            answer = self._answer(scope, headers, session)
            if answer is None:
                answer = await self._pass(scope, headers, receive, sent, session)
            if answer is not None:
                await answer(scope, receive, sent)
        finally:
            address, who = _address(scope), session.who if session else ""
            spent = time.monotonic() - began
            self._log(Asked(address, who, scope["method"], scope["path"], status, spent))

    def _answer(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        """The answer that says no; None where nothing speaks against the request."""
        method, path = scope["method"], scope["path"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._hosts.serve(hosts[0]):
            return self._refuse(headers, 421, "This server has another name.")
        if not _own(method, path, headers, f"http://{hosts[0]}"):
            return self._refuse(headers, 403, "This request comes from another page.")
        wait = (
            self._sessions.wait(session.who) if session else self._addresses.wait(_address(scope))
        )
        if not wait and method == "POST" and path == "/login":
            wait = self._logins.wait(_address(scope))
        if wait:
            answer = self._refuse(headers, 429, f"Too fast; wait {math.ceil(wait)} seconds.")
            answer.headers["retry-after"] = str(math.ceil(wait))
            return answer
        if session is None and method not in self._open.get(path, ()):
            return self._refuse(headers, 401, "Log in first.")
        return None

    async def _pass(
        self,
        scope: Scope,
        headers: Headers,
        receive: Receive,
        send: Send,
        session: Session | None,
    ) -> Response | None:
        body = b""
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != _FORM:
                return self._refuse(headers, 415, "This is no form.")
            try:
                async with asyncio.timeout(self._limits.body_seconds):
                    read = await _body(receive, headers, self._limits.body_bytes)
            except TimeoutError:
                return self._refuse(headers, 408, "The request took too long.")
            if read is None:
                return self._refuse(headers, 413, "This is more than the server takes.")
            body = read
        scope.setdefault("state", {})["session"] = session
        given = False

        async def received() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, received, send)
        return None


def _own(method: str, path: str, headers: Headers, origin: str) -> bool:
    """Whether a request comes from this page, or is typed into a browser."""
    named = headers.get("origin")
    site = headers.get("sec-fetch-site")
    if method == "POST":
        return named == origin and site in (None, "same-origin")
    if named not in (None, origin):
        return False
    if site in (None, "same-origin", "none"):
        return True
    # A link to the login may stand anywhere: it shows an empty form.
    return path == "/login" and headers.get("sec-fetch-mode") == "navigate"


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


async def _body(receive: Receive, headers: Headers, most: int) -> bytes | None:
    """The body; None when it is too large."""
    told = headers.get("content-length", "")
    if told.isdigit() and int(told) > most:
        return None
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""  # whoever asked has gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if not message.get("more_body"):
            return b"".join(parts)
