"""What the README shows runs, and says what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
POLICY = re.search(r"as people write it:\n\n((?:    .*\n|\n)+)", README)
SNIPPET = re.search(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert POLICY is not None
    text = "\n".join(line.removeprefix("    ") for line in POLICY[1].splitlines())
    (tmp_path / "policy.yaml").write_text(text)
    (tmp_path / "old.yaml").write_text(text)
    (tmp_path / "new.yaml").write_text(text)
    (tmp_path / "policy.tests.yaml").write_text(
        "- {event: {injection: followed, recipient: public}, expect: refuse}\n"
    )
    schema = ROOT / "vepa" / "policy" / "event_schema.yaml"
    for name in ("old_schema.yaml", "new_schema.yaml"):
        shutil.copy(schema, tmp_path / name)
    shutil.copy(ROOT / "data" / "assebench_security.events.jsonl", tmp_path / "events.jsonl")
    return tmp_path


def test_the_python_example_prints_what_its_comment_says(folder: Path) -> None:
    assert SNIPPET is not None
    done = subprocess.run(
        [sys.executable, "-c", SNIPPET[1]], cwd=folder, capture_output=True, text=True, check=True
    )
    said = re.search(r"print\(.*\)  # (.*)", SNIPPET[1])
    assert said is not None
    assert done.stdout.strip() == said[1]


def examples() -> list[str]:
    """The commands of the table that need neither a project nor minutes."""
    rows = re.findall(r"^\| `[a-z ]+` \| `(vepa [^`]+)`", README, re.MULTILINE)
    assert len(rows) >= 12
    return [row for row in rows if row.split()[1] in ("policy", "schema", "decide")]


@pytest.mark.parametrize("command", examples())
def test_the_commands_of_the_table_run(command: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or done.stderr
