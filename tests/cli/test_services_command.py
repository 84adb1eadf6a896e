"""`vepa services …` on the tiny environment: real processes, its own cache."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_office import cache_folder, nothing_left, write_environment
from tiny_service import wait_for

from vepa.cli.services_checks import new_lines
from vepa.services.places import Places
from vepa.services.runtimes import processes


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    with cache_folder() as places:
        monkeypatch.setenv("VEPA_CACHE", str(places.root))
        yield places


@pytest.fixture(scope="module")
def kept() -> Iterator[Places]:
    """A cache for the tests of this module, so that the seed is put in once."""
    with cache_folder() as places:
        yield places


@pytest.fixture
def shared(kept: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    """The shared cache, in use."""
    monkeypatch.setenv("VEPA_CACHE", str(kept.root))
    return kept


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_environment(tmp_path)
    return tmp_path


@pytest.fixture
def office(vepa: Any, shared: Places, project: Path) -> Iterator[str]:
    """An office that is up."""
    ran = vepa("services", "up", "memos", "--project", project, "--office", "mine", "--json")
    assert ran.code == 0, ran.err
    yield ran.json["office"]
    vepa("services", "down", "--all")


def error(ran: Any) -> dict[str, Any]:
    """The error of a command that ended with bad input."""
    assert ran.code == 2, ran
    assert "Traceback" not in ran.err
    assert ran.err.lstrip().splitlines()
    told: dict[str, Any] = ran.json["error"]
    assert "error: " in ran.err
    return told


# --- a life


def test_an_office_from_up_to_down(vepa: Any, cache: Places, project: Path) -> None:
    ran = vepa("services", "up", "memos", "--project", project, "--json")
    assert ran.code == 0, ran.err
    document = ran.json
    assert set(document) == {"office", "runtime", "services", "seconds"}
    (service,) = document["services"]
    assert (document["runtime"], service["name"], service["host"]) == (
        "process",
        "memos",
        "127.0.0.1",
    )
    assert set(service) == {"name", "host", "ports", "seconds", "memory_mib"}
    assert service["ports"]["http"] > 0
    assert 1 < service["memory_mib"] < 200
    assert 0 < service["seconds"] <= document["seconds"]
    assert "memos: seeding" in ran.err  # progress, in plain lines where stderr is no terminal
    assert f"vepa services down --office {document['office']}" in ran.err

    status = vepa("services", "status", "--json")
    assert status.code == 0
    (view,) = status.json["offices"]
    assert (view["office"], view["runtime"], view["problem"]) == (
        document["office"],
        "process",
        None,
    )
    (seen,) = view["services"]
    assert (seen["state"], seen["ports"], seen["written"]) == ("running", service["ports"], False)

    down = vepa("services", "down", "--json")
    assert (down.code, down.json["down"]) == (0, [document["office"]])
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []
    assert list(cache.offices.iterdir()) == []
    assert vepa("services", "status", "--json").json == {"offices": []}


def test_up_prints_a_table_and_what_is_next(vepa: Any, shared: Places, project: Path) -> None:
    ran = vepa("services", "up", "memos", "--project", project, "--office", "mine")
    assert ran.code == 0, ran.err
    assert "office mine" in ran.out
    assert "http 127.0.0.1:" in ran.out
    assert "next: vepa tools list --env memos; vepa tools call" in ran.err
    shown = vepa("services", "status")
    assert "running" in shown.out
    assert "at its seed" in shown.out
    assert "written to" not in shown.out
    assert vepa("services", "down").out == "down: office mine\n"


def test_it_outlives_the_command_that_started_it(
    process: Any, shared: Places, project: Path
) -> None:
    ran = process("services", "up", "memos", "--project", project, "--office", "mine", "--json")
    assert ran.code == 0, ran.err
    try:
        assert len(processes.launchers(shared.root)) >= 1
        assert process("services", "status", "--json").json["offices"][0]["office"] == "mine"
    finally:
        down = process("services", "down", "--office", "mine")
    assert down.code == 0
    assert [*processes.launchers(shared.root), *processes.leftovers(shared.root)] == []


def test_reset_tells_what_it_did(vepa: Any, office: str) -> None:
    nothing = vepa("services", "reset", "--json")
    assert (nothing.code, nothing.json["reset"], nothing.json["unexpected"]) == (0, [], [])
    added = vepa("tools", "call", "memos_add", "--args", '{"text": "x"}')
    assert added.code == 0, added.err
    assert "written to" in vepa("services", "status").out
    done = vepa("services", "reset", "memos", "--json")
    assert (done.code, done.json["reset"], done.json["office"]) == (0, ["memos"], "mine")
    assert 0 < done.json["seconds"]["memos"] <= done.json["total"] + 0.01
    assert "written to" not in vepa("services", "status").out
    listed = json.loads(vepa("tools", "call", "memos_list").out)
    assert [memo["text"] for memo in listed] == ["water the plants", "pay the rent"]
    every = vepa("services", "reset", "--all")
    assert every.out.startswith("reset: memos in ")


def test_status_and_reset_of_a_service_that_died(vepa: Any, shared: Places, office: str) -> None:
    (status_file,) = shared.offices.glob("mine/memos/status.json")
    pid = json.loads(status_file.read_text())["process"]["pid"]
    os.kill(pid, signal.SIGKILL)
    limit = time.monotonic() + 30
    while vepa("services", "status").code == 0 and time.monotonic() < limit:
        time.sleep(0.05)
    ran = vepa("services", "status", "--json")
    assert ran.code == 1
    (service,) = ran.json["offices"][0]["services"]
    assert (service["state"], service["host"], service["ports"]) == ("failed", None, {})
    assert "SIGKILL" in service["reason"]
    assert "memos failed: " in ran.err
    healed = vepa("services", "reset", "--all")
    assert healed.code == 0, healed.err
    assert vepa("services", "status").code == 0


def test_a_reset_that_cannot_be_says_what_to_do(vepa: Any, cache: Places, project: Path) -> None:
    assert vepa("services", "up", "memos", "--project", project, "--office", "mine").code == 0
    for launcher in processes.launchers(cache.root):
        os.kill(launcher.process.pid, signal.SIGKILL)
    wait_for(lambda: not processes.launchers(cache.root))
    shown = vepa("services", "status")
    assert (shown.code, "not running" in shown.out) == (1, True)
    ran = vepa("services", "reset")
    assert ran.code == 1
    assert "office 'mine' cannot be brought back to its seed" in ran.err
    remedy = "vepa services down --office mine, then vepa services up memos --office mine"
    assert remedy in ran.err.replace("\n", " ")
    assert vepa("services", "down", "--office", "mine").code == 0
    assert vepa("services", "up", "memos", "--project", project, "--office", "mine").code == 0
    assert vepa("services", "down").code == 0


def test_logs(vepa: Any, office: str) -> None:
    plain = vepa("services", "logs")
    assert plain.code == 0
    assert "memos | memos are served\n" in plain.out
    one = vepa("services", "logs", "memos", "--lines", "1000")
    assert "memos are served\n" in one.out
    assert "memos | " not in one.out
    told = vepa("services", "logs", "--lines", "1", "--json").json
    assert told["office"] == "mine"
    assert len(told["logs"]["memos"]) == 1


def test_following_logs_goes_on_until_interrupted(shared: Places, office: str, vepa: Any) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "vepa", "services", "logs", "memos", "--follow", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert child.stdout is not None
    first = [json.loads(child.stdout.readline()) for _ in range(2)]
    assert first[1] == {"service": "memos", "line": "memos are served"}
    assert vepa("tools", "call", "memos_show", "--args", '{"id": "followed"}').code == 1
    for line in child.stdout:
        if "GET /memos/followed" in json.loads(line)["line"]:
            break
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130
    child.stdout.close()


@pytest.mark.parametrize(
    ("before", "now", "fresh"),
    [
        ([], [], []),
        ([], ["a"], ["a"]),
        (["a", "b"], ["a", "b"], []),
        (["a", "b"], ["a", "b", "c"], ["c"]),
        (["a", "b", "c"], ["b", "c", "d", "e"], ["d", "e"]),
        (["a", "a"], ["a", "a", "a"], ["a"]),
        (["a", "b"], ["x", "y"], ["x", "y"]),
    ],
)
def test_new_lines_of_a_log(before: list[str], now: list[str], fresh: list[str]) -> None:
    assert new_lines(before, now) == fresh


# --- the contract


def test_the_contract_of_the_tiny_environment(vepa: Any, shared: Places, project: Path) -> None:
    ran = vepa("services", "test", "memos", "--project", project, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["held"] is True
    clauses = {each["clause"]: each for each in ran.json["clauses"]}
    assert {
        "the state is the seed",
        "tool memos_add",
        "tool memos_remove",
        "a reset of everything leads to the seed",
        "nothing is left running",
    } <= set(clauses)
    assert all(each["held"] and each["why"] is None for each in clauses.values())
    assert [*processes.launchers(shared.root), *processes.leftovers(shared.root)] == []


def test_a_tool_that_writes_though_it_says_read_breaks_the_contract(
    vepa: Any, cache: Places, tmp_path: Path
) -> None:
    write_environment(tmp_path, {"tools.2.effect": "read"})
    ran = vepa("services", "test", "memos", "--project", tmp_path)
    assert ran.code == 1
    assert "✗" in ran.out
    assert "its effect is `read`, and the state has changed" in ran.out
    told = vepa("services", "test", "memos", "--project", tmp_path, "--json")
    assert (told.code, told.json["held"]) == (1, False)
    broken = [each["clause"] for each in told.json["clauses"] if not each["held"]]
    assert "reading changes nothing" in broken


# --- bad input


@pytest.mark.parametrize(
    ("changes", "mode", "field", "message", "remedy"),
    [
        ({}, "dies", "process", "died before it was healthy", "`health`"),
        ({"health.seconds": 0.5}, "hangs", "process", "not healthy within 0.5 s", "`health`"),
        ({}, "refuses", "seed.steps.0", "no memos today", "seeds"),
        ({"process.packages": ["not-there==1.0"]}, "plain", "process.packages",
         "is not installed", "vepa services install"),
        ({"process.programs": ["no-such-program"]}, "plain", "process.programs",
         "not on PATH", "install it"),
        ({"health.checks.0.port": "web"}, "plain", "health.checks.0", "names no port", "docs/"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["up", "test"])
def test_what_cannot_be_started(
    vepa: Any, cache: Places, tmp_path: Path, verb: str, changes: dict[str, Any], mode: str,
    field: str | None, message: str, remedy: str,
) -> None:  # fmt: skip
    file = write_environment(tmp_path, changes, mode=mode)
    told = error(vepa("services", verb, "memos", "--project", tmp_path, "--json"))
    assert message in told["message"]
    assert (told["file"], told["field"]) == (str(file), field)
    assert remedy in told["remedy"]
    nothing_left(cache)


@pytest.mark.parametrize("verb", ["up", "install", "test"])
def test_no_engine_for_containers(
    vepa: Any, cache: Places, project: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{project}/none.sock")
    told = error(
        vepa("services", verb, "memos", "--project", project, "--runtime", "docker", "--json")
    )
    assert "no container engine answers" in told["message"]
    assert told["field"] == "--runtime docker"
    assert "the runtime `process` needs none" in told["remedy"]
    nothing_left(cache)


def test_a_broken_file_is_named_with_its_line(vepa: Any, cache: Places, tmp_path: Path) -> None:
    file = write_environment(tmp_path)
    file.write_text(file.read_text().replace("http: 0", "http: zero"))
    told = error(vepa("services", "up", "memos", "--project", tmp_path, "--json"))
    assert (told["file"], told["field"]) == (str(file), "process.ports.http")
    assert file.read_text().splitlines()[told["line"] - 1].strip() == "http: zero"


NAMES = [
    (("up", "memoz"), "NAME", "no environment 'memoz'"),
    (("install", "memoz"), "NAME", "no environment 'memoz'"),
    (("test", "memoz"), "NAME", "no environment 'memoz'"),
    (("up", "memos", "--office", "No Good"), "--office", "no name for an office"),
    (("up", "memos", "--office", "mine"), "--office", "'mine' is up already"),
    (("status", "--office", "yours"), "--office", "no office 'yours'"),
    (("down", "--office", "yours"), "--office", "no office 'yours'"),
    (("reset", "--office", "yours"), "--office", "no office 'yours'"),
    (("logs", "--office", "yours"), "--office", "no office 'yours'"),
    (("reset", "memoz"), "NAME", "no service 'memoz'"),
    (("logs", "memoz"), "NAME", "no service 'memoz'"),
    (("down", "--office", "mine", "--all"), "--all", "not both"),
]


def test_names_that_are_none(vepa: Any, office: str, project: Path) -> None:
    for arguments, field, message in NAMES:
        told = error(vepa("services", *arguments, "--project", project, "--json"))
        assert message in told["message"], arguments
        assert told["field"] == field, arguments
        assert told["remedy"], arguments
    assert vepa("services", "status", "--office", "mine").code == 0


@pytest.mark.parametrize("verb", ["down", "reset", "logs"])
def test_no_office_is_up(vepa: Any, cache: Places, verb: str) -> None:
    told = error(vepa("services", verb, "--json"))
    assert told["message"] == "no office is up"
    assert told["remedy"] == "vepa services up"


def test_all_offices_down_is_fine_without_any(vepa: Any, cache: Places) -> None:
    ran = vepa("services", "down", "--all", "--json")
    assert (ran.code, ran.json) == (0, {"down": [], "swept": []})


def test_a_project_without_a_world(
    vepa: Any, cache: Places, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "environments" / "world.yaml").unlink()
    monkeypatch.chdir(project)
    monkeypatch.setattr("vepa.project.package_content", lambda: project)
    told = error(vepa("services", "up", "memos", "--json"))
    assert "'world.yaml'" in told["message"]
    assert told["remedy"]
    nothing_left(cache)


def test_a_project_without_environments(
    vepa: Any, cache: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vepa.project.package_content", lambda: tmp_path)
    assert "no environments" in error(vepa("services", "up", "--json"))["message"]


def test_nothing_to_install(vepa: Any, cache: Places, project: Path) -> None:
    ran = vepa("services", "install", "memos", "--project", project, "--json")
    assert (ran.code, ran.json["places"]) == (0, [])
    assert "nothing to install" in vepa("services", "install", "memos", "--project", project).out


def test_an_interrupted_up_leaves_nothing(cache: Places, tmp_path: Path) -> None:
    write_environment(tmp_path, mode="hangs")
    child = subprocess.Popen(
        [sys.executable, "-m", "vepa", "services", "up", "memos", "--project", tmp_path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 60
    while not list(cache.offices.glob("*/*/service.log")):
        assert time.monotonic() < limit
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in said
    nothing_left(cache)
