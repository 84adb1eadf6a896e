"""The checkout: folders, documents, provenance, and nothing of the machine it was written on."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from vepa.project import KINDS

FOLDERS = (*KINDS, "benchmarks", "docs", "docs/decisions", "examples", "tests", "vepa")
#: Later issues, and the points of those begun, that docs/status.md has to speak about.
LATER_ISSUES = range(11, 12)
POINTS = {
    2: (
        "The house",
        "Policy core",
        "Compiled matching",
        "Authority",
        "Evolution",
        "Bench",
        "Flow",
        "Command",
    ),
    3: (
        "Environments as data",
        "Records",
        "Two runtimes",
        "Reset",
        "Tools",
        "Instrumented parser",
        "Adding a service",
        "Commands",
    ),
    4: (
        "One door to models",
        "Personas and tasks",
        "Collection agent",
        "Corpus flow",
    ),
    5: (
        "Importers",
        "Model parser",
        "Viewer",
        "Loaders",
    ),
    6: (
        "Taxonomy and codebook",
        "Dual annotation",
        "Recorded judgements",
        "Agreement",
        "Arbitration queue",
        "Annotation in the flow",
    ),
    7: ("Release", "Lifecycle", "Profiles", "Report", "Docs"),
    8: (
        "Model proposer",
        "A better learner",
        "Authority modes",
        "A person in the loop",
    ),
    9: ("Model-driven baselines", "Experiments", "Scale", "Bounded archive"),
    10: (
        "SFT data",
        "Recipes",
        "Training",
        "Constrained decoding",
        "Evaluation",
        "GPU worker",
        "Serving",
    ),
}
STATES = {"done", "measured", "missing", "not started"}


@pytest.fixture(scope="module")
def tracked(root: Path) -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("NOT RUN: not a git checkout")
    paths = (root / name for name in done.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder_exists(root, folder):
    assert (root / folder).is_dir()


@pytest.mark.parametrize("folder", [*KINDS, "benchmarks", "examples", "tests"])
def test_folder_says_what_belongs_there(root, folder):
    assert len((root / folder / "README.md").read_text("utf-8")) > 80


def test_no_path_or_host_of_a_machine(root, tracked):
    hosts = re.compile(
        r"https?://[\w.-]*(?:pypi|pythonhosted|npmjs|debian)[\w.-]*\.(?:org|com)"
        r"/(?:simple|packages|debian|-)"
    )
    places = re.compile(r"(?<![\w.$}~*-])/(?:root|work)/\w|" + re.escape(f"{root}/"))
    found = []
    for path in tracked:
        text = path.read_bytes().decode("utf-8", "replace")
        found += [
            f"{path.relative_to(root)}: {match.group()}"
            for pattern in (hosts, places)
            for match in pattern.finditer(text)
        ]
    assert found == []


def test_no_large_file(root, tracked):
    large = [str(path) for path in tracked if path.stat().st_size > 2 * 1024**2]
    assert large == []


def test_status_speaks_about_every_point(root):
    text = (root / "docs" / "status.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if re.match(r"\| \d", line)
    ]
    states = {(name, what): state for name, what, state in rows}
    for points in POINTS.values():
        for number, point in enumerate(points, 1):
            assert (str(number), point) in states
    known = {point for points in POINTS.values() for point in points}
    for issue in LATER_ISSUES:
        assert any(name == str(issue) and what not in known for name, what in states), issue
    for state in states.values():
        assert any(state.startswith(known) for known in STATES), state


def test_every_decision_is_listed(root):
    folder = root / "docs" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert len(records) >= 3
    assert [name for name in records if f"({name})" not in index] == []


def test_bundled_events_are_those_whose_provenance_is_told(root):
    told = (root / "data" / "README.md").read_text("utf-8")
    files = sorted((root / "data").glob("*.jsonl"))
    assert files
    for path in files:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert re.search(rf"`{re.escape(path.name)}`.*`{digest}`", told), path.name


def test_links_of_the_documents_lead_somewhere(root, tracked):
    dead = [
        f"{path.relative_to(root)}: {target}"
        for path in tracked
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8"))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert dead == []
