"""The shipped deployments on a real Prefect server with a worker: schedule, crash, two at once.

The server of the other tests has no scheduler: this one is a whole server, on a copy of its data.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect_server import Server, awaited, killed, serving, worker
from small_runs import SmallProject
from tiny_office import ROOT

from vepa.lifecycle import stages

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("corpus-flow"),
    pytest.mark.timeout(600),
]
#: Few and many rounds: a short run, and one that lasts long enough to be killed in the middle.
SHORT = """\
title: A short run
events: [small.events.jsonl]
rounds: 2
evolution: {patches: 4}
baselines: [lookup]
"""
LONG = SHORT.replace("rounds: 2", "rounds: 40").replace("patches: 4", "patches: 60")


@pytest.fixture(scope="module")
def whole_server(prefect_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with all its services, on a copy of the data of the other one."""
    home = tmp_path_factory.mktemp("whole")
    shutil.copy(prefect_home / "prefect.db", home)
    with serving(home, PREFECT_UI_ENABLED="false") as server:
        yield server


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
    deployed = whole_server.deploy(project.folder, "--interval", "30")
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
    deployed = whole_server.deploy(project.folder)
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
    deployed = whole_server.deploy(project.folder)
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
    deployed = whole_server.deploy(project.folder)
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
