"""A tiny project with a profile that collects a corpus, played in this process without Prefect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from tiny_office import ROOT
from tiny_tasks import CLEAN, PLANTED, task_with, write_project

from vepa.collect.orders import Order
from vepa.collect.runs import stages
from vepa.collect.runs.session import CorpusPlan, plan_corpus
from vepa.corpus.episode import Episode
from vepa.project import Project

PROFILE: dict[str, Any] = {
    "title": "A tiny run",
    "events": ["tiny.events.jsonl"],
    "rounds": 2,
    "feedback": 0.5,
    "evolution": {"patches": 4},
    "baselines": ["lookup"],
    "corpus": {
        "tasks": ["memo-*"],
        "collect": {"offices": 1, "retries": 0},
        "evolve": {"view": "instrumented"},
    },
}


def tiny_project(folder: Path, changes: Mapping[str, Any] | None = None, more: int = 0) -> Path:
    """Write tasks, a profile `tiny` and some benchmark events; the folder.

    Parameters
    ----------
    folder
        It is made when it is not there.
    changes
        Dotted paths of the profile and what they are instead; None removes the key.
    more
        Clean tasks beside the two.
    """
    folder.mkdir(parents=True, exist_ok=True)
    others = [
        task_with({"id": f"memo-{at}", "request": f"{CLEAN['request']} It is number {at}."})
        for at in range(more)
    ]
    write_project(folder, CLEAN, PLANTED, *others)
    write_profile(folder, changes)
    source = ROOT / "data" / "assebench_security.events.jsonl"
    (folder / "data").mkdir(exist_ok=True)
    lines = source.read_text("utf-8").splitlines(keepends=True)[:60]
    (folder / "data" / "tiny.events.jsonl").write_text("".join(lines), "utf-8")
    return folder


def write_profile(folder: Path, changes: Mapping[str, Any] | None = None) -> Path:
    """Write the profile with changes; its file."""
    file = folder / "flows" / "profiles" / "tiny.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(task_with(changes or {}, PROFILE), sort_keys=False), "utf-8")
    return file


def planned(folder: Path) -> CorpusPlan:
    """The corpus of such a project."""
    plan = plan_corpus(Project(folder), "tiny", artifacts=folder / "artifacts")
    assert plan is not None
    return plan


def where(folder: Path) -> tuple[str, str, str]:
    """Profile, project and artifacts, as the stages want them."""
    return "tiny", str(folder), str(folder / "artifacts")


def played(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Play what is missing: the figures of each task, and of the end; products are not written."""
    begun = stages.begin_corpus(*where(folder))
    try:
        rows = [stages.collect_task(begun["folder"], name) for name in begun["tasks"]]
    except BaseException:
        stages.leave_corpus(begun["folder"])
        raise
    return rows, stages.end_corpus(begun["folder"])


def as_model(episode: Episode, order: Order) -> Episode:
    """The same steps as an episode of another order: as if a real model had taken them."""
    document = episode.model_dump(mode="json")
    document |= {"id": order.id, "key": order.key, "intended": []}
    document["trajectory"] |= {"id": order.id, "model": order.model, "seed": order.seed}
    for event in document["events"]:
        event["id"] = event["id"].replace(episode.id, order.id)
    return Episode.model_validate_json(Episode.model_validate(document).model_dump_json())
