"""Every example runs as it stands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest


def test_the_script_counts_what_the_command_decides(root, tmp_path):
    done = subprocess.run(
        [sys.executable, root / "examples" / "decide_events.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    events = root / "data" / "assebench_security.events.jsonl"
    policy = root / "examples" / "injection.policy.yaml"
    decided = subprocess.run(
        [sys.executable, "-m", "vepa", "decide", "--json", "--policy", policy, events],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    labels = {row["id"]: row["label"] for row in map(json.loads, events.read_text().splitlines())}
    counts = Counter(
        (row["verdict"], labels[row["id"]]) for row in map(json.loads, decided.stdout.splitlines())
    )
    assert done.stdout.splitlines() == [
        f"{verdict}: {counts[verdict, 'allow'] + counts[verdict, 'refuse']} events, labelled "
        f"{counts[verdict, 'allow']} allow and {counts[verdict, 'refuse']} refuse"
        for verdict in ("allow", "refuse", "abstain")
    ] + ["one event: refuse, by followed-injection, leak"]
    assert counts.total() == len(labels)


@pytest.mark.parametrize("verb", ["check", "test"])
def test_the_policy_is_good_and_passes_its_tests(root, verb):
    policy = root / "examples" / "injection.policy.yaml"
    done = subprocess.run([sys.executable, "-m", "vepa", "policy", verb, policy], check=False)
    assert done.returncode == 0


def test_the_readme_lists_every_example(root):
    told = (root / "examples" / "README.md").read_text("utf-8")
    files = [path.name for path in (root / "examples").iterdir() if path.suffix in (".py", ".yaml")]
    assert files
    assert [name for name in files if f"`{name}`" not in told] == []
