"""Roundup's own WSGI application, served by cheroot.

Roundup's server refuses to run as root, and derives URLs from its port. Here the tracker has a
fixed name, so nothing in the data folder knows where it listens.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIG = """\
[main]
database = db
templates = html
admin_email = admin@{domain}
password_pbkdf2_default_rounds = 1000
instant_registration = no
timezone = UTC
[tracker]
name = Tickets
web = http://tickets.{domain}/
[web]
secret_key = {secret}
api_calls_per_interval = 0
api_failed_login_limit = 0
login_attempts_min = 0
csrf_enforce_header_host = no
[rdbms]
backend = sqlite
[mail]
domain = {domain}
host = localhost
"""


def prepare(home: Path) -> None:
    """Make a new tracker with its administrator."""
    import roundup.instance

    home.mkdir(parents=True, exist_ok=True)
    for part in ("db", "html", "detectors"):
        (home / part).mkdir(exist_ok=True)
    for file in (HERE / "tracker").rglob("*.py"):
        shutil.copyfile(file, home / file.relative_to(HERE / "tracker"))
    password = os.environ["TRACKER_ADMIN"]
    # It signs ETags only, and has to outlive restarts.
    signing = hashlib.sha256(f"etags of {password}".encode()).hexdigest()
    config = CONFIG.format(domain=os.environ["TRACKER_DOMAIN"], secret=signing)
    (home / "config.ini").write_text(config, "utf-8")
    roundup.instance.open(str(home)).init(password)


def serve(home: Path, host: str, port: int) -> None:
    """Serve until a signal comes."""
    from cheroot.wsgi import Server
    from roundup.cgi.wsgi_handler import RequestDispatcher

    server = Server((host, port), RequestDispatcher(str(home)), numthreads=4, request_queue_size=64)

    def end(*_: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    try:
        server.start()
    finally:
        server.stop()


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    if given.prepare:
        prepare(given.data)
    else:
        serve(given.data, given.host, given.port)


if __name__ == "__main__":
    main()
