"""A whole Prefect server as a process, with its scheduler and all other services, and workers.

The temporary server of `vepa run` has no scheduler.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from small_runs import environment
from tiny_office import ROOT

__all__ = ["Server", "awaited", "killed", "serving", "worker"]

#: Seconds that anything may take on a busy machine.
LIMIT = 240.0
#: Tighter than a server's own, so that tests need not wait.
QUICK = {
    "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "2",
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
        "prefect.server.concurrency.lease_storage.filesystem"
    ),
    "PREFECT_SERVER_SERVICES_REPOSSESSOR_LOOP_SECONDS": "2",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1,localhost",
}


class Server:
    """A whole Prefect server: its API, and what talks to it."""

    def __init__(self, home: Path, url: str):
        self.home, self.url = home, url
        self.client = httpx.Client(base_url=url, trust_env=False, timeout=30)

    def variables(self, **more: str) -> dict[str, str]:
        wanted = {"PREFECT_API_URL": self.url, "PREFECT_WORKER_QUERY_SECONDS": "1", **more}
        return environment(PREFECT_HOME=str(self.home / "client"), **QUICK, **wanted)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the server answers; it says 503 while its database is locked."""
        end = time.monotonic() + LIMIT
        while True:
            answer = self.client.request(method, f"{self.url}{path}", json=body)
            if answer.status_code != 503 or time.monotonic() > end:
                return answer.raise_for_status().json()
            time.sleep(1)

    def answers(self) -> bool:
        """Whether it is up."""
        try:
            return self.client.get(f"{self.url}/health").is_success
        except httpx.TransportError:
            return False

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self.ask("POST", path, body)

    def deploy(
        self, project: Path, *more: str, name: str = "lifecycle/weekly", **variables: str
    ) -> dict[str, Any]:
        """Set everything up as the shipped script does; the deployment of that name.

        The profile is `small` of a project whose folder is what a worker sees.
        """
        options = [
            "-n", name, "--param", "profile=small", "--param", f"project={project}",
            "--param", f"artifacts={project / 'artifacts'}", *more,
        ]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "scripts/prefect_setup.py", "--limit", "openai=2", "--", *options],
            cwd=ROOT, env=self.variables(**variables), capture_output=True, text=True,
            timeout=LIMIT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = self.get(f"/deployments/name/{name}")
        return found

    def start(self, deployment: dict[str, Any]) -> str:
        key = {"idempotency_key": str(uuid4())}
        run: dict[str, Any] = self.post(f"/deployments/{deployment['id']}/create_flow_run", key)
        return str(run["id"])

    def run(self, flow_run: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/flow_runs/{flow_run}")
        return found

    def states(self, flow_run: str) -> list[str]:
        listed = self.get(f"/flow_run_states/?flow_run_id={flow_run}")
        return [str(state["name"]) for state in sorted(listed, key=lambda each: each["timestamp"])]

    def ended(self, flow_run: str, limit: float = LIMIT) -> dict[str, Any]:
        """The run once it is over."""
        over = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
        awaited(lambda: self.run(flow_run)["state_type"] in over, limit)
        return self.run(flow_run)


def awaited(condition: Callable[[], Any], limit: float = LIMIT) -> Any:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.5)
    pytest.fail(f"nothing happened within {limit:.0f} s")


def descendants(pid: int) -> list[int]:
    """A process and all that it started, whatever their groups."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def killed(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 of a process and of all that it started."""
    for pid in descendants(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


@contextmanager
def serving(home: Path, **variables: str) -> Iterator[Server]:
    """A server in a process of its own; it leaves when its standard input closes.

    Parameters
    ----------
    home
        Of its database; one that is there is taken up.
    variables
        Beside those that keep it quiet.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        told = {"PREFECT_HOME": str(home), "PREFECT_UI_API_URL": url, **QUICK, **variables}
        with open(home / "server.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "vepa.bench.runs.server", str(listener.fileno())],
                stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=[listener.fileno()],
                env=environment(**told), start_new_session=True,
            )  # fmt: skip
    server = Server(home, url)

    def answers() -> bool:
        assert process.poll() is None, (home / "server.log").read_text()[-3000:]
        return server.answers()

    try:
        awaited(answers)
        yield server
    finally:
        killed(process)
        server.client.close()


@contextmanager
def worker(server: Server, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the pool `default`."""
    with open(server.home / f"{name}.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", "worker", "start", "--pool", "default",
             "--name", name],
            cwd=server.home, env=server.variables(), stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            killed(process)
