"""The shipped deployments on a real Prefect server with a worker: schedule, crash, two at once.

The server of the other tests has no scheduler: this one is a whole server, on a copy of its data.
"""

from __future__ import annotations

import json
import os
import shutil
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
import yaml
from small_runs import SmallProject, environment
from tiny_office import ROOT

from vepa.lifecycle import stages

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("corpus-flow"),
    pytest.mark.timeout(600),
]
LIMIT = 240.0
#: Few and many rounds: a short run, and one that lasts long enough to be killed in the middle.
SHORT = """\
title: A short run
events: [small.events.jsonl]
rounds: 2
evolution: {patches: 4}
baselines: [lookup]
"""
LONG = SHORT.replace("rounds: 2", "rounds: 40").replace("patches: 4", "patches: 60")
#: Tighter than a server's own, so that tests need not wait.
QUICK = {
    "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "2",
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
        "prefect.server.concurrency.lease_storage.filesystem"
    ),
    "PREFECT_SERVER_SERVICES_REPOSSESSOR_LOOP_SECONDS": "2",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_UI_ENABLED": "false",
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

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self.ask("POST", path, body)

    def deploy(self, project: SmallProject, *more: str) -> dict[str, Any]:
        """Set everything up as the shipped script does; the deployment `lifecycle/weekly`."""
        options = [
            "-n", "weekly", "--param", "profile=small", "--param", f"project={project.folder}",
            "--param", f"artifacts={project.folder / 'artifacts'}", *more,
        ]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "scripts/prefect_setup.py", "--limit", "openai=2", "--", *options],
            cwd=ROOT, env=self.variables(), capture_output=True, text=True, timeout=LIMIT,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = self.get("/deployments/name/lifecycle/weekly")
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


@pytest.fixture(scope="module")
def whole_server(prefect_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with all its services; it leaves when its standard input closes."""
    home = tmp_path_factory.mktemp("whole")
    shutil.copy(prefect_home / "prefect.db", home)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        with open(home / "server.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "vepa.bench.runs.server", str(listener.fileno())],
                stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=[listener.fileno()],
                env=environment(PREFECT_HOME=str(home), **QUICK), start_new_session=True,
            )  # fmt: skip
    server = Server(home, url)

    def answers() -> bool:
        assert process.poll() is None, (home / "server.log").read_text()[-3000:]
        try:
            return server.client.get(f"{url}/health").is_success
        except httpx.TransportError:
            return False

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


def whole(project: SmallProject) -> dict[str, Any]:
    """What a lifecycle left; its run is finished and its lock is free."""
    artifacts = project.folder / "artifacts"
    summary: dict[str, Any] = json.loads(
        (artifacts / "lifecycle" / "small" / "lifecycle.json").read_text()
    )
    folder = Path(summary["benchmark"]["folder"])
    assert json.loads((folder / "manifest.json").read_text())["finished"]
    with stages.held("small", str(project.folder), str(artifacts)):
        assert stages.begin_lifecycle("small", str(project.folder), str(artifacts))["open"] == []
    return summary


def test_what_is_shipped_runs_weekly_and_one_at_a_time() -> None:
    shipped = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    scheduled = [each for each in shipped["deployments"] if each["schedules"]]
    assert [each["name"] for each in scheduled] == ["weekly"]
    assert scheduled[0]["schedules"] == [{"cron": "0 3 * * 1", "timezone": "UTC"}]
    entrypoints = {each["entrypoint"].partition(":")[2] for each in shipped["deployments"]}
    assert entrypoints == {"lifecycle", "corpus", "annotate", "release", "evolve"}
    for each in shipped["deployments"]:
        assert each["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}
        file, _, flow = each["entrypoint"].partition(":")
        assert f"\ndef {flow}(" in (ROOT / file).read_text()


def test_the_team_file_opens_no_port_and_writes_no_secret() -> None:
    services = yaml.safe_load((ROOT / "compose.team.yaml").read_text())["services"]
    assert set(services) == {"database", "server", "worker"}
    assert services["server"]["image"] == services["worker"]["image"], "one version of Prefect"
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    password = services["database"]["environment"]["POSTGRES_PASSWORD"]
    assert password.startswith("${VEPA_DATABASE_PASSWORD:?"), "no default"
    keys = [each for each in services["worker"]["environment"] if "KEY" in each]
    assert keys
    assert not any("=" in key for key in keys), "passed on, not written"
    assert (ROOT / services["server"]["build"]["dockerfile"]).is_file()


@pytest.mark.slow
def test_the_schedule_fires_by_itself_and_a_worker_runs_it(
    whole_server: Server, make_project: Callable[..., SmallProject]
) -> None:
    project = make_project(SHORT, 60)
    # The second firing comes when the worker is gone.
    deployed = whole_server.deploy(project, "--interval", "30")
    filtered = {
        "deployments": {"id": {"any_": [deployed["id"]]}},
        "sort": "EXPECTED_START_TIME_ASC",
    }
    with worker(whole_server, "first"):
        listed = awaited(lambda: whole_server.post("/flow_runs/filter", filtered))
        first = whole_server.ended(listed[0]["id"])
    log = (whole_server.home / "first.log").read_text()
    assert first["state_type"] == "COMPLETED", log[-3000:]
    assert first["auto_scheduled"] is True
    assert whole(project)["made"] == ["evolve-benchmark"]
    assert deployed["global_concurrency_limit"]["limit"] == 1
    assert deployed["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert whole_server.get("/v2/concurrency_limits/vepa-openai")["limit"] == 2
    pools = {pool["name"]: pool["type"] for pool in whole_server.post("/work_pools/filter", {})}
    assert pools == {"default": "process", "gpu": "process"}


@pytest.mark.slow
def test_two_runs_at_once_follow_one_another(
    whole_server: Server, make_project: Callable[..., SmallProject]
) -> None:
    project = make_project(LONG, 200)
    deployed = whole_server.deploy(project)
    with worker(whole_server, "one"), worker(whole_server, "other"):
        runs = [whole_server.start(deployed) for _ in range(2)]
        ended = [whole_server.ended(run) for run in runs]
    assert [run["state_type"] for run in ended] == ["COMPLETED", "COMPLETED"]
    waited = ["AwaitingConcurrencySlot" in whole_server.states(run) for run in runs]
    assert sorted(waited) == [False, True]
    spans = sorted((run["start_time"], run["end_time"]) for run in ended)
    assert spans[0][1] <= spans[1][0], "they did not overlap"
    assert whole(project)["before"]["made"] == ["evolve-benchmark"]
    assert whole(project)["made"] == []


@pytest.mark.slow
def test_a_run_beside_another_process_fails_with_its_reason_and_spoils_nothing(
    whole_server: Server, make_project: Callable[..., SmallProject]
) -> None:
    project = make_project(SHORT, 60)
    deployed = whole_server.deploy(project)
    with worker(whole_server, "beside"):
        with stages.held("small", str(project.folder), str(project.folder / "artifacts")):
            failed = whole_server.ended(whole_server.start(deployed))
            assert failed["state_type"] == "FAILED"
            assert "another process runs profile small" in failed["state"]["message"]
            assert not (project.folder / "artifacts" / "runs").exists()
        after = whole_server.ended(whole_server.start(deployed))
    assert after["state_type"] == "COMPLETED"
    assert whole(project)["made"] == ["evolve-benchmark"]


@pytest.mark.slow
def test_a_run_whose_worker_was_killed_is_taken_up_by_the_next(
    whole_server: Server, make_project: Callable[..., SmallProject]
) -> None:
    project = make_project(LONG, 200)
    deployed = whole_server.deploy(project)
    with worker(whole_server, "victim") as process:
        run = whole_server.start(deployed)
        done = project.folder / "artifacts"
        awaited(lambda: len(list(done.rglob("policies/round-0*.yaml"))) >= 4)
        killed(process)
    before = {path: path.stat().st_mtime_ns for path in done.rglob("policies/round-00[1-3]*")}
    assert before
    assert whole_server.run(run)["state_type"] == "RUNNING", "nobody told the server"
    with worker(whole_server, "next"):
        again = whole_server.ended(run, 420)
    assert again["state_type"] == "COMPLETED", (whole_server.home / "next.log").read_text()[-3000:]
    assert again["run_count"] == 2
    assert "AwaitingRetry" in whole_server.states(run)
    # What stood was not made again.
    assert {path: path.stat().st_mtime_ns for path in before} == before
    whole(project)


@pytest.mark.slow
def test_the_slot_of_a_killed_process_is_free_again(whole_server: Server, tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib\nfrom vepa.lifecycle.limits import within\n"
        "with within(['vepa-tight', 'vepa-unknown'], lease=60):\n"
        "    pathlib.Path(sys.argv[1]).touch()\n    time.sleep(float(sys.argv[2]))\n"
    )
    whole_server.post("/v2/concurrency_limits/", {"name": "vepa-tight", "limit": 1})

    def holder(name: str, seconds: float) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / name), str(seconds)],
            env=whole_server.variables(), stderr=subprocess.DEVNULL,
        )  # fmt: skip

    first = holder("first", 600)
    awaited((tmp_path / "first").exists)
    second = holder("second", 0)
    time.sleep(5)
    assert not (tmp_path / "second").exists(), "the only slot is taken"
    killed(first)
    assert second.wait(180) == 0
    assert (tmp_path / "second").exists()
