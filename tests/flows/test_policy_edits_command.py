"""`vepa policy current`, `adopt` and `withdraw`, and a run that stops for a person."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import LIMIT, PROFILE, SmallProject, environment, products, vepa, work_off

from vepa.bench.runs import stages
from vepa.bench.runs.run import plan
from vepa.cli import main
from vepa.policy.reading import load_policy
from vepa.project import Project

FLIPPED = {"allow": "refuse", "refuse": "allow"}
WHO = ("--by", "Ada", "--reason", "too broad")


@pytest.fixture
def project(make_project: Callable[..., SmallProject]) -> SmallProject:
    """A project whose run has not begun."""
    return make_project(PROFILE.replace("[hoeffding, lookup]", "[lookup]"), size=150)


@pytest.fixture
def command(
    project: SmallProject, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a verb of `vepa policy` in this process; exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["--project", str(project.folder), "policy", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def narrowed(project: SmallProject, path: str) -> Path:
    """A copy of a policy in which a person narrowed the first rule."""
    policy = load_policy(Path(path).read_text())
    first = policy.rules[0].to_dict()
    free = next(name for name in policy.schema.names if name not in first["when"])
    first["when"][free] = {"in": ["unknown"]}
    document = {**policy.to_dict(), "rules": [first, *policy.to_dict()["rules"][1:]]}
    file = project.folder / "edited.yaml"
    file.write_text(json.dumps(document))
    return file


def test_a_person_edits_the_policy_of_a_run_by_three_commands(
    project: SmallProject, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, _, err = command("current", "small")
    assert (code, "there is no policy yet" in err) == (2, True)
    folder = project.begin()
    for number in (1, 2):
        stages.play_round(folder, number)
    code, out, err = command("current", "small")
    assert (code, err) == (0, "")
    assert Path(out.strip()) == folder / "policies" / "round-002.yaml"
    edited = narrowed(project, out.strip())

    bad = project.folder / "bad.yaml"
    document = json.loads(edited.read_text())
    clash = {
        **document["rules"][0],
        "id": "x",
        "decision": FLIPPED[document["rules"][0]["decision"]],
    }
    bad.write_text(json.dumps({**document, "rules": [*document["rules"], clash]}))
    code, out, err = command("adopt", "small", str(bad), *WHO, "--json")
    told = json.loads(out)
    assert (code, told["adopted"], told["feedback"][0]["code"]) == (2, False, "conflict")
    assert str(bad) in err
    assert "the run was not touched" in err
    code, out, _ = command("current", "small", "--json")
    assert json.loads(out)["interventions"] == []

    code, out, err = command("adopt", folder.name, str(edited), *WHO, "--json")
    told = json.loads(out)
    assert (code, told["before"], told["made_again"]) == (0, folder.name, [])
    assert told["intervention"]["by"] == "Ada"
    code, out, _ = command("adopt", str(folder), str(edited), *WHO)
    assert (code, "adopted after round 2 before" in out) == (0, True)
    for name in ("small", str(folder), folder.name):
        shown = json.loads(command("current", name, "--json")[1])
        assert (shown["run"], shown["policy"]) == (told["run"], told["policy"])
        assert shown["interventions"][0]["reason"] == "too broad"
    assert command("check", told["policy"])[0] == 0

    code, out, _ = command("withdraw", "small")
    assert (code, folder.name in out) == (0, True)
    assert json.loads(command("current", "small", "--json")[1])["run"] == folder.name
    assert command("withdraw", "small")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--stop-after-round", "5"), "the run has 5 rounds"),
        (("--stop-after-round", "1"), "2 rounds of"),
        (("--stop-after-round", "0"), "--stop-after-round"),
    ],
)
def test_a_run_does_not_stop_where_it_cannot(
    project: SmallProject,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    folder = project.begin()
    for number in (1, 2) if arguments[-1] == "1" else ():
        stages.play_round(folder, number)
    code = main(["--project", str(project.folder), "run", "--profile", "small", *arguments])
    assert code == 2
    assert told in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.integration
def test_stopped_edited_killed_and_gone_on(project: SmallProject, server: str) -> None:
    def ran(*arguments: str) -> Any:
        done = vepa(project, *arguments, PREFECT_API_URL=server)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    stopped = ran("run", "--profile", "small", "--stop-after-round", "2", "--json")
    assert stopped["rounds"] == {"all": 5, "done": 2}
    edited = narrowed(project, stopped["policy"])
    told = ran("policy", "adopt", "small", str(edited), *WHO, "--json")
    folder = Path(told["folder"])
    process = subprocess.Popen(
        [sys.executable, "-m", "vepa", "run", "--profile", "small"],
        cwd=project.folder,
        env=environment(PREFECT_API_URL=server),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + LIMIT
    while not (folder / "done" / "round-003.json").exists():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = ran("run", "--profile", "small", "--json")
    assert finished["id"] == told["run"]
    made = products(folder)
    assert "Ada" in (folder / "report.html").read_text()
    ran("policy", "withdraw", "small", "--json")
    assert ran("run", "--profile", "small", "--json")["id"] == stopped["id"]

    adopted = plan(Project(project.folder), "small", artifacts=project.folder / "artifacts")
    assert adopted.id == stopped["id"]
    for path in folder.iterdir():
        if path.name in {"policies", "patches", "decisions", "done"}:
            for file in path.iterdir():
                file.unlink()
    work_off(folder)
    assert products(folder) == made, "made again from nothing, it is the same"
