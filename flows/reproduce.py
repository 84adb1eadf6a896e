"""The plays of `vepa reproduce` as Prefect tasks, on worker processes of Dask or Ray.

`vepa reproduce --runner dask` runs this flow. A task is handed names alone and finds events and
experiments by them, so a cluster's workers need the same checkout and a folder that all can write
to. A play that is there is not played again, and one that died with its worker is given to another.
"""

from __future__ import annotations

from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from vepa.bench.experiments.conduct import perform_named
from vepa.lifecycle.profile import ScaleProfile
from vepa.lifecycle.scaling import task_runner

__all__ = ["sweep"]

#: How often a play is given to another worker.
_AGAIN = 3


@task(task_run_name="play-{key}", cache_policy=NO_CACHE, retries=_AGAIN)
def play(where: dict[str, Any], key: str) -> str:
    """One play; its key."""
    return perform_named(where, key)


@flow(name="reproduce-plays", flow_run_name="reproduce-plays")
def plays(where: dict[str, Any], keys: list[str]) -> list[str]:
    """Every play as a task; the keys of those that are there."""
    futures = [play.submit(where, key) for key in keys]
    return [str(future.result()) for future in futures]


@flow(name="reproduce", flow_run_name="reproduce")
def sweep(
    catalogue: str,
    options: dict[str, Any],
    folder: str,
    project: str | None,
    scale: dict[str, Any],
    keys: list[str],
) -> list[str]:
    """Play on the processes that `scale` names.

    Parameters
    ----------
    catalogue
        File of the experiments.
    options
        Of `vepa.bench.experiments.planning.Options`.
    folder
        Of the plays.
    project
        Where events are looked up; the working directory without it.
    scale
        Of `vepa.lifecycle.profile.ScaleProfile`: runner, workers, address.
    keys
        The plays that are missing, in the order in which they are handed out.
    """
    where = {"catalogue": catalogue, "options": options, "folder": folder, "project": project}
    runner = task_runner(ScaleProfile.model_validate(scale))
    return plays.with_options(task_runner=runner)(where, keys)
