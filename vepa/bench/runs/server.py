"""A Prefect server for the length of one command, on loopback, that dies with its parent.

Prefect starts a temporary server of its own where none is configured, but that one outlives a
parent that is killed. This one holds a pipe to its parent and leaves when the pipe closes, so a
killed run leaves no process behind.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from vepa.errors import RunError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["TemporaryServer", "quiet_environment"]

#: Seconds until a slow, freshly installed machine must have started the server.
START_LIMIT = 180.0


def quiet_environment(home: Path, *, verbose: bool = False) -> dict[str, str]:
    """Variables that keep Prefect silent and local; those that are set already are kept.

    They must stand in `os.environ` before prefect is imported.

    Parameters
    ----------
    home
        Where Prefect keeps its database, unless `PREFECT_HOME` says otherwise.
    verbose
        Let Prefect log to the terminal.
    """
    wanted = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(int(START_LIMIT)),
        # An error is raised through the flow and told once, by the command; the API keeps the log.
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO" if verbose else "CRITICAL",
    }
    settled = {name: os.environ.get(name, value) for name, value in wanted.items()}
    # A proxy must never be asked for this machine itself.
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [host for host in os.environ.get(name, "").split(",") if host]
        settled[name] = ",".join(dict.fromkeys([*hosts, "127.0.0.1", "localhost"]))
    return settled


class TemporaryServer:
    """A Prefect API server in a process of its own, as a context manager.

    Parameters
    ----------
    home
        Folder of its SQLite database and its log; what ran can be looked at later with
        `PREFECT_HOME=<home> prefect server start`.
    environment
        Variables for the process, beside those of this one.

    Attributes
    ----------
    api_url
        Where it answers; set on entry.
    """

    api_url: str

    def __init__(self, home: Path, environment: Mapping[str, str]):
        self.home = home
        self.environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True, exist_ok=True)
        with open(self.home / ".lock", "wb") as lock:
            # Two servers that make the same new database at once break one another.
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._start()
        return self

    def _start(self) -> None:
        with socket.socket() as listener:
            # The socket is handed over open, so nobody can take the port in between.
            listener.bind(("127.0.0.1", 0))
            self.api_url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
            with open(self.log, "wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "vepa.bench.runs.server", str(listener.fileno())],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=[listener.fileno()],
                    # Ctrl-C is for the run, which then tells the server how it ended.
                    start_new_session=True,
                    env={
                        **os.environ,
                        **self.environment,
                        "PREFECT_UI_ENABLED": "false",
                        "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
                        "PREFECT__SERVER_EPHEMERAL": "1",
                        "PREFECT__SERVER_FINAL": "1",
                    },
                )
        try:
            self._wait(self._process)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for handler in logging.getLogger("prefect.flow_runs").handlers:
            handler.flush()  # the last lines are still on their way to the API
        process.terminate()
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def log(self) -> Path:
        """What the server has to say."""
        return self.home / "server.log"

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        import httpx

        end = time.monotonic() + START_LIMIT
        with httpx.Client(trust_env=False, timeout=10) as client:
            while time.monotonic() < end:
                if process.poll() is not None:
                    raise self._failed(f"stopped with code {process.returncode}")
                try:
                    if client.get(f"{self.api_url}/health").is_success:
                        return
                except httpx.TransportError:
                    pass
                time.sleep(0.1)
        raise self._failed(f"did not answer within {START_LIMIT:.0f} s")

    def _failed(self, what: str) -> RunError:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        said = f"\n  it said: {lines[-1][:300]}" if lines else ""
        return RunError(
            f"the temporary Prefect server {what}{said}\n"
            f"  remedy: see {self.log}; remove {self.home} when its database is of another Prefect "
            "version, or name a running server with PREFECT_API_URL"
        )


def _serve(descriptor: int) -> None:
    import threading

    import uvicorn

    def leave_with_parent() -> None:
        os.read(sys.stdin.fileno(), 1)  # a buffer's lock would trip a server that fails by itself
        os._exit(0)

    threading.Thread(target=leave_with_parent, daemon=True).start()
    config = uvicorn.Config(
        "prefect.server.api.server:create_app", factory=True, log_level="error", lifespan="on"
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
