"""What the verbs about services and tools share: their arguments, and what stands behind them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vepa.services import Environment, Office
    from vepa.services.overview import ServiceView

__all__ = [
    "NamesArgument",
    "OfficeOption",
    "RuntimeChoice",
    "RuntimeOption",
    "address",
    "environments_of",
    "known_services",
    "memory",
    "one_or_all",
    "world_of",
]


class RuntimeChoice(StrEnum):
    """How services run."""

    process = "process"
    docker = "docker"


NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Environments; all when left out.")
]
RuntimeOption = Annotated[
    RuntimeChoice, typer.Option("--runtime", help="Plain processes, or containers.")
]
OfficeOption = Annotated[
    str | None,
    typer.Option("--office", metavar="ID", help="Which office; the only one when left out."),
]


def environments_of(
    names: Sequence[str] | None, project: Path | None, given: str = "NAME"
) -> list[Environment]:
    """The named environments of the project, or all; `given` is the option with the names.

    Raises
    ------
    SettingError
        When a name is unknown, a file is wrong, or there are none.
    """
    from vepa.errors import SettingError
    from vepa.project import Project
    from vepa.services import load_environments

    found = load_environments(Project(project), names or (), field=given)
    if not found:
        raise SettingError(
            "the project has no environments",
            remedy="--project names a folder with environments/NAME/environment.yaml",
        )
    return found


def world_of(project: Path | None) -> Path:
    """The file of the world that services are seeded from."""
    from vepa.project import Project

    return Project(project).find("environments", "world.yaml")


def known_services(office: Office, names: Sequence[str]) -> list[str]:
    """Names of services of an office.

    Raises
    ------
    SettingError
        When one of them is none.
    """
    from vepa.errors import SettingError, Where
    from vepa.policy.schema import nearest

    for name in names:
        if name not in office.environments:
            raise SettingError(
                f"office {office.id!r} has no service {name!r}",
                where=Where(field="NAME"),
                remedy=nearest(name, sorted(office.environments), "services"),
            )
    return list(names)


def one_or_all(office: str | None, every: bool) -> None:
    """Refuse `--office ID --all`."""
    from vepa.errors import SettingError, Where

    if office is not None and every:
        raise SettingError(
            "one office or all of them, not both",
            where=Where(field="--all"),
            remedy="leave --office or --all out",
        )


def address(service: ServiceView) -> str:
    """Where a service listens: `http 127.0.0.1:40123`."""
    return ", ".join(f"{name} {service.host}:{port}" for name, port in service.ports.items())


def memory(service: ServiceView) -> str:
    """MiB as a cell of a table."""
    return "" if service.memory_mib is None else f"{service.memory_mib:.0f}"
