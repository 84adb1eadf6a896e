"""The corpus: an agent works on tasks in a seeded office, and two readers judge what it really did.

`vepa run` runs the flow `corpus` first when its profile has a block `corpus`; so does
`python flows/corpus.py`. With a block `annotate` it goes on with the flow `annotate`, which also
runs alone. All work happens in `vepa`; an episode or a judgement that is there is not made again,
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

from vepa.annotate.runs import figures as told
from vepa.annotate.runs import sharing as judging
from vepa.annotate.runs import stages as annotation
from vepa.bench.runs.conduct import load_flow
from vepa.collect.runs import sharing, stages
from vepa.lifecycle import limits
from vepa.lifecycle.naming import flow_run_name
from vepa.lifecycle.scaling import scale_of, task_runner

__all__ = ["annotate", "corpus"]

_HERE = Path(__file__).parent
#: Judgements between two signs of progress.
_OFTEN = 100


# Content-addressed files are the cache: a task that finds its episodes there returns at once.
@task(task_run_name="collect-{name}", cache_policy=NO_CACHE)
def collect_task(folder: str, name: str, asked: list[str]) -> dict[str, Any]:
    """Play the episodes of one task that are not there yet."""
    with limits.within(asked):
        return stages.collect_task(folder, name)


@task(task_run_name="write-products", cache_policy=NO_CACHE)
def write_products(
    profile: str, project: str | None, artifacts: str | None, seconds: float
) -> dict[str, Any]:
    """Write trajectories, events and figures."""
    return stages.write_products(profile, project, artifacts, seconds)


@task(task_run_name="write-report", cache_policy=NO_CACHE)
def write_report(profile: str, project: str | None, artifacts: str | None) -> str:
    """Write the corpus' page."""
    return stages.write_report(profile, project, artifacts)


@task(task_run_name="annotate-{reader}", cache_policy=NO_CACHE)
def annotate_reader(folder: str, reader: str, asked: list[str]) -> dict[str, Any]:
    """Let one annotator judge the steps that it has not judged."""
    progress: Any = create_progress_artifact(
        progress=0.0, key=f"annotate-{reader}", description=f"Steps judged; labels in `{folder}`"
    )

    def tell(_: str, done: int, of: int) -> None:
        if done == of or not done % _OFTEN:
            update_progress_artifact(artifact_id=progress, progress=100.0 * done / of)

    with limits.within(asked):
        return annotation.annotate_reader(folder, reader, tell)


@task(task_run_name="write-labels", cache_policy=NO_CACHE)
def write_labels(folder: str) -> dict[str, Any]:
    """Write all labels, and queue what the annotators see differently."""
    return annotation.write_labels(folder)


@task(task_run_name="arbitrate", cache_policy=NO_CACHE)
def arbitrate(folder: str, asked: list[str]) -> dict[str, Any]:
    """Let the arbiter settle what is open."""
    with limits.within(asked):
        return annotation.arbitrate_open(folder)


@task(task_run_name="measure-agreement", cache_policy=NO_CACHE)
def measure_agreement(folder: str) -> Any:
    """Work out how far the labels can be trusted."""
    return annotation.measure_agreement(folder)


@task(task_run_name="end-annotation", cache_policy=NO_CACHE)
def end_annotation(folder: str, labels: dict[str, Any], measured: Any) -> dict[str, Any]:
    """Write the labels that stand, and the events with them."""
    return annotation.end_annotation(folder, labels, measured)


def judged_anew(profile: str, project: str | None, artifacts: str | None) -> dict[str, Any]:
    """Every step that is not judged yet, then all that follows from it."""
    asked, scale = limits.asked_models(profile, project), scale_of(profile, project)
    plan = annotation.begin_annotation(profile, project, artifacts)
    folder, readers = plan["folder"], plan["readers"]
    seats = {reader: asked.seats[reader] for reader in readers}
    try:
        left = judging.take_up(folder)  # of workers of a run that was killed
        if scale.apart and left:
            judged_apart(folder, project, seats, left, scale)
        else:
            annotate_reader.map(unmapped(folder), readers, list(seats.values())).result()
        labels = write_labels(folder)
        arbitrate(folder, asked.arbiter)
        measured = measure_agreement(folder)
        return end_annotation(folder, labels, measured)
    finally:
        annotation.leave_annotation(folder)


def judged_apart(
    folder: str, project: str | None, seats: dict[str, list[str]], left: int, scale: Any
) -> None:
    """Judge what is not judged on worker processes."""
    run = judging.share_out(folder, project, scale.workers)
    apart: Any = load_flow(_HERE / "scale.py", "annotate_apart")
    try:
        apart.with_options(task_runner=task_runner(scale))(
            folder, run["where"], run["token"], scale.workers, seats, left
        )
    except BaseException:
        judging.withdraw(folder, run["token"])
        raise
    judging.gather(folder, run["token"], left)


@flow(
    name="annotate",
    flow_run_name=flow_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=4),
)
def annotate(
    profile: str = "demo", project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Judge every step of a corpus twice and settle what can be settled; the figures.

    What only people can settle stays in the queue; a later run takes up their verdicts.

    Parameters
    ----------
    profile, project, artifacts
        As of `corpus`.
    """
    if annotation.is_judged(profile, project, artifacts):  # only people's verdicts are new
        figures = annotation.settle_again(profile, project, artifacts)
    else:
        figures = judged_anew(profile, project, artifacts)
    create_table_artifact(
        table=told.agreement_rows(figures["agreement"]),
        key="agreement",
        description=figures["agreement"]["heading"],
    )
    create_markdown_artifact(
        told.queue_markdown(figures), key="queue", description="What people still have to settle"
    )
    create_markdown_artifact(
        told.cost_markdown(figures), key="annotation-cost", description="What the readers cost"
    )
    write_report(profile, project, artifacts)
    return figures


def played_here(folder: str, names: list[str], asked: list[str], progress: Any) -> list[Any]:
    """Play what is missing in threads of this process; a row a task."""
    rows: list[Any] = []
    for future in as_completed(collect_task.map(unmapped(folder), names, unmapped(asked))):
        rows.append(future.result())
        update_progress_artifact(artifact_id=progress, progress=100.0 * len(rows) / len(names))
    return rows


def played_apart(
    folder: str, project: str | None, names: list[str], asked: list[str], scale: Any, progress: Any
) -> list[Any]:
    """Play what is missing on worker processes; a row a task."""
    run = sharing.share_out(folder, project, scale.workers)
    apart: Any = load_flow(_HERE / "scale.py", "collect_apart")
    try:
        apart.with_options(task_runner=task_runner(scale))(
            folder, run["where"], run["token"], scale.workers, asked, str(progress), len(names)
        )
        return sharing.gather(folder, run["token"])
    except BaseException:
        sharing.withdraw(folder, run["token"])
        raise


# More threads than offices: those without an office wait for one.
@flow(
    name="corpus",
    flow_run_name=flow_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=16),
)
def corpus(
    profile: str = "demo",
    project: str | None = None,
    artifacts: str | None = None,
    judge: bool = True,
) -> dict[str, Any]:
    """Collect a corpus, and annotate it where the profile says so; its figures.

    Parameters
    ----------
    profile
        Name under `flows/profiles/`, or a path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    judge
        Whether annotators follow at once, where the profile has some.
    """
    began = time.monotonic()
    asked, scale = limits.asked_models(profile, project).collect, scale_of(profile, project)
    plan = stages.begin_corpus(profile, project, artifacts)
    folder, names = plan["folder"], plan["tasks"]
    progress: Any = create_progress_artifact(
        progress=0.0, key="corpus", description=f"Tasks played; episodes in `{folder}`"
    )
    try:
        if scale.apart and sharing.missing(folder):
            rows = played_apart(folder, project, names, asked, scale, progress)
        else:
            rows = played_here(folder, names, asked, progress)
    except BaseException:  # an interrupt too: what ended it is told, not what is missing
        stages.leave_corpus(folder)
        raise
    ended = stages.end_corpus(folder)
    played = time.monotonic() - began if ended["played"] else None
    figures = write_products(profile, project, artifacts, played)
    create_table_artifact(
        table=sorted(rows, key=lambda row: row["task"]),
        key="tasks",
        description="Episodes of each task",
    )
    create_table_artifact(
        table=figures["outcomes"], key="outcomes", description="How the agents of each model did"
    )
    create_markdown_artifact(
        stages.cost_markdown(figures), key="cost", description="What the episodes cost"
    )
    if judge and plan["annotated"]:
        annotate(profile, project, artifacts)
    return figures


if __name__ == "__main__":
    corpus(project=str(Path(__file__).resolve().parents[1]))
