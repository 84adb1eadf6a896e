"""HTTP: any service that speaks it is driven by YAML alone.

Settings (`drivers: {http: ...}`)::

    port: http                      # name of a port
    prefix: /office                 # before every path
    headers: {X-Requested-With: rest}
    auth:
      how: basic                    # basic | header | login | none
    # or, for keys that are sent as they are (they stand for the account's password):
      how: header
      header: Authorization
      value: "Bearer @PASSWORD@"    # @USER@ too
    # or, for services that hand out a token or a cookie:
      how: login
      request: {method: POST, path: /login, json: {user: "@USER@", password: "@PASSWORD@"}}
      accept: [200]
      token: [access_token]         # path into the JSON answer; without it the cookie is kept
      header: Authorization
      value: "Bearer @TOKEN@"

Request: `{method, path, query, headers, json | form | text, redirects, anonymous}`.
"""

from __future__ import annotations

import json as jsonlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal

import httpx
from pydantic import Field, model_validator

from vepa.errors import InputError, Where
from vepa.services.drivers.base import (
    Answer,
    Caller,
    Deadline,
    Endpoint,
    Parcel,
    Unreachable,
    validated,
)

__all__ = ["HttpDriver", "Request", "Settings"]

#: An answer that is longer is cut off while it is read.
MAX_BYTES = 8 * 1024 * 1024
#: JSON that is nested deeper stays text: whoever walks it would end in a RecursionError.
MAX_DEPTH = 100
#: Redirects that say "not here": nothing was done. 302 and 303 often follow what was.
_ELSEWHERE = (301, 307, 308)
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class Request(Parcel):
    """One HTTP request.

    Attributes
    ----------
    method, path, query, headers
        As HTTP has them; `path` begins with a slash and is already escaped.
    json, form, text
        The body, at most one of them.
    redirects
        Whether redirects are followed.
    anonymous
        Sent without any login (a service's first registration).
    """

    method: Annotated[str, Field(pattern="^[A-Z]+$")] = "GET"
    path: Annotated[str, Field(pattern="^/")]
    query: dict[str, Any] = {}
    headers: dict[str, str] = {}
    body: Any = Field(default=None, alias="json")
    form: dict[str, Any] | None = None
    text: str | None = None
    redirects: bool = False
    anonymous: bool = False

    @model_validator(mode="after")
    def _one_body(self) -> Request:
        if sum(part is not None for part in (self.body, self.form, self.text)) > 1:
            raise ValueError("one of json, form and text, not several")
        return self


class Auth(Parcel):
    """How a caller proves who it is (the module's head shows it)."""

    how: Literal["none", "basic", "header", "login"] = "none"
    request: dict[str, Any] = {}
    accept: list[int] = [200]
    token: list[str | int] = []
    header: str = "Authorization"
    value: str = "Bearer @TOKEN@"


class Settings(Parcel):
    """Settings of the driver (the module's head shows them)."""

    port: str = "http"
    prefix: str = ""
    headers: dict[str, str] = {}
    auth: Auth = Auth()


class _Line:
    """A client and its connection, which is cut when the time is over.

    httpx limits each wait for bytes; a server that trickles its headers would outlive any call.
    """

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self._socket: socket.socket | None = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Told by httpcore what happens on the way of a request."""
        if event == "connection.connect_tcp.complete":
            self._socket = info["return_value"].get_extra_info("socket")

    @contextmanager
    def until(self, deadline: Deadline) -> Iterator[None]:
        """Cut the connection at the deadline."""
        timer = threading.Timer(deadline.left(), self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class HttpDriver:
    """Speaks HTTP to one service; one client an account, so cookies never mix."""

    def __init__(self, settings: Mapping[str, Any], endpoint: Endpoint):
        self._settings = validated(Settings, settings, "drivers.http")
        if self._settings.auth.how == "login":
            try:
                validated(Request, self._settings.auth.request, "drivers.http")
            except InputError as error:
                field = ".".join(filter(None, ("auth.request", error.where.field)))
                error.where = Where(field=field)
                raise
        port = endpoint.ports.get(self._settings.port)
        if port is None:
            raise InputError(
                f"drivers.http: the service has no port {self._settings.port!r}",
                where=Where(field="port"),
            )
        self._host = endpoint.host
        self._base = f"http://{endpoint.host}:{port}"
        self._lines: dict[str, _Line] = {}

    def request(self, request: Any, caller: Caller, deadline: Deadline) -> Answer:
        """See `Driver.request`."""
        wanted = validated(Request, request, "http")
        who = "" if wanted.anonymous else caller.role
        line = self._lines.get(who)
        if line is None:
            auth = Auth() if wanted.anonymous else self._settings.auth
            line = self._lines[who] = self._open(auth, caller, deadline)
        return self._send(line, wanted, deadline)

    def close(self) -> None:
        """See `Driver.close`."""
        for line in self._lines.values():
            line.client.close()
        self._lines.clear()

    def _open(self, auth: Auth, caller: Caller, deadline: Deadline) -> _Line:
        client = httpx.Client(
            headers=self._settings.headers,
            auth=(caller.user, caller.password) if auth.how == "basic" else None,
            trust_env=False,  # a proxy of the surroundings is not for loopback
            # Plain HTTP, `_stay` allows no other: an empty context spares 30 ms a client, which
            # reading a list of authorities takes.
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            event_hooks={"request": [self._stay]},
        )
        line = _Line(client)
        if auth.how == "header":
            marks = {"@USER@": caller.user, "@PASSWORD@": caller.password}
            client.headers[auth.header] = str(_filled(auth.value, marks))
        if auth.how == "login":
            try:
                self._log_in(line, auth, caller, deadline)
            except BaseException:
                client.close()
                raise
        return line

    def _stay(self, request: httpx.Request) -> None:
        """Follow no redirect that leads out of the office."""
        if (request.url.scheme, request.url.host) != ("http", self._host):
            raise Unreachable(f"no answer: the service redirects to {request.url.host!r}")

    def _log_in(self, line: _Line, auth: Auth, caller: Caller, deadline: Deadline) -> None:
        filled = _filled(auth.request, {"@USER@": caller.user, "@PASSWORD@": caller.password})
        answer = self._send(line, validated(Request, filled, "drivers.http.auth"), deadline)
        if answer.status not in auth.accept:
            raise Unreachable(
                f"the login of account {caller.role!r} was answered with {answer.status}: "
                f"{answer.text[:200]}"
            )
        if auth.token:
            token: Any = answer.data
            try:
                for key in auth.token:
                    token = token[key]
            except (LookupError, TypeError):
                raise Unreachable(
                    f"the answer to the login of account {caller.role!r} has nothing at "
                    f"{'.'.join(map(str, auth.token))}: {answer.text[:200]}"
                ) from None
            line.client.headers[auth.header] = auth.value.replace("@TOKEN@", str(token))

    def _send(self, line: _Line, wanted: Request, deadline: Deadline) -> Answer:
        content, kind = _body(wanted)
        headers = {**({"Content-Type": kind} if kind else {}), **wanted.headers}
        try:
            with (
                line.until(deadline),
                line.client.stream(
                    wanted.method,
                    # Whole: alone, a path like `//x` would be taken for a host.
                    self._base + self._settings.prefix + wanted.path,
                    params={key: _plain(item) for key, item in wanted.query.items()} or None,
                    headers=headers,
                    content=content,
                    data=wanted.form,
                    timeout=deadline.left(),
                    follow_redirects=wanted.redirects,
                    extensions={"trace": line.trace},
                ) as response,
            ):
                raw = _read(response, deadline)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unreachable(f"HTTP cannot carry this request: {error}") from None
        except httpx.TimeoutException:
            raise Unreachable("no answer within the time limit") from None
        except httpx.HTTPError as error:
            deadline.left()  # what was cut at the deadline says so
            raise Unreachable(f"no answer: {str(error) or type(error).__name__}") from None
        text = raw.decode(response.encoding or "utf-8", "replace")
        return Answer(
            ok=response.status_code < 400 and response.status_code not in _ELSEWHERE,
            status=response.status_code,
            data=_parsed(text, response.headers.get("content-type", "")),
            text=text,
            headers={key.lower(): value for key, value in response.headers.items()},
        )


def _read(response: httpx.Response, deadline: Deadline) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        deadline.left()  # a server that trickles must not outlive the call
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            break
    deadline.left()  # where the body has no length, a cut looks like its end
    return b"".join(parts)[:MAX_BYTES]


def _body(wanted: Request) -> tuple[str | None, str | None]:
    if wanted.body is not None:
        return jsonlib.dumps(wanted.body, ensure_ascii=False), "application/json"
    if wanted.text is not None:
        return wanted.text, "text/plain; charset=utf-8"
    return None, None


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, list)) else jsonlib.dumps(value)


def _parsed(text: str, kind: str) -> Any:
    if "json" not in kind:
        return text
    try:
        data = jsonlib.loads(text)
        if _HALF.search(text):  # half of a character alone could be written nowhere
            whole = jsonlib.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
            data = jsonlib.loads(whole)
    except (ValueError, RecursionError):
        return text
    return text if _too_deep(data) else data


def _too_deep(data: Any) -> bool:
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH):
        inner = [part for part in level if isinstance(part, (dict, list)) and part]
        if not inner:
            return False
        level = [
            part for each in inner for part in (each.values() if isinstance(each, dict) else each)
        ]
    return True


def _filled(value: Any, marks: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for mark, text in marks.items():
            value = value.replace(mark, text)
        return value
    if isinstance(value, Mapping):
        return {key: _filled(item, marks) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, marks) for item in value]
    return value
