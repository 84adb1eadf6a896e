"""The wheel, installed offline into an empty environment outside the checkout, is useful there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.wheel,
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("wheel"),  # one worker, so that the environment is made once
]

POLICY = """\
policy: 1
rules:
  - id: followed-injection
    decision: refuse
    when: {injection: {in: [followed]}}
  - id: declined
    decision: allow
    when: {agent_outcome: {in: [refused]}, injection: {in: [none, ignored]}}
"""
CONFLICT = POLICY.replace("injection: {in: [none, ignored]}", "scope: {in: [within]}")
NAMES = "from importlib import metadata as m; print(*(d.name.lower() for d in m.distributions()))"
#: What a guard's machine should never have to install.
FOREIGN = {"docker", "litellm", "openai", "pandas", "polars", "prefect", "scikit-learn", "torch"}


def environment(home: Path) -> dict[str, str]:
    """An environment without the checkout, its virtual environment or pip's settings."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_", "VEPA_"))}
    return {**keep, "HOME": str(home), "NO_COLOR": "1", "COLUMNS": "100"}


class Installed:
    """An empty environment with the wheel in it, and an empty working directory."""

    def __init__(self, base: Path, wheel: Path, wheelhouse: Path):
        self.bin = base / "venv" / "bin"
        self.cwd = base / "empty"
        self.cwd.mkdir()
        self.home = base / "home"
        self.home.mkdir()
        venv.create(base / "venv", with_pip=False)
        # Our own pip fills it: a pip of its own, and byte code of all of numpy, take seconds more.
        self._run(
            *(sys.executable, "-m", "pip", "--python", self.bin / "python", "install", "--quiet"),
            *("--disable-pip-version-check", "--no-compile"),
            *("--no-index", "--find-links", wheelhouse, wheel),
        )

    def run(self, command: str, *args: str | Path, code: int = 0) -> str:
        return self._run(self.bin / command, *args, code=code)

    def _run(self, *command: str | Path, code: int = 0) -> str:
        done = subprocess.run(
            command,
            cwd=self.cwd,
            env=environment(self.home),
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, f"{command}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def python(self, code: str) -> str:
        return self.run("python", "-c", code).strip()


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    wheelhouse = root / ".cache" / "wheelhouse"
    if not wheelhouse.is_dir() and not os.environ.get("CI"):
        pytest.skip("NOT RUN: no .cache/wheelhouse; `make setup` fills it")
    base = tmp_path_factory.mktemp("wheel")
    # First the source distribution, then the wheel from it: neither may lack a file.
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", base / "dist", root],
        cwd=base,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (base / "dist").glob("*.whl")
    return Installed(base, wheel, wheelhouse)


@pytest.fixture
def policy(installed: Installed) -> Path:
    path = installed.cwd.parent / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def events(installed: Installed) -> Path:
    code = "from vepa import Project; print(Project().find('data', 'rjudge_dev.events.jsonl'))"
    return Path(installed.python(code))


def test_content_comes_with_the_package(installed, events):
    package = Path(installed.python("import vepa; print(vepa.__path__[0])"))
    assert package.is_relative_to(installed.bin.parent)
    assert events.is_relative_to(package / "_content")
    assert (package / "py.typed").is_file()
    assert (package / "policy" / "event_schema.yaml").is_file()
    assert not list(package.rglob("tests"))


def test_nothing_heavy_came_along(installed):
    names = set(installed.python(NAMES).split())
    assert {"vepa", "numpy", "pydantic"} <= names
    assert not names & FOREIGN
    assert len(names) < 25, names


def test_help(installed):
    assert "policy" in installed.run("vepa", "--help")


def test_policy_check(installed, policy):
    answer = json.loads(installed.run("vepa", "policy", "check", policy, "--json"))
    assert answer["ok"] is True
    assert len(answer["policy_hash"]) == 64


def test_policy_check_names_a_conflict(installed, policy):
    policy.write_text(CONFLICT)
    answer = json.loads(installed.run("vepa", "policy", "check", policy, "--json", code=2))
    assert answer["ok"] is False
    conflicts = [item for item in answer["feedback"] if item["witness"]]
    assert {"followed-injection", "declined"} in [set(item["rules"]) for item in conflicts]


def test_decide(installed, policy, events):
    lines = installed.run("vepa", "decide", "--policy", policy, events, "--json").splitlines()
    answers = [json.loads(line) for line in lines]
    assert len(answers) == len(events.read_text("utf-8").splitlines())
    assert {"id", "verdict", "rules", "policy_hash"} <= set(answers[0])
    assert {answer["verdict"] for answer in answers} == {"allow", "refuse", "abstain"}


def test_nothing_is_left_behind(installed, policy, events):
    installed.run("vepa", "decide", "--policy", policy, events)
    assert list(installed.cwd.iterdir()) == []
