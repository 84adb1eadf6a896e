"""Where the heavy stages of a profile run: threads here, or worker processes of Dask or Ray.

Dask and Ray are opened on loopback, without a dashboard unless one is asked for, and tell nobody
about it. What they run is `vepa.collect.runs.sharing` and `vepa.annotate.runs.sharing`.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from vepa.bench.runs.profile import find_profile
from vepa.collect.runs.profile import read_corpus
from vepa.errors import MissingExtraError
from vepa.lifecycle.profile import ScaleProfile, read_lifecycle
from vepa.project import Project

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

__all__ = ["check_runner", "scale_of", "task_runner"]

#: Package that brings a runner.
_PACKAGES = {"dask": ("prefect_dask", "prefect-dask"), "ray": ("prefect_ray", "prefect-ray")}
#: Dask gives up a worker that was not heard for so long; half a minute is its own measure.
_PATIENT = {
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
    "distributed.scheduler.worker-ttl": "3600s",
}
#: For the objects of a Ray of this machine: what is handed over are a few names.
_RAY_OBJECTS = 80 * 1024 * 1024


def scale_of(profile: str, project: str | None = None) -> ScaleProfile:
    """The block `scale` of a profile, with `workers` filled in; threads without one.

    Parameters
    ----------
    profile
        Name of a profile, or its path.
    project
        Folder of the project; the working directory when left out.

    Raises
    ------
    SettingError
        When the profile is wrong; names file, line and field.
    MissingExtraError
        When the runner's package is not installed.
    """
    file = find_profile(Project(project), profile)
    blocks, wrong = read_lifecycle(file)
    corpus, also_wrong = read_corpus(file)
    if wrong or also_wrong:
        raise [*wrong, *also_wrong][0]
    scale = blocks.scale or ScaleProfile()
    check_runner(scale)
    if scale.workers is None and corpus is not None:
        return scale.model_copy(update={"workers": corpus.collect.offices})
    return scale


def check_runner(scale: ScaleProfile | None) -> None:
    """Raise `MissingExtraError` when the package of the runner is not installed."""
    if scale is None or not scale.apart:
        return
    module, package = _PACKAGES[scale.runner]
    if find_spec(module) is None:
        raise MissingExtraError(package, "scale")


def task_runner(scale: ScaleProfile) -> TaskRunner[Any]:
    """The runner of a flow whose tasks are done by other processes.

    Parameters
    ----------
    scale
        Of `scale_of`, `apart`.

    Raises
    ------
    MissingExtraError
        When its package is not installed.
    """
    check_runner(scale)
    return _dask(scale) if scale.runner == "dask" else _ray(scale)


def _dask(scale: ScaleProfile) -> TaskRunner[Any]:
    import dask
    from prefect_dask import DaskTaskRunner

    # On a busy machine a worker is late, not dead: the end of a process is heard at once anyway.
    dask.config.set(_PATIENT)
    runner: TaskRunner[Any]
    if scale.address is not None:
        runner = DaskTaskRunner(address=scale.address)
        return runner
    runner = DaskTaskRunner(
        cluster_kwargs={
            "n_workers": scale.workers,
            "threads_per_worker": 1,
            "processes": True,
            "host": "127.0.0.1",
            "dashboard_address": "127.0.0.1:0" if scale.dashboard else None,
            "worker_dashboard_address": None,
            # Services run below a worker; Dask would end it for what it holds itself.
            "memory_limit": 0,
        }
    )
    return runner


def _ray(scale: ScaleProfile) -> TaskRunner[Any]:
    # Read when Ray is imported, and by the processes that it starts.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_LOG_TO_STDERR", "0")
    if scale.address is None:
        # Its own switch for "one machine only": every port is opened on loopback.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    from prefect_ray import RayTaskRunner

    runner: TaskRunner[Any]
    quiet = {"log_to_driver": False, "configure_logging": False}
    if scale.address is not None:
        runner = RayTaskRunner(address=scale.address, init_kwargs=quiet)
        return runner
    runner = RayTaskRunner(
        init_kwargs={
            **quiet,
            "address": "local",  # never a cluster that happens to run
            "num_cpus": scale.workers,
            "num_gpus": 0,
            "include_dashboard": scale.dashboard,
            "dashboard_host": "127.0.0.1",
            "object_store_memory": _RAY_OBJECTS,
        }
    )
    return runner
