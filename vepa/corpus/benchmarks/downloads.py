"""Bytes from an address: https only, bounded in size and time, every redirect looked at."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import time
import urllib.error
import urllib.request
from email.message import Message
from ipaddress import ip_address
from typing import IO, Any, BinaryIO
from urllib.parse import urlsplit

from vepa import __version__
from vepa.errors import RunError

__all__ = ["MAX_BYTES", "check_address", "download"]

#: No file of a benchmark over this is taken.
MAX_BYTES = 512 * 1024 * 1024
_CHUNK = 256 * 1024
#: Silence of the other side, and a whole download, at most, in seconds.
_SILENCE, _ALL = 30.0, 1800.0
_REDIRECTS = 5


def check_address(url: str, origin: str | None = None) -> str:
    """What is wrong with an address; empty when nothing is.

    Parameters
    ----------
    url
        The address.
    origin
        The address that led to it. Plain http, and this machine itself, are for those only whose
        origin is this machine too: a stand-in for upstream, in a test.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"no address: {error}"
    del port
    if not host:
        return "an address like https://host/path/ belongs here"
    if parts.username is not None or parts.password is not None:
        return "an address without a user belongs here"
    if _is_here(host):
        here = origin is None or _is_here(urlsplit(origin).hostname or "")
        return "" if here and parts.scheme in ("http", "https") else "it leads to this machine"
    return "" if parts.scheme == "https" else f"only https is taken, not {parts.scheme or url!r}"


def download(url: str, into: BinaryIO, *, limit: int = MAX_BYTES) -> tuple[str, int]:
    """Write what stands at an address into a stream.

    Parameters
    ----------
    url
        An https address.
    into
        Takes the bytes.
    limit
        So many bytes at most.

    Returns
    -------
    tuple
        SHA-256 and number of bytes.

    Raises
    ------
    RunError
        When it cannot be had, with the reason; what was written until then is of no use.
    """
    if fault := check_address(url):
        raise RunError(f"{url} is not fetched: {fault}")
    until = time.monotonic() + _ALL
    try:
        with _opened(url) as answer:
            return _copied(answer, into, url, limit, until)
    except urllib.error.HTTPError as error:
        raise RunError(f"{url}: the server says {error.code} {error.reason}") from None
    except http.client.IncompleteRead as error:
        raise RunError(
            f"{url}: the connection ended early, {error.expected or 'some'} bytes are missing"
        ) from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        raise RunError(f"{url}: {_told(error)}") from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = _REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage | Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        if fault := check_address(newurl, req.full_url):
            raise urllib.error.URLError(f"it redirects to {newurl}: {fault}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _opened(url: str) -> Any:
    handlers: list[urllib.request.BaseHandler] = [
        _Redirects(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
    ]
    if _is_here(urlsplit(url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)
    head = {"User-Agent": f"vepa/{__version__}", "Accept-Encoding": "identity"}
    return opener.open(urllib.request.Request(url, headers=head), timeout=_SILENCE)  # noqa: S310


def _copied(answer: Any, into: BinaryIO, url: str, limit: int, until: float) -> tuple[str, int]:
    told = answer.headers.get("Content-Length")
    if told is not None and told.isdecimal() and int(told) > limit:
        raise RunError(f"{url}: {int(told):,} bytes, more than the {limit:,} that are taken")
    digest, size = hashlib.sha256(), 0
    while chunk := answer.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise RunError(f"{url}: more than the {limit:,} bytes that are taken")
        if time.monotonic() > until:
            raise RunError(f"{url}: not done after {_ALL:.0f} seconds")
        digest.update(chunk)
        into.write(chunk)
    if told is not None and told.isdecimal() and size < int(told):
        raise RunError(f"{url}: the connection ended after {size:,} of {int(told):,} bytes")
    return digest.hexdigest(), size


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _told(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    if isinstance(reason, socket.gaierror):
        return "the name of the host is not known here; is there a network?"
    if isinstance(reason, TimeoutError):
        return f"no answer for {_SILENCE:.0f} seconds"
    if isinstance(reason, ssl.SSLError):
        return f"its certificate is not trusted: {reason.reason or reason}"
    return str(reason) or type(reason).__name__
