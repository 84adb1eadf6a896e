"""Episodes and judgements on worker processes: of Dask or Ray, here or on a cluster.

The flows of `corpus.py` call these when their profile has a block `scale`; its runner is handed
over with `with_options`. What a worker does is `vepa`'s; a task that is given to another worker,
since the first one died, does what is still missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture

from vepa.annotate.runs import sharing as judging
from vepa.bench.runs.board import Board
from vepa.collect.runs import sharing
from vepa.errors import RunError
from vepa.lifecycle import limits

__all__ = ["annotate_apart", "collect_apart"]

#: Seconds between two signs of progress.
_OFTEN = 2.0
#: Seconds without a sign of life after which nobody is waited for any more.
_SILENT = 300.0


@task(task_run_name="collect-share-{number}", cache_policy=NO_CACHE)
def collect_share(where: list[str], token: str, number: int, asked: list[str]) -> dict[str, Any]:
    """Play tasks that no other share plays, until all are settled."""
    settled = sharing.collect_share(where, token, number, lambda: limits.within(asked))
    return {"share": number, "tasks": settled}


@task(task_run_name="annotate-{reader}-share-{number}", cache_policy=NO_CACHE)
def annotate_share(
    where: list[str], token: str, reader: str, number: int, asked: list[str]
) -> dict[str, Any]:
    """Judge one share of what a reader has not judged."""
    judged = judging.judge_share(where, token, reader, number, lambda: limits.within(asked))
    return {"reader": reader, "asked": judged}


@flow(name="collect-apart", flow_run_name="collect-apart")
def collect_apart(
    folder: str,
    where: list[str],
    token: str,
    workers: int,
    asked: list[str],
    progress: Any,
    of: int,
) -> list[dict[str, Any]]:
    """Let workers play what is missing of a corpus; how many tasks each settled.

    Parameters
    ----------
    folder
        Of the corpus; the process that runs this flow holds it.
    where
        Profile, project and artifacts, as absolute paths.
    token
        Of the run.
    workers
        Shares that are handed out.
    asked
        Limits of providers that a task waits for.
    progress
        Id of the progress artifact.
    of
        Tasks in all.
    """
    futures = [collect_share.submit(where, token, number, asked) for number in range(workers)]

    def tell() -> None:
        done = sharing.settled(folder, token)
        update_progress_artifact(artifact_id=progress, progress=100.0 * done / max(1, of))

    found = ended(futures, Board(Path(folder), token), tell)
    update_progress_artifact(artifact_id=progress, progress=100.0)
    return found


@flow(name="annotate-apart", flow_run_name="annotate-apart")
def annotate_apart(
    folder: str,
    where: list[str],
    token: str,
    workers: int,
    asked: dict[str, list[str]],
    left: int,
) -> list[dict[str, Any]]:
    """Let workers judge what is not judged; how many steps each was asked for.

    Parameters
    ----------
    folder
        Of the labels; the process that runs this flow holds it.
    where, token, workers
        As of `collect_apart`.
    asked
        Name of a reader -> limits of providers that its shares wait for.
    left
        Judgements that are missing.
    """
    progress: Any = create_progress_artifact(
        progress=0.0, key="annotate", description=f"Steps judged; labels in `{folder}`"
    )
    futures = [
        annotate_share.submit(where, token, reader, number, limited)
        for number in range(workers)
        for reader, limited in asked.items()
    ]

    def tell() -> None:
        done = judging.judged(folder)
        update_progress_artifact(artifact_id=progress, progress=100.0 * min(1.0, done / left))

    found = ended(futures, Board(Path(folder), token), tell)
    update_progress_artifact(artifact_id=progress, progress=100.0)
    return found


def ended(
    futures: Sequence[PrefectFuture[Any]], board: Board, tell: Callable[[], None]
) -> list[Any]:
    """What tasks gave, in order; meanwhile progress is told, and somebody must be at work.

    Raises
    ------
    RunError
        When no worker gives a sign of life: tasks would wait for one for ever.
    """
    found: list[Any] = []
    pulse, since = board.pulse(), time.monotonic()
    for future in futures:
        while True:
            try:
                found.append(future.result(timeout=_OFTEN))
                break
            except TimeoutError:
                tell()
            if board.pulse() != pulse:
                pulse, since = board.pulse(), time.monotonic()
            elif time.monotonic() - since > _SILENT:
                raise RunError(
                    f"no worker gave a sign of life for {_SILENT:.0f} seconds; is the cluster up, "
                    "has it a free place for a task, and is the machine not too busy? What was "
                    "made is kept: the same command goes on"
                )
    return found
