"""HTTP below WebDAV: answers bounded in time and size, and the words of a refusal."""

from __future__ import annotations

import html
import re
import ssl
from collections.abc import Iterator

import httpx

from vepa.services.drivers.base import Deadline, Unreachable

__all__ = ["MAX_BYTES", "BoundedTransport", "said"]

#: An answer that is longer than this is none.
MAX_BYTES = 16 * 1024 * 1024

_HIDDEN = re.compile(r"<(style|head|script|h1)\b.*?</\1\s*>|<hr\b.*", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_SPACE = re.compile(r"\s+")


class BoundedTransport(httpx.HTTPTransport):
    """Every request and every part of its answer has to come before the deadline.

    Attributes
    ----------
    deadline
        Of the requests to come.
    """

    def __init__(self) -> None:
        # Plain HTTP on loopback: an empty context spares reading a list of authorities.
        super().__init__(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self.deadline = Deadline.after(0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with what is left of the time."""
        left = self.deadline.left()
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), left)
        try:
            response = super().handle_request(request)
        except httpx.RemoteProtocolError:
            # The server let go of a kept connection just then. What changes something is not
            # sent twice: nobody knows whether it arrived.
            if request.method not in ("GET", "PROPFIND"):
                raise
            response = super().handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Bounded(response.stream, self.deadline)
        return response


class _Bounded(httpx.SyncByteStream):
    """A server that trickles, or never ends, must not outlive the call."""

    def __init__(self, stream: httpx.SyncByteStream, deadline: Deadline):
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            self._deadline.left()
            size += len(part)
            if size > MAX_BYTES:
                raise Unreachable(f"the answer is longer than {MAX_BYTES} bytes")
            yield part

    def close(self) -> None:
        self._stream.close()


def said(response: httpx.Response) -> str:
    """What a refusal says, as plain text: servers put HTML and the time of day around it."""
    text = response.read().decode("utf-8", "replace")
    if "html" in response.headers.get("content-type", ""):
        text = html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", text)))
    plain = _SPACE.sub(" ", text).strip()
    return plain or f"{response.status_code} {response.reason_phrase}"
