"""The main job: a policy evolves over a stream of events, round by round.

`vepa run` runs this flow; so does `python flows/evolve.py`, and with `PREFECT_API_URL` set its runs
show in that server's UI. All work happens in `vepa`; a task that finds its products done in the
run's folder returns at once, so a flow that was killed goes on where it stopped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE

from vepa.bench.runs import stages
from vepa.lifecycle.naming import flow_run_name

__all__ = ["evolve"]


@task(task_run_name="begin-run", cache_policy=NO_CACHE)
def begin_run(
    profile: str, project: str | None, artifacts: str | None, fresh: bool
) -> dict[str, Any]:
    """Settle the inputs, make or find the run's folder."""
    return stages.begin_run(profile, project, artifacts, fresh)


@task(task_run_name="round-{number}", cache_policy=NO_CACHE)
def play_round(folder: str, number: int) -> dict[str, Any]:
    """Decide, get feedback, update."""
    return stages.play_round(folder, number)


@task(task_run_name="baseline-{family}", cache_policy=NO_CACHE)
def play_baseline(folder: str, family: str) -> dict[str, Any]:
    """Let a family of learners play the same stream."""
    return stages.play_baseline(folder, family)


@task(task_run_name="summarise", cache_policy=NO_CACHE)
def summarise(folder: str) -> dict[str, Any]:
    """Write `summary.json`."""
    return stages.summarise(folder)


@task(task_run_name="write-report", cache_policy=NO_CACHE)
def write_report(folder: str) -> dict[str, Any]:
    """Write `report.html`."""
    return stages.write_report(folder)


@task(task_run_name="finish", cache_policy=NO_CACHE)
def finish(folder: str) -> dict[str, Any]:
    """Write the manifest."""
    return stages.finish(folder)


@flow(name="evolve", flow_run_name=flow_run_name)
def evolve(
    profile: str = "demo",
    project: str | None = None,
    artifacts: str | None = None,
    fresh: bool = False,
    stop_after: int | None = None,
) -> str:
    """Let a policy evolve; the folder of its products.

    Parameters
    ----------
    profile
        Name under `flows/profiles/`, or a path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    fresh
        Make everything again.
    stop_after
        Round after which it stops, so that a person can edit the policy; a later run goes on.
    """
    run = begin_run(profile, project, artifacts, fresh)
    folder, total = run["folder"], run["rounds"] + len(run["baselines"]) + 3
    progress: Any = create_progress_artifact(
        progress=0.0, key="evolve", description=f"Rounds of run `{run['id']}`"
    )
    rounds: list[dict[str, Any]] = []

    def tell(done: int) -> None:
        update_progress_artifact(artifact_id=progress, progress=100.0 * done / total)

    for number in range(1, run["rounds"] + 1):
        rounds.append(play_round(folder, number))
        tell(number)
        if number == stop_after and number < run["rounds"]:
            return str(folder)
    create_table_artifact(
        table=[stages.table_row(row) for row in rounds],
        key="rounds",
        description="What the policy did in each round",
    )
    for at, family in enumerate(run["baselines"], 1):
        play_baseline(folder, family)
        tell(run["rounds"] + at)
    summary = summarise(folder)
    tell(total - 2)
    report = write_report(folder)
    tell(total - 1)
    finish(folder)
    create_table_artifact(
        table=stages.rule_table(folder), key="rules", description="The policy after the last round"
    )
    create_markdown_artifact(
        stages.markdown(summary, report["path"]), key="report", description="Figures of the run"
    )
    tell(total)
    return str(folder)


if __name__ == "__main__":
    evolve(project=str(Path(__file__).resolve().parents[1]))
