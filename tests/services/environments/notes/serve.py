"""A small store of notes: each one a file; strict about the address that it is asked at."""

from __future__ import annotations

import argparse
import http.server
import json
import pathlib
import signal
import sys

parser = argparse.ArgumentParser()
for name in ("host", "port", "data", "config"):
    parser.add_argument(f"--{name}")
options = parser.parse_args()
data = pathlib.Path(options.data)
config = json.loads(pathlib.Path(options.config).read_text())
if not (data / "prepared").exists():
    sys.exit("the data folder was not prepared")
read_again = []
signal.signal(signal.SIGHUP, lambda *_: read_again.append(1))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets: 40 ms apart otherwise

    def answer(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        # As servers that write links do: another address than the configured one is refused.
        if self.headers["Host"] != config["address"]:
            self.answer(421, {"message": f"this is {config['address']}"})
            return
        note = data / f"{self.path.strip('/')}.note"
        if self.path == "/":
            notes = {path.stem: path.read_text() for path in sorted(data.glob("*.note"))}
            self.answer(200, notes)
        elif self.command == "PUT":
            note.write_text(body)
            self.answer(200, {"written": note.stem})
        elif not note.exists():
            self.answer(404, {"message": "no such note"})
        elif self.command == "DELETE":
            note.unlink()
            self.answer(200, {"deleted": note.stem})
        else:
            self.answer(200, {"text": note.read_text(), "signals": len(read_again)})

    do_GET = do_PUT = do_DELETE = handle_any  # noqa: N815


print("notes: listening", flush=True)  # noqa: T201
http.server.ThreadingHTTPServer((options.host, int(options.port)), Handler).serve_forever()
