"""A server on loopback that stands in for where a benchmark's files are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

__all__ = ["Handler", "Upstream", "cut", "endless", "gives", "leads_to", "says"]


class _Quiet(BaseHTTPRequestHandler):
    """Answers as the server was told, and writes no log."""

    def do_GET(self) -> None:
        """Look up what to do."""
        server: Upstream = self.server.upstream  # type: ignore[attr-defined]
        server.asked.append(self.path)
        does = server.does.get(self.path)
        if does is None:
            self.send_error(404)
        else:
            does(self)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


Handler = Callable[[BaseHTTPRequestHandler], None]


class Upstream:
    """A context manager.

    Attributes
    ----------
    does
        Path -> what is answered.
    asked
        Paths in the order in which they were asked for.
    """

    def __init__(self) -> None:
        self.does: dict[str, Handler] = {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Quiet)
        self._server.upstream = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def address(self) -> str:
        """`http://127.0.0.1:PORT/`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Upstream:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def gives(body: bytes, *, told: bool = True) -> Handler:
    """The whole body, its length told or not."""

    def do(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        if told:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return do


def says(code: int) -> Handler:
    """An error of the server."""
    return lambda request: request.send_error(code)


def leads_to(address: str) -> Handler:
    """A redirect."""

    def do(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", address)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return do


def cut(body: bytes) -> Handler:
    """Tells the length of the body, and ends in its middle."""

    def do(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2])
        request.wfile.flush()
        request.connection.close()

    return do


def endless(piece: bytes = b" " * 65536) -> Handler:
    """Goes on until nobody listens."""

    def do(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while True:
                request.wfile.write(piece)
        except OSError:
            pass

    return do
