"""What the stages of a lifecycle leave, in the shapes of the stages themselves, on disk and off."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_release import ANNOTATION, STORIES, episode_of

from vepa.collect.runs.products import figures_of
from vepa.files import sha256_of
from vepa.release.layout import Manifest, version_of
from vepa.release.records import SPLITS, TABLES

OVER = "unconfirmed_or_over_privileged_action"
GUESS = "provide_inaccurate_misleading_or_unverified_information"
#: Beside what `small_release` keeps of an annotation.
_ANNOTATION = {
    "verdicts": sha256_of("verdicts"),
    "cost": {
        "annotate": {"questions": 48, "dollars": 0.0, "unpriced": 0},
        "arbitrate": {"questions": 2, "dollars": 1.5, "unpriced": 2},
    },
    "queue": {"total": 2, "open": 0, "leased": 0, "settled": 2},
    "settled": {
        "steps": 24,
        "refuse": 3,
        "how": {"agreed": 22, "arbiter": 1, "person": 1},
        "origins": {"recorded": 20, "scripted": 3, "person": 1},
        "triggers": {OVER: 2, GUESS: 1},
    },
}
#: As a release's report has it, cut down to what the page reads.
LEAKAGE = {
    "findings": [
        {"level": "problem", "about": "tasks", "text": "2 tasks stand in two splits."},
        {"level": "warning", "about": "model", "text": "`model` alone gives it away."},
    ],
    "overlap": {
        "tasks": {"shared": 2, "of": 6},
        "planted": {"shared": 0, "of": 3},
        "near_duplicates": {"pairs": 0, "threshold": 0.7},
    },
}


def _run(name: str, folder: Path, confusion: tuple[int, ...]) -> dict[str, Any]:
    """A policy that allowed (safe, unsafe), refused (safe, unsafe) and left open so many."""
    a, b, c, d, e, f = confusion
    share = (a + b + c + d) / sum(confusion)
    return {
        "id": name,
        "folder": str(folder / "runs" / name),
        "policy_hash": sha256_of(name),
        "rules": {"archive": 4, "active": 3},
        "figures": {
            "covered_macro_f1": 0.875,
            "full_macro_f1": 0.625,
            "final_coverage": 0.9,
            "mean_coverage": share,
            "regression_rate": 0.005,
            "unsafe_allowed": b / (b + d) if b + d else 0.0,
            "safe_refused": c / (a + c) if a + c else 0.0,
        },
        "confusion": {
            "allow": {"allow": a, "refuse": b},
            "refuse": {"allow": c, "refuse": d},
            "abstain": {"allow": e, "refuse": f},
        },
        "standing": "VEPA is above the best single field: on all events 0.625 against 0.5 of a.",
    }


@pytest.fixture(scope="session")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    artifacts = tmp_path_factory.mktemp("project") / "artifacts"
    files = {f"data/{table}/{split}.jsonl": "0" * 64 for table in TABLES for split in SPLITS}
    version, content = version_of("tiny", files)
    splits = {split: {"settled": 8, "refuse": 1, "trajectories": 3} for split in SPLITS}
    manifest = Manifest(
        name="tiny",
        version=version,
        content_sha256=content,
        files=files,
        rows={table: dict.fromkeys(SPLITS, 8) for table in TABLES},
        figures={"splits": splits, "label_models": {"Some Model 1, by a vendor": 50}},
        vepa="0.1.0",
    )
    summary: dict[str, Any] = {
        "profile": "tiny",
        "at": "2026-03-09T12:00:00Z",
        "vepa": "0.1.0",
        "user": "scripted/user",
        "runtime": "process",
        "stages": [
            "collect", "annotate", "release", "evolve-corpus", "evolve-benchmark", "train",
            "report",
        ],
        "seconds": {"collect": 331.2, "annotate": 33.4, "release": 8.04, "evolve-benchmark": 23.0},
        "made": ["annotate", "release"],
        "corpus": {"profile": "tiny", **figures_of([episode_of(story) for story in STORIES], 61.0)},
        "annotation": {**ANNOTATION, **_ANNOTATION},
        "release": {
            **manifest.model_dump(mode="json"),
            "folder": str(artifacts / "corpus" / version),
        },
        "corpus_policy": _run("evolve-000000000001", artifacts, (10, 4, 0, 0, 8, 2)),
        "benchmark": _run("small-000000000002", artifacts, (300, 25, 1, 321, 64, 63)),
        "train": {
            "deployment": "train/gpu",
            "release": version,
            "name": "quiet-otter",
            "flow_run": "1",
        },
    }  # fmt: skip
    for path in (
        artifacts / "corpus" / "tiny" / "report.html",
        artifacts / "corpus" / "tiny" / "labels" / "agreement.html",
        artifacts / "corpus" / version / "README.md",
        artifacts / "runs" / "small-000000000002" / "report.html",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("made by a stage")
    (artifacts / "corpus" / version / "leakage.json").write_text(json.dumps(LEAKAGE))
    folder = artifacts / "lifecycle" / "tiny"
    folder.mkdir(parents=True)
    return summary, folder


@pytest.fixture
def summary(_whole: tuple[dict[str, Any], Path]) -> dict[str, Any]:
    """What all stages left; yours to change."""
    return copy.deepcopy(_whole[0])


@pytest.fixture(scope="session")
def folder(_whole: tuple[dict[str, Any], Path]) -> Path:
    """Where the page would lie, below artifacts that hold pages of stages; look, do not touch."""
    return _whole[1]


@pytest.fixture
def later(summary: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """The same again a week later; `changes` are (path, value) of what it was before."""

    def made(*changes: tuple[str, Any]) -> dict[str, Any]:
        before = copy.deepcopy(summary)
        before["at"] = "2026-03-02T12:00:00Z"
        for path, value in changes:
            *way, last = path.split(".")
            place = before
            for key in way:
                place = place[int(key)] if isinstance(place, list) else place[key]
            place[last] = value
        return {**summary, "made": [], "before": before}

    return made
