"""A loopback vendor that speaks both batch APIs, does as it is told, and counts what is paid.

    with BatchServer() as server:
        settings = ModelSettings(api_base=server.openai, first_wait=0.005, longest_wait=0.02)

`server.fate` decides what becomes of a request (its body, how often it came before); `server.fails`
are HTTP statuses for calls to come, by kind of call; `server.drops` are paid calls that are taken
while the connection is cut; `server.watch` is told about each call before and after it is done,
which is where a test kills the client.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from batch_lines import anthropic_line, openai_line

__all__ = ["BatchServer", "text_of"]

Fate = Callable[[dict[str, Any], int], str]


@dataclass
class Made:
    """A batch as the vendor has it."""

    id: str
    wire: str
    requests: list[tuple[str, dict[str, Any]]]
    at: float
    shown_at: float
    file: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    end: str = "completed"
    lines: list[tuple[str, str, dict[str, Any]]] | None = None


def text_of(body: dict[str, Any]) -> str:
    """Text of the last message."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class BatchServer:
    """See the module.

    Attributes
    ----------
    fate
        `ok`, `garbled` (an answer that has not its shape), `declined`, `errored` (the vendor's
        fault), `invalid` (the request's), `expired`, `canceled`, `broken` (a line that is no JSON).
    answer
        Text of an answer.
    usage
        Tokens read and written by each.
    takes
        Seconds from a batch's creation to its end.
    paid
        Hash of a body -> how often it was worked on and charged.
    calls
        Kinds of calls, in order: `upload`, `create`, `list`, `standing`, `results`, `delete`.
    """

    def __init__(self) -> None:
        self.fate: Fate = lambda body, before: "ok"
        self.answer: Callable[[dict[str, Any]], str] = lambda body: '{"word": "yes"}'
        self.takes = 0.0
        self.usage = (100, 10)
        self.shows_after = 0.0
        self.room: int | None = None
        self.end = "completed"
        self.fails: dict[str, list[int]] = {}
        self.drops: dict[str, int] = {}
        self.cuts = 0
        self.watch: Callable[[str, str], None] = lambda kind, when: None
        self.paid: Counter[str] = Counter()
        self.came: Counter[str] = Counter()
        self.calls: list[str] = []
        self.keys: set[str] = set()
        self.files: dict[str, bytes] = {}
        self.batches: list[Made] = []
        self.lock = threading.RLock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("H", (_Handler,), {"told": self}))
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # killed clients
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> BatchServer:
        # Nobody here speaks TLS, and each new client would read all certificates.
        self._certificates = ssl.SSLContext.load_verify_locations
        ssl.SSLContext.load_verify_locations = lambda *_, **__: None  # type: ignore[method-assign]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        ssl.SSLContext.load_verify_locations = self._certificates  # type: ignore[method-assign]
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def anthropic(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai(self) -> str:
        return f"{self.anthropic}/v1"

    def base(self, wire: str) -> str:
        return str(getattr(self, wire))

    def bodies(self) -> list[dict[str, Any]]:
        """What came in, in order."""
        with self.lock:
            return [body for made in self.batches for _, body in made.requests]

    def make(self, wire: str, requests: list[tuple[str, dict[str, Any]]], **more: Any) -> Made:
        with self.lock:
            now = time.time()
            made = Made(f"batch_{len(self.batches)}", wire, requests, now, now, **more)
            made.shown_at += self.shows_after
            made.end = self.end
            if self.room is not None and len(requests) > self.room:
                made.end = "failed"
            self.batches.append(made)
            return made

    def worked(self, made: Made) -> bool:
        """Whether a batch has ended; its requests are worked on, and paid, when it does."""
        with self.lock:
            if made.lines is None and time.time() >= made.at + self.takes:
                if made.wire == "openai" and made.file not in self.files:
                    made.end = "failed"
                made.lines = (
                    [] if made.end == "failed" else [self._work(made, *r) for r in made.requests]
                )
            return made.lines is not None

    def _work(self, made: Made, name: str, body: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        key = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        fate = self.fate(body, self.came[key])
        self.came[key] += 1
        if fate in ("ok", "garbled", "declined", "broken"):
            self.paid[key] += 1
        return name, fate, body

    def lines(self, made: Made) -> list[str]:
        write = openai_line if made.wire == "openai" else anthropic_line
        return [
            '{"custom_id": "' + name
            if fate == "broken"
            else json.dumps(write(name, fate, self.answer(body), self.usage))
            for name, fate, body in reversed(made.lines or [])  # results come in any order
        ]


class _Handler(BaseHTTPRequestHandler):
    told: BatchServer
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one packet an answer, or the client's system waits for the second

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        path = urlsplit(self.path).path
        if path == "/v1/files":
            self._do("upload", lambda: self._upload(raw))
        elif path.endswith("batches"):
            self._do("create", lambda: self._create(path, json.loads(raw)))
        else:
            self._send(404, {"error": {"code": "not_found"}})

    def do_DELETE(self) -> None:
        name = self.path.rsplit("/", 1)[1]
        self._do("delete", lambda: self._delete(name))

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        where = re.sub("^/v1/(messages/)?", "", parts.path).split("/")
        wire = "anthropic" if "/messages/" in parts.path else "openai"
        if where == ["batches"]:
            self._do("list", lambda: self._list(wire, parse_qs(parts.query)))
        elif where[0] == "batches" and where[-1] != "results":
            self._do("standing", lambda: self._standing(where[1]))
        else:
            self._do("results", lambda: self._results(where[1]))

    def _do(self, kind: str, work: Callable[[], tuple[int, Any]]) -> None:
        server = self.told
        with server.lock:
            server.calls.append(kind)
            server.keys.add(self.headers.get("Authorization") or self.headers.get("x-api-key", ""))
            server.watch(kind, "before")
            planned = server.fails.get(kind)
            if planned:
                code = planned.pop(0)
                self._send(code, {"error": {"code": "server_busy", "message": "no"}})
                return
            status, document = work()
            server.watch(kind, "after")
            if server.drops.get(kind):
                server.drops[kind] -= 1
                self._reset()
                return
        self._send(status, document)

    def _upload(self, raw: bytes) -> tuple[int, Any]:
        boundary = self.headers["Content-Type"].split("boundary=")[1].strip('"').encode()
        part = next(p for p in raw.split(b"--" + boundary) if b"filename=" in p)
        name = f"file_{self.told.calls.count('upload')}"
        self.told.files[name] = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        return 200, {"id": name, "object": "file", "purpose": "batch", "bytes": len(raw)}

    def _delete(self, name: str) -> tuple[int, Any]:
        found = self.told.files.pop(name, None)
        if found is None:
            return 404, {"error": {"code": "not_found"}}
        return 200, {"id": name, "object": "file", "deleted": True}

    def _create(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if "/messages/" in path:
            asked = [(each["custom_id"], each["params"]) for each in body["requests"]]
            return 200, self._shown(self.told.make("anthropic", asked))
        file = self.told.files[body["input_file_id"]]
        lines = [json.loads(line) for line in file.split(b"\n") if line]
        asked = [(each["custom_id"], each["body"]) for each in lines]
        made = self.told.make(
            "openai", asked, file=body["input_file_id"], metadata=body["metadata"]
        )
        return 200, self._shown(made)

    def _list(self, wire: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        now = time.time()
        found = [b for b in self.told.batches if b.wire == wire and b.shown_at <= now][::-1]
        after = (query.get("after") or query.get("after_id") or [""])[0]
        ids = [each.id for each in found]
        start = ids.index(after) + 1 if after else 0
        most = min(int(query.get("limit", ["20"])[0]), 2)  # short pages: a client has to turn them
        page = found[start : start + most]
        return 200, {
            "object": "list",
            "data": [self._shown(each) for each in page],
            "has_more": start + most < len(found),
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
        }

    def _standing(self, name: str) -> tuple[int, Any]:
        found = [each for each in self.told.batches if each.id == name]
        return (200, self._shown(found[0])) if found else (404, {"error": {"code": "not_found"}})

    def _results(self, name: str) -> tuple[int, Any]:
        made = next(each for each in self.told.batches if each.id == name.removeprefix("out-"))
        return 200, "\n".join(self.told.lines(made)) + "\n"

    def _shown(self, made: Made) -> dict[str, Any]:
        ended, total = self.told.worked(made), len(made.requests)
        fates = Counter(fate for _, fate, _ in made.lines or ())
        good = sum(fates[fate] for fate in ("ok", "garbled", "declined", "broken"))
        if made.wire == "openai":
            errors = {"object": "list", "data": [{"code": "token_limit_exceeded", "line": None}]}
            return {
                "id": made.id, "object": "batch", "endpoint": "/v1/chat/completions",
                "completion_window": "24h", "created_at": int(made.at), "metadata": made.metadata,
                "input_file_id": made.file, "status": made.end if ended else "in_progress",
                "output_file_id": f"out-{made.id}" if ended and made.lines else None,
                "errors": errors if ended and made.end == "failed" else None,
                "request_counts": {
                    "completed": good, "failed": total - good if ended else 0, "total": total
                },
            }  # fmt: skip
        at = datetime.fromtimestamp(made.at, UTC)
        return {
            "id": made.id, "type": "message_batch", "created_at": at.isoformat(),
            "expires_at": (at + timedelta(days=1)).isoformat(),
            "processing_status": "ended" if ended else "in_progress",
            "results_url": "http://elsewhere.test/results" if ended else None,
            "request_counts": {
                "processing": 0 if ended else total, "succeeded": good,
                "errored": fates["errored"] + fates["invalid"],
                "canceled": fates["canceled"], "expired": fates["expired"],
            },
        }  # fmt: skip

    def _reset(self) -> None:
        """Cut the connection without a word."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()

    def _send(self, status: int, document: Any) -> None:
        whole = document.encode() if isinstance(document, str) else json.dumps(document).encode()
        sent = whole
        with self.told.lock:
            if isinstance(document, str) and self.told.cuts:
                self.told.cuts -= 1
                sent = whole[: len(whole) // 2]
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(whole)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(sent)
            self.wfile.flush()
            if sent is not whole:
                self.close_connection = True
        except OSError:  # nobody is there any more
            self.close_connection = True
