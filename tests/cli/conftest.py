"""Running the command: in this process for most tests, as a process of its own for some."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vepa.cli import main

GOOD_POLICY = """\
policy: 1
rules:
- id: r1
  decision: refuse
  when:
    injection: {in: [followed]}
    recipient: {in: [internal, external, public]}
- id: r2
  decision: allow
  when:
    injection: {in: [none, ignored]}
    harm_domain: {in: [none]}
- id: r3
  decision: refuse
  when:
    scope: {in: [diverted]}
    injection: {in: [followed]}
  status: inactive
"""
GOOD_EVENTS = """\
{"id": "a", "label": "refuse", "event": {"injection": "followed", "recipient": "public"}}
{"id": "b", "event": {"injection": "none", "harm_domain": "none"}}

{"injection": "followed", "scope": "diverted"}
"""
GOOD_TESTS = """\
- {name: planted, event: {injection: followed, recipient: public}, expect: refuse, rules: [r1]}
- {event: {injection: none, harm_domain: none}, expect: allow, rules: [r2]}
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """JSON Lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


Vepa = Callable[..., Ran]


@pytest.fixture
def vepa(capsys: pytest.CaptureFixture[str]) -> Vepa:
    """Run `vepa` in this process."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return run


@pytest.fixture(scope="session")
def process() -> Vepa:
    """Run `vepa` as a process of its own, in at most 2 GiB of address space."""

    def run(*arguments: object, stdin: str | bytes = b"", cwd: Path | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "vepa", *map(str, arguments)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=120,
            cwd=cwd,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=_bounded,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def _bounded() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (2 * 1024**3, 2 * 1024**3))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a good file of each kind."""
    (tmp_path / "p.yaml").write_text(GOOD_POLICY)
    (tmp_path / "p.tests.yaml").write_text(GOOD_TESTS)
    (tmp_path / "e.jsonl").write_text(GOOD_EVENTS)
    return tmp_path
