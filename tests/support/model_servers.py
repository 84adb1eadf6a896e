"""Loopback servers that speak the OpenAI and the Anthropic wire format, as told, and count.

    with ModelServer([Fail(429, {"Retry-After": "0"}), Say("yes")]) as server:
        model = open_model("openai/gpt-4o-mini", settings=ModelSettings(api_base=server.openai))

Behaviours are used up in order; then the last one goes on for ever. A function of what was seen
may stand in their place. One server speaks both formats, at `server.openai` and
`server.anthropic`; the former has embeddings too (`Vectors`). It records headers and bodies, and
counts requests and tokens of the answers that it sent whole.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from behaviours import FAKE_KEY, Behaviour, Cut, Data, Fail, Raw, Refuse, Say, Slow, Vectors
from wire_formats import (
    anthropic_events,
    anthropic_whole,
    openai_events,
    openai_vectors,
    openai_whole,
)


@dataclass(frozen=True)
class Seen:
    """One request as it came; names of headers in small letters."""

    number: int
    wire: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes
    at: float

    @property
    def last(self) -> str:
        """Text of the last message."""
        content = self.body["messages"][-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(str(part.get("text", part.get("content", ""))) for part in content or ())


__all__ = [
    "FAKE_KEY",
    "Behaviour",
    "Cut",
    "Data",
    "Fail",
    "ModelServer",
    "Plan",
    "Raw",
    "Refuse",
    "Say",
    "Seen",
    "Slow",
    "Vectors",
]

Plan = Sequence[Behaviour] | Callable[[Seen], Behaviour]


class ModelServer:
    """See the module."""

    def __init__(self, plan: Plan | None = None):
        self.seen: list[Seen] = []
        self.prompt = self.completion = self.answered = 0
        self.at_once = self.most_at_once = 0
        self._plan: Plan = plan if plan is not None else [Say("fine")]
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"told": self})
        )
        self._http.daemon_threads = True
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def anthropic(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai(self) -> str:
        return f"{self.anthropic}/v1"

    @property
    def requests(self) -> int:
        return len(self.seen)

    def play(self, plan: Plan) -> None:
        """Another plan from here on; what was seen and counted is forgotten."""
        with self._lock:
            self._plan, self.seen = plan, []
            self.prompt = self.completion = self.answered = self.most_at_once = 0

    def sleep(self, seconds: float) -> None:
        """Like a slow server, but one that can be stopped."""
        self._stopping.wait(seconds)

    def note(self, wire: str, headers: Mapping[str, str], raw: bytes) -> tuple[Seen, Behaviour]:
        with self._lock:
            number = len(self.seen)
            seen = Seen(number, wire, headers, json.loads(raw), raw, time.monotonic())
            self.seen.append(seen)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            plan = self._plan
        if callable(plan):
            return seen, plan(seen)
        return seen, plan[min(number, len(plan) - 1)]

    def count(self, prompt: int, completion: int) -> None:
        with self._lock:
            self.prompt += prompt
            self.completion += completion
            self.answered += 1

    def left(self) -> None:
        with self._lock:
            self.at_once -= 1


class _Handler(BaseHTTPRequestHandler):
    """One connection; `told` is set by the server that makes it."""

    told: ModelServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        kinds = {"messages": "anthropic", "embeddings": "embeddings"}
        wire = kinds.get(self.path.rpartition("/")[2], "openai")
        seen, behaviour = self.told.note(wire, headers, raw)
        try:
            self._answer(seen, behaviour)
        finally:
            self.told.left()

    def _answer(self, seen: Seen, behaviour: Behaviour) -> None:
        if isinstance(behaviour, Fail):
            return self._fail(seen, behaviour)
        if isinstance(behaviour, Raw):
            return self._whole(200, behaviour.body)
        if isinstance(behaviour, Cut) and behaviour.where == "before":
            return self._reset()
        if isinstance(behaviour, Slow):
            self.told.sleep(behaviour.before)
        pause = behaviour.each if isinstance(behaviour, Slow) else 0.0
        cut = behaviour.where if isinstance(behaviour, Cut) else ""
        if seen.wire == "embeddings":
            return self._embedded(seen, behaviour, pause, bool(cut))
        spoken = _spoken(behaviour, seen)
        prompt, completion = len(seen.raw) // 4, len(str(spoken)) // 4 + 1
        late = isinstance(behaviour, Slow) and behaviour.each > 0
        if not late and not cut:  # before the last byte, which the client may act upon at once
            self.told.count(prompt, completion)
        if seen.body.get("stream"):
            events = (openai_events if seen.wire == "openai" else anthropic_events)(
                seen.body, seen.number, spoken, prompt, completion
            )
            done = self._stream(events, pause, cut)
        else:
            make = openai_whole if seen.wire == "openai" else anthropic_whole
            data = make(seen.body, seen.number, spoken, prompt, completion)
            done = self._whole(200, json.dumps(data).encode(), pause=pause, cut=bool(cut))
        if done and late:
            self.told.count(prompt, completion)
        return None

    def _embedded(self, seen: Seen, behaviour: Behaviour, pause: float, cut: bool) -> None:
        told = behaviour if isinstance(behaviour, Vectors) else Vectors(lambda _: [1.0, 0.0])
        texts = seen.body["input"]
        rows = list(map(told.rows, texts)) if callable(told.rows) else list(told.rows)
        prompt = len(seen.raw) // 4
        if not cut:
            self.told.count(prompt, 0)
        data = openai_vectors(seen.body, rows, told.backwards, prompt)
        self._whole(200, json.dumps(data).encode(), pause=pause, cut=cut)

    def _fail(self, seen: Seen, failure: Fail) -> None:
        fault = {"message": failure.message, "type": failure.code, "code": failure.code}
        if seen.wire == "anthropic":
            body: Any = {"type": "error", "error": fault}
        else:
            body = {"error": {**fault, "param": None}}
        self._whole(failure.status, json.dumps(body).encode(), failure.headers)

    def _whole(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        pause: float = 0.0,
        cut: bool = False,
    ) -> bool:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if cut:
            self.wfile.write(body[: len(body) // 2])
            self._reset()
            return False
        step = 8 if pause else len(body) or 1
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            self.wfile.flush()
            self.told.sleep(pause)
        return True

    def _stream(self, events: Sequence[str], pause: float, cut: str) -> bool:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        quiet = cut == "quietly"
        self.send_header(*(("Connection", "close") if quiet else ("Transfer-Encoding", "chunked")))
        self.end_headers()
        for number, event in enumerate(events):
            if cut and number == len(events) // 2:
                self.close_connection = True
                if not quiet:
                    self._reset()
                return False
            raw = event.encode()
            self.wfile.write(raw if quiet else b"%x\r\n%s\r\n" % (len(raw), raw))
            self.wfile.flush()
            self.told.sleep(pause)
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _reset(self) -> None:
        """End the connection the hard way."""
        self.close_connection = True
        self.wfile.flush()
        linger = struct.pack("ii", 1, 0)
        time.sleep(0.02)  # what was written goes out first
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.shutdown(socket.SHUT_RDWR)


def _spoken(behaviour: Behaviour, seen: Seen) -> dict[str, Any]:
    """What is said, whatever the format: text, calls, finish and refusal."""
    if isinstance(behaviour, Refuse):
        finish = "content_filter" if behaviour.filtered else "refusal"
        return {"text": behaviour.text, "calls": [], "finish": finish}
    if isinstance(behaviour, Data):
        value = behaviour.value
        text = value if isinstance(value, str) else json.dumps(value)
        choice = seen.body.get("tool_choice")
        if isinstance(choice, dict):
            name = choice.get("name") or choice.get("function", {}).get("name")
            return {"text": "", "calls": [(name, value)], "finish": None}
        return {"text": text, "calls": [], "finish": None}
    if isinstance(behaviour, Say):
        return {
            "text": behaviour.text,
            "calls": list(behaviour.calls),
            "finish": behaviour.finish,
        }
    text = behaviour.text if isinstance(behaviour, Slow) else "this text is never seen whole"
    return {"text": text, "calls": [], "finish": None}
