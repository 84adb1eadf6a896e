"""A tiny project with paid models in its profile: its cost can be told, and nobody is asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from small_release import STORIES, episode_of
from tiny_corpus import PROFILE, planned, tiny_project, where
from tiny_office import ROOT
from tiny_tasks import task_with

from vepa.collect.runs import stages

#: US dollars a million tokens.
PRICES = {"prompt": 2.0, "completion": 10.0}
PANEL: dict[str, Any] = {
    "panel": 1,
    "annotators": [
        {"name": "a", "vendor": "one", "model": "lab/a", "settings": {"prices": PRICES}},
        {"name": "b", "vendor": "two", "model": "lab/b", "settings": {"prices": PRICES}},
    ],
    "arbiter": {"name": "c", "vendor": "three", "model": "lab/c", "settings": {"prices": PRICES}},
    "budget": {"dollars": 100, "tokens": 10_000_000},
}
_COLLECT: dict[str, Any] = {
    "models": ["lab/agent"],
    "seeds": 2,
    "dollars": 5,
    "model_settings": {"lab/agent": {"prices": PRICES}},
}


def content_folder(folder: Path) -> Path:
    """Content of a package with prompts and the list of benchmarks only: plans load fast."""
    shutil.copytree(ROOT / "prompts", folder / "prompts")
    (folder / "data").mkdir()
    shutil.copy(ROOT / "data" / "benchmarks.yaml", folder / "data")
    return folder


def foretold_project(
    folder: Path, changes: Mapping[str, Any] | None = None, panel: Mapping[str, Any] | None = None
) -> Path:
    """Write the project with a profile `tiny`; the folder.

    Parameters
    ----------
    folder
        It is made when it is not there.
    changes
        Dotted paths of the profile and what they are instead.
    panel
        Keys of the panel that are otherwise.
    """
    own: dict[str, Any] = {
        "corpus": {**PROFILE["corpus"], "collect": _COLLECT},
        "annotate": {"panel": "tiny.yaml", "workers": 2},
        "release": {},
    }
    given = task_with(changes or {}, {**PROFILE, **own})
    # JSON is YAML, and has no aliases for what stands twice.
    (tiny_project(folder) / "flows/profiles/tiny.yaml").write_text(json.dumps(given), "utf-8")
    (folder / "annotation").mkdir()
    (folder / "annotation" / "tiny.yaml").write_text(json.dumps({**PANEL, **(panel or {})}))
    for name in ("taxonomy.yaml", "codebook.md"):
        shutil.copy(ROOT / "annotation" / name, folder / "annotation")
    return folder


def collected(folder: Path) -> None:
    """Put an episode into the place of each order, as if it had been played; all the same."""
    plan = planned(folder)
    episode = episode_of(STORIES[0])
    for order in plan.all_orders:
        told = {"id": order.id, "task": order.task.id, "model": order.model, "seed": order.seed}
        trajectory = episode.trajectory.model_copy(update=told)
        same = {"id": order.id, "key": order.key, "trajectory": trajectory, "events": []}
        plan.collection.keep(order, episode.model_copy(update=same))
    stages.write_products(*where(folder), seconds=1.0)
