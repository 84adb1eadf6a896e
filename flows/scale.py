"""Episodes and judgements on worker processes: of Dask or Ray, here or on a cluster.

The flows of `corpus.py` call these when their profile has a block `scale`; its runner is handed
over with `with_options`. What a worker does is `vepa`'s; a task that is given to another worker,
since the first one died, does what is still missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prefect import flow, task
from prefect.artifacts import update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture

from vepa.collect.runs import sharing
from vepa.lifecycle import limits

__all__ = ["collect_apart"]

#: Seconds between two signs of progress.
_OFTEN = 2.0


@task(task_run_name="collect-share-{number}", cache_policy=NO_CACHE)
def collect_share(where: list[str], token: str, number: int, asked: list[str]) -> dict[str, Any]:
    """Play tasks that no other share plays, until all are settled."""
    settled = sharing.collect_share(where, token, number, lambda: limits.within(asked))
    return {"share": number, "tasks": settled}


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

    return [ended(future, tell) for future in futures]


def ended(future: PrefectFuture[Any], tell: Callable[[], None]) -> Any:
    """What a task gave; meanwhile progress is told."""
    while True:
        try:
            return future.result(timeout=_OFTEN)
        except TimeoutError:
            tell()
