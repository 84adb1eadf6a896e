"""HTTP below WebDAV and CalDAV: answers bounded in time and size, and the words of a refusal."""

from __future__ import annotations

import html
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx

from vepa.services.drivers.base import Deadline, Unreachable

__all__ = ["MAX_BYTES", "BoundedSession", "BoundedTransport", "said"]

#: An answer that is longer than this is none.
MAX_BYTES = 16 * 1024 * 1024

_HIDDEN = re.compile(r"<(style|head|script|h1)\b.*?</\1\s*>|<hr\b.*", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_SPACE = re.compile(r"\s+")


class BoundedTransport(httpx.HTTPTransport):
    """Every request and every part of its answer has to come before the deadline.

    httpx limits each wait for bytes; so that a server that trickles does not outlive the call, the
    connection is cut at the deadline. To be used by one thread: it has one connection at a time.

    Attributes
    ----------
    deadline
        Of the requests to come.
    """

    def __init__(self) -> None:
        # Plain HTTP on loopback: an empty context spares reading a list of authorities.
        super().__init__(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self.deadline = Deadline.after(0)
        self._socket: socket.socket | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with what is left of the time."""
        left = self.deadline.left()
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), left)
        request.extensions["trace"] = self._trace
        timer = threading.Timer(left, self._cut)
        timer.daemon = True
        timer.start()
        try:
            response = self._sent(request)
        except BaseException as error:
            timer.cancel()
            if isinstance(error, httpx.HTTPError):
                self.deadline.left()  # what was cut at the deadline says so
            raise
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Bounded(response.stream, self.deadline, timer)
        return response

    def _sent(self, request: httpx.Request) -> httpx.Response:
        try:
            return super().handle_request(request)
        except httpx.RemoteProtocolError:
            # The server let go of a kept connection just then. What changes something is not
            # sent twice: nobody knows whether it arrived.
            if request.method not in ("GET", "PROPFIND"):
                raise
            self.deadline.left()
            return super().handle_request(request)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Told by httpcore what happens on the way of a request."""
        if event == "connection.connect_tcp.complete":
            self._socket = info["return_value"].get_extra_info("socket")

    def _cut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _Bounded(httpx.SyncByteStream):
    """A server that trickles, or never ends, must not outlive the call."""

    def __init__(self, stream: httpx.SyncByteStream, deadline: Deadline, timer: threading.Timer):
        self._stream = stream
        self._deadline = deadline
        self._timer = timer

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        try:
            for part in self._stream:
                self._deadline.left()
                size += len(part)
                if size > MAX_BYTES:
                    raise Unreachable(f"the answer is longer than {MAX_BYTES} bytes")
                yield part
        except httpx.HTTPError:
            self._deadline.left()
            raise
        self._deadline.left()  # where the body has no length, a cut looks like its end

    def close(self) -> None:
        self._timer.cancel()
        self._stream.close()


class BoundedSession:
    """The HTTP session of a client from the caldav package.

    Attributes
    ----------
    transport
        Its bounds.
    """

    def __init__(self) -> None:
        self.transport = BoundedTransport()
        self._client = httpx.Client(
            transport=self.transport,
            trust_env=False,  # a proxy of the surroundings is not for loopback
        )

    def request(
        self,
        method: str,
        url: str,
        *,
        data: bytes | None,
        headers: Mapping[str, str],
        auth: Any,
        **_: object,
    ) -> httpx.Response:
        """Send a request as the package asks its session to.

        Raises
        ------
        Unreachable
            When the answer does not come in time, or not at all.
        """
        login = None if auth is None else (auth.username, auth.password)
        try:
            return self._client.request(
                method, url, content=data, headers=dict(headers), auth=login
            )
        except httpx.TimeoutException:
            raise Unreachable("no answer within the time limit") from None
        except httpx.HTTPError as error:
            raise Unreachable(f"no answer: {str(error) or type(error).__name__}") from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unreachable(f"HTTP cannot carry this request: {error}") from None

    def close(self) -> None:
        """Drop the connection."""
        self._client.close()


def said(response: httpx.Response) -> str:
    """What a refusal says, as plain text: servers put HTML and the time of day around it."""
    text = response.read().decode("utf-8", "replace")
    if "html" in response.headers.get("content-type", ""):
        text = html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", text)))
    plain = _SPACE.sub(" ", text).strip()
    return plain or f"{response.status_code} {response.reason_phrase}"
