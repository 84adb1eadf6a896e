"""`vepa run` as a real process: Prefect, kill -9, resumption, skipping."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_runs import LIMIT, SmallProject, environment, products, vepa

from vepa.bench.comparison import best_field, errors_by_kind, standing
from vepa.bench.runs.run import plan
from vepa.cli import main
from vepa.project import Project

# One worker runs all tests of Prefect: they share a server, its database and a finished run.
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("corpus-flow")]


@pytest.fixture(scope="module")
def again(
    ran: tuple[SmallProject, subprocess.CompletedProcess[str]],
) -> subprocess.CompletedProcess[str]:
    """The same command once more; what it must leave alone is compared here."""
    project, _ = ran
    told = project.folder / "artifacts" / "prefect" / "server.log"  # every server begins it anew
    before = products(folder_of(project)), told.stat().st_mtime_ns
    result = vepa(project, "run", "--profile", "small")
    assert (products(folder_of(project)), told.stat().st_mtime_ns) == before
    return result


def folder_of(project: SmallProject) -> Path:
    return plan(Project(project.folder), "small").folder


def servers_of(project: SmallProject) -> list[int]:
    """Prefect servers that work in the project's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            variables = (process / "environ").read_bytes()
        except OSError:
            continue
        if b"vepa.bench.runs.server" in command and str(project.folder).encode() in variables:
            found.append(int(process.name))
    return found


def test_the_command_makes_the_run(
    ran: tuple[SmallProject, subprocess.CompletedProcess[str]], finished: Path
) -> None:
    project, result = ran
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["folder"] == str(folder_of(project))
    assert told["already_finished"] is False
    assert told["model_calls"] == 0
    assert Path(told["report"]).is_file()
    summary = json.loads((Path(told["folder"]) / "summary.json").read_text())
    assert told["figures"]["covered_macro_f1"] == summary["covered_macro_f1"]
    assert products(Path(told["folder"])) == products(finished), "as without Prefect, byte for byte"
    assert "Traceback" not in result.stderr
    assert told["figures"]["unsafe_allowed"] == summary["unsafe_allowed"]
    for number in range(1, 6):
        assert f"round  {number}" in result.stderr
    assert "look-up: the same stream" in result.stderr
    first = next(text for text in result.stderr.splitlines() if "round  1" in text)
    assert first.index("0% covered") < first.index("→ update:") < first.index(" active")
    assert servers_of(project) == []


def test_prefect_knows_what_ran(
    ran: tuple[SmallProject, subprocess.CompletedProcess[str]],
) -> None:
    project, _ = ran
    database = project.folder / "artifacts" / "prefect" / "prefect.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        flows = connection.execute("select state_type from flow_run").fetchall()
        tasks = connection.execute("select name, state_type from task_run").fetchall()
        kinds = dict(connection.execute("select key, type from artifact").fetchall())
        progress = connection.execute("select data from artifact where key = 'evolve'").fetchone()
    assert flows == [("COMPLETED",)]
    assert {state for _, state in tasks} == {"COMPLETED"}
    names = {name.rsplit("-", 1)[0] if "begin" in name else name for name, _ in tasks}
    assert {f"round-{number}" for number in range(1, 6)} <= names
    assert {"baseline-hoeffding", "baseline-lookup"} <= names
    assert kinds == {
        "evolve": "progress",
        "rounds": "table",
        "rules": "table",
        "report": "markdown",
    }
    assert float(progress[0]) == 100.0


def test_a_second_run_says_that_all_stands(again: subprocess.CompletedProcess[str]) -> None:
    assert again.returncode == 0, again.stderr
    assert "finished already" in again.stderr
    assert "policy explain" in again.stdout
    assert " s\n" not in again.stdout, "nothing was done, so nothing took time"


def test_a_run_with_the_demo_profile_of_the_package_is_planned_anywhere(tmp_path: Path) -> None:
    elsewhere = SmallProject(tmp_path)
    result = vepa(elsewhere, "run", "--dry-run", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["rounds"], told["events"], told["patches"]) == (10, 817, 300)
    assert (told["model_calls"], told["cost_usd"]) == (0, 0.0)
    assert told["seconds"] > 0
    assert list(tmp_path.iterdir()) == [], "a dry run writes nothing"


def test_a_dry_run_of_a_finished_run_says_so(
    ran: tuple[SmallProject, subprocess.CompletedProcess[str]],
) -> None:
    project, _ = ran
    told = json.loads(vepa(project, "run", "--profile", "small", "--dry-run", "--json").stdout)
    assert told["finished"] is True
    assert told["stages"] == {"all": 9, "done": 9}
    assert told["seconds"] == 0
    text = vepa(project, "run", "--profile", "small", "--dry-run").stdout
    assert "Nothing is left to do" in text
    assert "it runs" not in text


def test_the_summary_compares_and_names_what_comes_next(
    ran: tuple[SmallProject, subprocess.CompletedProcess[str]],
    again: subprocess.CompletedProcess[str],
) -> None:
    project, _ = ran
    folder = folder_of(project)
    summary = json.loads((folder / "summary.json").read_text())
    printed = again.stdout
    text = " ".join(printed.split())
    assert errors_by_kind(summary["confusion"]) in text
    assert summary["confusion"]["allow"]["refuse"] > 0
    field = best_field(summary["baselines"])
    best = summary["baselines"][f"lookup.{field}"]
    assert f"best single field: {field} {best['covered']:.3f} / {best['full']:.3f}" in text
    assert f"Hoeffding tree {summary['baselines']['hoeffding']['covered']:.3f}" in text
    assert str(standing(summary)) in text

    commands = [line.strip() for line in printed.split("Next:")[1].strip().splitlines()]
    assert [line.split(" ")[1:3] for line in commands[:3]] == [
        ["policy", "show"],
        ["policy", "explain"],
        ["policy", "diff"],
    ]
    explain, diff = (line.split(" ")[1:] for line in commands[1:3])
    assert explain[2].endswith("policies/round-004.yaml"), "it decided the last round"
    why = vepa(project, *explain, "--json")
    assert why.returncode == 0, why.stderr
    (event,) = json.loads(why.stdout)["events"]
    assert event["verdict"] != event["label"], "an event that was decided wrongly"
    assert [part.split("/")[-1] for part in diff[2:]] == ["round-001.yaml", "round-005.yaml"]
    assert vepa(project, *diff).returncode == 0


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ("events: [small.events.jsonl]\nrounds: none\n", "wrong.yaml:2: rounds"),
        ("events: [nowhere.jsonl]\n", "nowhere.jsonl"),
        ("events: [small.events.jsonl]\nrounds: 900\n", "200 events cannot fill 900 rounds"),
        (None, "no profile 'wrong'"),
    ],
)
def test_a_wrong_profile_ends_with_2_and_a_message(
    project: SmallProject,
    profile: str | None,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if profile:
        project.profile.with_name("wrong.yaml").write_text(profile)
    monkeypatch.chdir(project.folder)
    assert main(["run", "--profile", "wrong"]) == 2
    printed = capsys.readouterr()
    assert told in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""
    assert not (project.folder / "artifacts").exists()


def test_a_missing_package_is_named_before_anything_is_written(project: SmallProject) -> None:
    blocked = (
        "import sys; sys.modules['prefect'] = None; import vepa.cli; "
        "sys.exit(vepa.cli.main(['run', '--profile', 'small']))"
    )
    result = subprocess.run(
        [sys.executable, "-c", blocked],
        cwd=project.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert result.returncode == 2
    assert "package 'prefect' is not installed" in result.stderr
    assert "[pipeline]'" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (project.folder / "artifacts").exists()


@pytest.fixture
def killed(
    project: SmallProject, ran: tuple[SmallProject, subprocess.CompletedProcess[str]]
) -> tuple[SmallProject, int]:
    """A project whose run was killed with -9 at a random moment, and the stages done by then."""
    # With the database of the other run: to make a new one takes the server longer than the run.
    known = ran[0].folder / "artifacts" / "prefect" / "prefect.db"
    home = project.folder / "artifacts" / "prefect"
    home.mkdir(parents=True)
    shutil.copy(known, home)
    seed = int(os.environ.get("VEPA_KILL_SEED", random.randrange(10**6)))
    rng = random.Random(seed)
    after, delay = rng.randrange(0, 8), rng.uniform(0.0, 0.3)
    sys.stdout.write(f"VEPA_KILL_SEED={seed}: kill -9 at {after} stages + {delay:.3f} s\n")
    folder = folder_of(project)
    process = subprocess.Popen(
        [sys.executable, "-m", "vepa", "run", "--profile", "small"],
        cwd=project.folder,
        env=environment(),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    end = time.monotonic() + LIMIT
    while len(list((folder / "done").glob("*.json"))) < after:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.005)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return project, after


def test_a_killed_run_goes_on_and_ends_the_same(
    killed: tuple[SmallProject, int], finished: Path, server: str
) -> None:
    project, after = killed
    end = time.monotonic() + 30
    while servers_of(project) and time.monotonic() < end:
        time.sleep(0.1)
    assert servers_of(project) == [], "the server dies with the run"

    result = vepa(project, "run", "--profile", "small", PREFECT_API_URL=server)
    assert result.returncode == 0, result.stderr
    folder = folder_of(project)
    assert products(folder) == products(finished)
    assert not list(folder.rglob("*.part"))
    if after:
        assert "done before; going on" in result.stderr  # 1 stage was, 2 stages were
