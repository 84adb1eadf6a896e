"""The corpus: an agent works on tasks in a seeded office, and what it really did is kept.

`vepa run` runs this flow first when its profile has a block `corpus`; so does
`python flows/corpus.py`. All work happens in `vepa`; an episode that is there is not played again,
so a flow that was killed goes on where it stopped.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from prefect import flow, task, unmapped
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from vepa.collect.runs import stages

__all__ = ["corpus"]


# Content-addressed files are the cache: a task that finds its episodes there returns at once.
@task(task_run_name="collect-{name}", cache_policy=NO_CACHE)
def collect_task(folder: str, name: str) -> dict[str, Any]:
    """Play the episodes of one task that are not there yet."""
    return stages.collect_task(folder, name)


@task(cache_policy=NO_CACHE)
def write_products(
    profile: str, project: str | None, artifacts: str | None, seconds: float
) -> dict[str, Any]:
    """Write trajectories, events and figures."""
    return stages.write_products(profile, project, artifacts, seconds)


# More threads than offices: those without an office wait for one.
@flow(
    name="corpus",
    flow_run_name="corpus-{profile}",
    task_runner=ThreadPoolTaskRunner(max_workers=16),
)
def corpus(
    profile: str = "demo", project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Collect a corpus; its figures.

    Parameters
    ----------
    profile
        Name under `flows/profiles/`, or a path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    """
    began = time.monotonic()
    plan = stages.begin_corpus(profile, project, artifacts)
    folder, names = plan["folder"], plan["tasks"]
    progress: Any = create_progress_artifact(progress=0.0, key="corpus", description=folder)
    rows: list[dict[str, Any]] = []
    try:
        for future in as_completed(collect_task.map(unmapped(folder), names)):
            rows.append(future.result())
            update_progress_artifact(artifact_id=progress, progress=100.0 * len(rows) / len(names))
    except BaseException:  # an interrupt too: what ended it is told, not what is missing
        stages.leave_corpus(folder)
        raise
    ended = stages.end_corpus(folder)
    played = time.monotonic() - began if ended["played"] else None
    figures = write_products(profile, project, artifacts, played)
    create_table_artifact(table=sorted(rows, key=lambda row: row["task"]), key="tasks")
    create_table_artifact(table=figures["outcomes"], key="outcomes")
    create_markdown_artifact(stages.cost_markdown(figures), key="cost")
    return figures


if __name__ == "__main__":
    corpus(project=str(Path(__file__).resolve().parents[1]))
