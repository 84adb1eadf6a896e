"""Checks of the files behind the services: environments, seeds, the world, the compose file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.cli.findings import as_feedback
from vepa.errors import InputError, Where
from vepa.files import read_text
from vepa.policy.document import parse_document
from vepa.policy.feedback import Feedback

if TYPE_CHECKING:
    from vepa.services.environment import Environment

__all__ = ["check_compose", "check_environment", "check_seed", "check_world"]


def check_environment(file: Path, _schemas: Any = None) -> list[Feedback]:
    """All that is wrong with an `environment.yaml`."""
    from vepa.services.environment import read_environment

    return [as_feedback(error) for error in read_environment(file)[1]]


@lru_cache(maxsize=64)
def _environment(file: Path, _changed: int) -> Environment | None:
    """The environment, where it can be read; once for all its seed files."""
    from vepa.services.environment import load_environment

    try:
        return load_environment(file)
    except InputError:
        return None


def check_seed(file: Path, _schemas: Any = None) -> list[Feedback]:
    """Data of an environment is YAML; a seed file is a mapping and goes with its other ones."""
    from vepa.services.environment import load_seed

    data = parse_document(read_text(file), str(file)).data
    owner = next((up for up in file.parents if (up / "environment.yaml").is_file()), None)
    environment = None
    if owner is not None:
        beside = owner / "environment.yaml"
        environment = _environment(beside, beside.stat().st_mtime_ns)
    if owner is None or environment is None:
        return []  # what is wrong with the environment, its own check says
    if file.relative_to(owner).as_posix() not in environment.seed.files:
        return []
    if not isinstance(data, dict):
        raise InputError(
            "a seed file is a mapping",
            where=Where(str(file), 1),
            remedy="name what it lists: `notes: [...]`; templates then see `seed.notes`",
        )
    load_seed(environment)
    return []


def check_world(file: Path, _schemas: Any = None) -> list[Feedback]:
    """The world that services are seeded from."""
    from vepa.services.world import load_world

    load_world(file)
    return []


def check_compose(file: Path, _schemas: Any = None) -> list[Feedback]:
    """Docker has its own checks; what is held here is that nothing listens beyond loopback."""
    document = parse_document(read_text(file), str(file))
    services = document.data.get("services") if isinstance(document.data, dict) else None
    if not isinstance(services, dict) or not all(isinstance(it, dict) for it in services.values()):
        raise InputError(
            "`services` is a mapping of services",
            where=Where(str(file), 1, "services"),
            remedy="vepa services compose --write",
        )
    found = []
    for name, service in services.items():
        for at, port in enumerate(service.get("ports", [])):
            if not str(port).startswith("127.0.0.1:"):
                place = ("services", name, "ports", at)
                where = Where(str(file), document.line(place), ".".join(map(str, place)))
                error = InputError(
                    f"{name} is published beyond loopback: {port}",
                    where=where,
                    remedy=f"127.0.0.1:{port}",
                )
                found.append(as_feedback(error))
    return found
