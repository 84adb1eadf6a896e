"""A tiny environment `memos`, served by the standard library: it needs no packages, starts fast."""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from vepa.services.environment import ROLES
from vepa.services.places import Places
from vepa.services.runtimes import processes

ROOT = Path(__file__).parents[2]

#: Keeps memos with random ids and times in one file, which it reads anew for every request.
SERVER = """
import argparse, base64, json, os, sys, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

options = argparse.ArgumentParser()
for name in ("port", "data", "mode"):
    options.add_argument("--" + name)
options = options.parse_args()
FILE = Path(options.data, "memos.json")
if options.mode == "dies":
    print("cannot read the configuration", flush=True)
    sys.exit(7)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two packets: otherwise the second waits 40 ms for an acknowledgement.
    disable_nagle_algorithm = True

    def answer(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size) or "null")
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        user = base64.b64decode(given).decode().partition(":")[0]
        memos = json.loads(FILE.read_text()) if FILE.exists() else []
        if self.path == "/healthz":
            if options.mode == "hangs":
                time.sleep(60)
            return self.answer(200 if options.mode != "sick" else 503, {})
        if self.path == "/private":
            return self.answer(200 if user == "admin" else 403, {"reason": "not for " + user})
        if self.path == "/seed" and options.mode == "refuses":
            return self.answer(422, {"reason": "no memos today"})
        if self.path == "/slow":
            time.sleep(60)
        if self.path == "/die":
            os._exit(3)
        if self.path == "/long":
            return self.answer(200, "x" * 5000)
        if self.path == "/broken":
            return self.answer(500, {"reason": "out of order"})
        if self.path == "/memos" and self.command == "GET":
            return self.answer(200, memos)
        if self.command == "POST":
            made = {"id": "memo-" + uuid.uuid4().hex[:8], "text": body["text"], "by": user,
                    "made": time.time()}
            memos.append(made)
            FILE.write_text(json.dumps(memos))
            return self.answer(201, made)
        key = self.path.removeprefix("/memos/")
        one = next((memo for memo in memos if memo["id"] == key), None)
        if one is None:
            return self.answer(404, {"reason": "no such memo", "asked": key})
        if self.command == "DELETE":
            FILE.write_text(json.dumps([memo for memo in memos if memo is not one]))
            return self.answer(200, one)
        return self.answer(200, one)

    do_GET = do_POST = do_DELETE = handle_one


class Server(ThreadingHTTPServer):
    request_queue_size = 64


server = Server(("127.0.0.1", int(options.port)), Handler)
print("memos are served", flush=True)
server.serve_forever()
"""


def _tool(name: str, effect: str, request: dict, example: dict, **more: Any) -> dict[str, Any]:
    """A tool whose arguments are texts."""
    return {
        "name": f"memos_{name}",
        "description": f"Does {name} with the memos of the office.",
        "effect": effect,
        "parameters": {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: {"type": "string"} for key in example},
            "required": list(example),
        },
        "event": {
            "action_kind": "read" if effect == "read" else "update",
            "resource": "message",
            "sensitivity": "internal",
            "reversibility": "reversible",
            "tool_trust": "trusted",
            "recipient": "none",
        },
        "origin": "tool_output",
        "steps": [{"http": request}],
        "volatile": ["memo", "time"],
        "limits": {"seconds": 2, "characters": 300},
        "examples": [example],
        **more,
    }


ENVIRONMENT: dict[str, Any] = {
    "environment": 1,
    "name": "memos",
    "title": "Memos",
    "description": "Keeps memos, for tests.",
    "software": {"name": "memos", "version": "1"},
    "process": {
        "ports": {"http": 0},
        "command": [
            "{{ python }}", "-I", "{{ folder }}/serve.py", "--port", "{{ ports.http }}",
            "--data", "{{ data }}", "--mode", "plain",
        ],
        "stop": {"signal": "TERM", "seconds": 1},
    },
    "health": {"seconds": 20, "checks": [{"port": "http", "path": "/healthz"}]},
    "drivers": {"http": {"port": "http", "auth": {"how": "basic"}}},
    "accounts": {
        "admin": {"rights": "everything", "user": "admin", "password": "admin of the tests"},
        **{role: {"rights": "all memos"} for role in ROLES},
    },
    "seed": {
        "files": ["seed/memos.yaml"],
        "steps": [
            {
                "for": "seed.memos",
                "http": {"method": "POST", "path": "/seed", "json": {"text": "{{ item.text }}"}},
                "capture": {"memo": "answer.data.id"},
            }
        ],
    },
    "reset": {"how": "live"},
    "state": {
        "steps": [{"http": {"path": "/memos"}, "save": "all"}],
        "value": "all.data | map(attribute='text') | list",
    },
    "volatile": {
        "memo": {"pattern": "memo-[0-9a-f]{8}"},
        "time": {"clock": {"fields": ["made"], "form": "epoch_s"}},
    },
    "tools": [
        _tool("list", "read", {"path": "/memos"}, {}),
        _tool("show", "read", {"path": "/memos/{{ args.id | part }}"}, {"id": "memo#1"}),
        _tool("add", "write",
              {"method": "POST", "path": "/memos", "json": {"text": "{{ args.text }}"}},
              {"text": "buy milk"}),
        _tool("remove", "destroy", {"method": "DELETE", "path": "/memos/{{ args.id | part }}"},
              {"id": "memo#2"}),
    ],
    "assertions": [
        {
            "name": "exists",
            "description": "Whether a memo with this text is there.",
            "parameters": ["text"],
            "steps": [{"http": {"path": "/memos"}, "save": "all"}],
            "check": "args.text in (all.data | map(attribute='text') | list)",
            "example": {"text": "never written"},
        }
    ],
}  # fmt: skip
SEED = {"memos": [{"text": "water the plants", "class": "internal"}, {"text": "pay the rent"}]}


def changed(changes: Mapping[str, Any], of: Mapping[str, Any] = ENVIRONMENT) -> dict[str, Any]:
    """A deep copy with dotted paths set to other values; None removes the key."""
    made = copy.deepcopy(dict(of))
    for path, value in changes.items():
        *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        place: Any = made
        for key in parents:
            place = place[key]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return made


def write_environment(
    project: Path, changes: Mapping[str, Any] | None = None, *, mode: str = "plain"
) -> Path:
    """Write `environments/memos/` and the world into a project; the environment's file."""
    folder = project / "environments" / "memos"
    (folder / "seed").mkdir(parents=True, exist_ok=True)
    data = changed(changes or {})
    data["process"]["command"] = [
        mode if part == "plain" else part for part in data["process"].get("command", [])
    ]
    file = folder / "environment.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), "utf-8")
    (folder / "serve.py").write_text(SERVER, "utf-8")
    (folder / "seed" / "memos.yaml").write_text(yaml.safe_dump(SEED), "utf-8")
    shutil.copy(ROOT / "environments" / "world.yaml", project / "environments" / "world.yaml")
    return file


@contextmanager
def cache_folder() -> Iterator[Places]:
    """A cache of one's own, which `nobody` can pass through; nothing may run in it at the end."""
    root = Path(tempfile.mkdtemp(prefix="vepa-test-"))
    root.chmod(0o711)
    try:
        yield Places(root)
        running = [*processes.launchers(root), *processes.leftovers(root)]
        assert running == []
    finally:
        shutil.rmtree(root)


def nothing_left(cache: Places) -> None:
    """No process, no office, no half-made snapshot."""
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []
    if cache.offices.is_dir():
        assert [path.name for path in cache.offices.iterdir()] == []
    if cache.snapshots.is_dir():
        assert [path.name for path in cache.snapshots.iterdir() if path.suffix != ".lock"] == []
