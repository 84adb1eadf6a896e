"""Authoring: a model writes tasks or personas; what holds on real services is kept.

`python flows/author.py SETTINGS.yaml`; docs/tasks.md lists the settings. All work happens in
`vepa`; what was accepted stays, whatever ends the flow.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from prefect import flow, task, unmapped
from prefect.artifacts import (
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from vepa.collect.authoring import stages
from vepa.lifecycle import limits

__all__ = ["author"]


@task(task_run_name="plan", cache_policy=NO_CACHE)
def plan(settings: dict[str, Any], project: str | None, artifacts: str | None) -> dict[str, Any]:
    """Settle what is wished for."""
    return stages.begin_authoring(settings, project, artifacts)


# Writing and proving are one task: what the proof finds goes back to the model.
@task(task_run_name="write-{number}", cache_policy=NO_CACHE)
def write(folder: str, number: int, asked: list[str]) -> dict[str, Any]:
    """Let the model write one file, and prove it."""
    with limits.within(asked):
        return stages.write_one(folder, number)


@flow(name="author", task_runner=ThreadPoolTaskRunner(max_workers=4))
def author(
    settings: dict[str, Any], project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Let a model write; the report of what was accepted and rejected.

    Parameters
    ----------
    settings
        Who writes what, as docs/tasks.md lists it.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    """
    planned = plan(settings, project, artifacts)
    folder, numbers = planned["folder"], planned["numbers"]
    progress: Any = create_progress_artifact(
        progress=0.0, key="author", description=f"Tasks written; drafts in `{folder}`"
    )
    try:
        asked = limits.limits_of([settings["model"]])
        written = write.map(unmapped(folder), numbers, unmapped(asked))
        for done, future in enumerate(as_completed(written), 1):
            future.result()
            update_progress_artifact(artifact_id=progress, progress=100.0 * done / len(numbers))
    finally:
        report = stages.end_authoring(folder)
    create_table_artifact(table=stages.outcome_table(report), key="authored")
    return report


if __name__ == "__main__":
    author(stages.settings_of(sys.argv[1]), project=str(Path(__file__).resolve().parents[1]))
