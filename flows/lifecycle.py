"""The whole lifecycle: a corpus is collected, judged and released, and policies evolve on it.

`vepa run` runs this flow; so do `python flows/lifecycle.py` and a deployment on a schedule
(`prefect.yaml`). Each stage is a flow of its own that also runs alone. A stage whose products stand
is not made again, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.artifacts import (
    create_link_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.deployments import run_deployment

from vepa.bench.runs.conduct import load_flow
from vepa.lifecycle import stages
from vepa.lifecycle.naming import flow_run_name
from vepa.lifecycle.watching import stage as watched

__all__ = ["lifecycle"]

_HERE = Path(__file__).parent


def _flow(name: str, file: str) -> Callable[..., Any]:
    return load_flow(_HERE / file, name)


@task(task_run_name="ask-for-training", cache_policy=NO_CACHE)
def ask_for_training(profile: str, project: str | None, artifacts: str | None) -> dict[str, Any]:
    """Ask for a run of the deployment that trains; nobody waits for it."""
    request = stages.training_request(profile, project, artifacts)
    run = run_deployment(
        name=request["deployment"], parameters=request["parameters"], timeout=0, as_subflow=False
    )
    asked = {**request, "flow_run": str(run.id), "name": run.name}
    stages.note_training(profile, project, artifacts, asked)
    return asked


@task(task_run_name="summarise", cache_policy=NO_CACHE)
def summarise(
    profile: str, project: str | None, artifacts: str | None, seconds: dict[str, float]
) -> dict[str, Any]:
    """Write what all stages left, and the page."""
    return stages.summarise(profile, project, artifacts, seconds)


@flow(name="lifecycle", flow_run_name=flow_run_name)
def lifecycle(
    profile: str = "demo",
    project: str | None = None,
    artifacts: str | None = None,
    start: str | None = None,
    stop_after: int | None = None,
) -> dict[str, Any]:
    """Do what is to be done of a profile; what all stages left.

    Parameters
    ----------
    profile
        Name under `flows/profiles/`, or a path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    start
        A stage from which everything is made again; episodes and judgements are kept.
    stop_after
        Round after which policies stop to evolve, so that a person can edit them; nothing is
        trained then, no page is made, and a later run goes on.
    """
    where = (profile, project, artifacts)
    with stages.held(*where):
        plan = stages.begin_lifecycle(*where, start)
        progress: Any = create_progress_artifact(
            progress=0.0, key="lifecycle", description=f"Stages done; summary in `{plan['folder']}`"
        )
        seconds: dict[str, float] = {}
        bodies: dict[str, Callable[[], Any]] = {
            "collect": lambda: _flow("corpus", "corpus.py")(*where, judge=False),
            "annotate": lambda: _flow("annotate", "corpus.py")(*where),
            "release": lambda: _flow("release", "release.py")(*where),
            "evolve-corpus": lambda: _flow("evolve", "evolve.py")(
                plan["own"], *where[1:], stop_after=stop_after
            ),
            "evolve-benchmark": lambda: _flow("evolve", "evolve.py")(*where, stop_after=stop_after),
            "train": lambda: ask_for_training(*where),
        }
        stages_now = [each for each in plan["stages"][:-1] if stop_after is None or each != "train"]
        for at, stage in enumerate(stages_now):
            if not stages.done(*where, stage):
                with watched(stage, seconds):
                    bodies[stage]()
            update_progress_artifact(
                artifact_id=progress, progress=100.0 * (at + 1) / len(plan["stages"])
            )
        if stop_after is not None:
            return {"stopped_after": stop_after, "seconds": seconds}
        summary = summarise(*where, seconds)
    create_table_artifact(
        table=stages.stage_table(summary),
        key="stages",
        description="What was made, and how long it took",
    )
    page = Path(summary["page"])
    create_link_artifact(
        link=page.as_uri(),
        link_text="report",
        key="lifecycle-report",
        description=f"All stages on one page, on the worker's machine: `{page}`",
    )
    update_progress_artifact(artifact_id=progress, progress=100.0)
    return summary


if __name__ == "__main__":
    lifecycle(project=str(Path(__file__).resolve().parents[1]))
