"""Synapse that starts over in well under a second.

Two things are different from its own start command. Its check of optional extras is left out: it
refuses to start when another package of the same environment pins, say, beautifulsoup4 below what
one of its unused extras would like. And the server runs in a child of this process, forked after
all imports, on a copy of the database: `POST /_office/reset` makes a new copy and a new child, and
is answered when that one listens. When the service ends, the copy goes back to the data folder.

Usage: serve.py -c HOMESERVER.YAML --data DATA --host HOST --port PORT [--prepare]
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import signal
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import synapse.util.check_dependencies as checks

checks.check_requirements = lambda extra=None: None  # noqa: ARG005

NAME = "homeserver.db"


def copied(source: Path, target: Path) -> None:
    """Copy a database as its engine sees it, journals included."""
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    with (
        contextlib.closing(sqlite3.connect(source)) as one,
        contextlib.closing(sqlite3.connect(part)) as other,
    ):
        one.backup(other)
    part.replace(target)


@dataclass
class Child:
    """One server process: what it says, what it is told, its database."""

    pid: int
    says: int
    told: int
    database: Path

    def heard(self) -> bytes:
        """What it said: `1` it listens, `r` it is asked for a reset, nothing: it has ended."""
        return os.read(self.says, 1)

    def end(self, how: int) -> None:
        """End it and wait for that."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, how)
        os.waitpid(self.pid, 0)
        os.close(self.says)
        os.close(self.told)


class Starter:
    """Holds the port and starts servers on it.

    Parameters
    ----------
    config
        Synapse's own configuration, without database.
    data
        The folder with the database that every server begins with.
    listening
        The socket that they all accept from.
    reactor
        Twisted's reactor, a stand-in until a child puts a real one behind it.
    """

    def __init__(self, config: Path, data: Path, listening: socket.socket, reactor: Any):
        self._config, self._data = config, data
        self._socket, self._reactor = listening, reactor
        self._work = Path(tempfile.mkdtemp(prefix="chat-"))
        self._count = 0
        self.child = self._fork()

    def _fork(self) -> Child:
        self._count += 1
        database = self._work / f"{self._count}.db"
        if (self._data / NAME).exists():
            copied(self._data / NAME, database)
        says, say = os.pipe()
        hear, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.close(says)
            os.close(told)
            code = 1
            try:
                self._reactor._install_real_reactor(real_reactor())
                override = database.with_suffix(".json")
                args = {"database": str(database)}
                override.write_text(json.dumps({"database": {"name": "sqlite3", "args": args}}))
                serve([self._config, override], self._socket, say, hear)
                code = 0
            finally:
                os._exit(code)
        os.close(say)
        os.close(hear)
        child = Child(pid, says, told, database)
        if child.heard() != b"1":
            raise SystemExit("the server did not come up; its log says why")
        return child

    def reset(self) -> None:
        """A new server from the seed; the old one answers who asked, and goes."""
        old, self.child = self.child, self._fork()
        os.write(old.told, b"k")
        os.waitpid(old.pid, 0)
        os.close(old.says)
        os.close(old.told)
        for file in self._work.glob(f"{old.database.stem}.*"):
            file.unlink()

    def run(self) -> None:
        """Until the server ends by itself."""
        while self.child.heard() == b"r":
            self.reset()
        raise SystemExit("the server has ended; its log says why")

    def stop(self) -> None:
        """End the server and keep what it wrote."""
        self.child.end(signal.SIGTERM)
        copied(self.child.database, self._data / NAME)
        for file in self._work.iterdir():
            file.unlink()
        self._work.rmdir()


def real_reactor() -> Any:
    """A reactor of this process's own."""
    from twisted.internet.epollreactor import EPollReactor

    return EPollReactor()


def serve(configs: list[Path], listening: socket.socket, say: int, hear: int) -> None:
    """The server itself, in the child."""
    from synapse.app import _base, homeserver
    from synapse.logging.context import LoggingContext
    from twisted.internet import reactor

    ports: list[Any] = []

    def listen(_addresses: Any, _port: int, factory: Any, *_: Any, **__: Any) -> list[Any]:
        factory.resource.putChild(b"_office", office(ports, say, hear))
        ports.append(reactor.adoptStreamPort(listening.fileno(), socket.AF_INET, factory))
        return ports

    _base.listen_tcp = listen
    lighten()
    config = homeserver.load_or_generate_config([f"--config-path={each}" for each in configs])
    with LoggingContext(name="main", server_name=config.server.server_name):
        server = homeserver.create_homeserver(config)
        homeserver.setup(server)

        async def begin() -> None:
            await homeserver.start(server)
            os.write(say, b"1")

        homeserver.register_start(server, begin)
        homeserver.start_reactor(config)


def lighten() -> None:
    """Write without waiting for the disk: the database is a copy that no crash has to survive."""
    from synapse.storage.engines.sqlite import Sqlite3Engine

    plain = Sqlite3Engine.on_new_connection

    def connected(self: Any, connection: Any) -> None:
        plain(self, connection)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = MEMORY").fetchall()

    Sqlite3Engine.on_new_connection = connected


def office(ports: list[Any], say: int, hear: int) -> Any:
    """What resets the server: `POST /_office/reset`, with the key of the registration."""
    from twisted.internet import reactor
    from twisted.web.resource import Resource
    from twisted.web.server import NOT_DONE_YET

    class Reset(Resource):
        isLeaf = True  # noqa: N815 - twisted's name

        def render_POST(self, request: Any) -> Any:  # noqa: N802 - twisted's name
            if request.getHeader("X-Office-Key") != os.environ["OFFICE_KEY"]:
                request.setResponseCode(403)
                return b""
            for port in ports:
                port.stopReading()  # who comes now is the next server's
            os.write(say, b"r")

            def answered(_: Any = None) -> None:
                request.setHeader(b"Connection", b"close")
                request.setHeader(b"Content-Length", b"0")
                request.finish()
                reactor.callLater(0.1, os._exit, 0)  # the answer is on its way by then

            def wait() -> None:
                os.read(hear, 1)
                reactor.callFromThread(answered)

            reactor.callInThread(wait)
            return NOT_DONE_YET

    return Reset()


def stopped(starter: Starter) -> Callable[..., None]:
    """What a signal does."""

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        starter.stop()
        os._exit(0)

    return end


def main() -> None:
    """Read the arguments, import, start."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", dest="config", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--prepare", action="store_true")
    given = parser.parse_args()
    if given.prepare:
        from synapse.app import homeserver

        homeserver.load_or_generate_config(["-c", str(given.config), "--generate-keys"])
        return
    from synapse.app.complement_fork_starter import ProxiedReactor
    from twisted.internet.main import installReactor

    reactor = ProxiedReactor()
    installReactor(reactor)
    import synapse.app.homeserver  # noqa: F401 - the long part, done once

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((given.host, given.port))
    listening.listen(128)
    listening.setblocking(False)
    gc.collect()
    gc.freeze()  # what is imported stays in memory once, for all children
    starter = Starter(given.config, given.data, listening, reactor)
    signal.signal(signal.SIGTERM, stopped(starter))
    starter.run()


if __name__ == "__main__":
    sys.exit(main())
