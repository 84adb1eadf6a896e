"""Installing what services need, for either runtime, and what of it is where."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vepa.services.environment import Environment
from vepa.services.runtimes import Progress, RuntimeName

__all__ = ["Installed", "folder_mib", "install_software"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Installed:
    """A part of the services' software.

    Attributes
    ----------
    where
        Folder of a Python environment, or name of an image.
    mib
        Its size in MiB.
    """

    where: str
    mib: float


def install_software(
    environments: Sequence[Environment],
    runtime: RuntimeName = "process",
    progress: Progress | None = None,
) -> list[Installed]:
    """Install what these environments need, unless it is there.

    Returns
    -------
    list of Installed
        Python environments (`process`) or images (`docker`); empty when nothing is needed.

    Raises
    ------
    InputError
        When packages or images cannot be had.
    RunError
        When an image cannot be built.
    """
    if runtime == "process":
        from vepa.services.runtimes.process_runtime import ProcessRuntime

        made = ProcessRuntime().install(environments, progress)
        return [Installed(str(path), folder_mib(path)) for path in made]
    from vepa.services.runtimes import docker_plan as plan
    from vepa.services.runtimes.docker_runtime import DockerRuntime
    from vepa.services.runtimes.images import connect, image_reference

    DockerRuntime().ready(environments, progress)
    client, found = connect(), []
    for environment in environments:
        if plan.form_of(environment) == "official":
            name = plan.official_reference(environment)
        else:
            name = image_reference(client, plan.recipe_of(environment))[0]
        found.append(Installed(name, client.images.get(name).attrs["Size"] / _MIB))
    return found


def folder_mib(folder: Path) -> float:
    """Size of all files below a folder in MiB; links are not followed."""
    return sum(_sizes(folder)) / _MIB


def _sizes(folder: Path) -> Iterator[int]:
    for path, _, files in os.walk(folder):
        for name in files:
            yield os.lstat(os.path.join(path, name)).st_size  # noqa: PTH118 - of many files
