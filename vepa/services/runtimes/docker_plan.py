"""How the container of a service is made: its image, its limits, and what is put into it.

Two forms. A *built* image runs the same packages with the same command as the process form; its
first process (`container.py`) waits for a spec. An *official* image, named in the environment file
and chosen with VEPA_DOCKER_IMAGES=official, runs as its makers meant it.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from vepa.errors import SettingError, Where
from vepa.services.drivers import Endpoint
from vepa.services.environment import Environment
from vepa.services.runtimes.base import Slot
from vepa.services.runtimes.images import BASE, Recipe, carried_files
from vepa.services.runtimes.requirements import constraints_of
from vepa.services.steps import base_context
from vepa.services.templates import render

__all__ = [
    "ASK",
    "HEALTH",
    "HOST",
    "NETWORK_OPTIONS",
    "PIDS",
    "VARIABLE",
    "form_of",
    "latest_seed",
    "office_archive",
    "official_archive",
    "official_reference",
    "official_settings",
    "outer_ports",
    "recipe_of",
    "seed_repository",
    "settings_of",
    "spec_of",
]

Form = Literal["built", "official"]

#: Published ports are on loopback only.
HOST = "127.0.0.1"
#: Chooses between built images (the default) and official ones, where the environment names one.
VARIABLE = "VEPA_DOCKER_IMAGES"
#: Asks the first process of a built container.
_PYTHON = "/opt/services/bin/python"
_CONTAINER = [_PYTHON, "-I", "-S", "/opt/vepa/container.py"]
ASK = [*_CONTAINER, "ask"]
#: Ends well when the service answers.
HEALTH = ["CMD", *_CONTAINER, "health"]
#: Nothing leads out of an office's network, and what is published is published on loopback.
NETWORK_OPTIONS = {
    "com.docker.network.bridge.enable_ip_masquerade": "false",
    "com.docker.network.bridge.host_binding_ipv4": HOST,
}
#: Of the Python in the images, as the name of their base says.
_VERSION = BASE.partition(":")[2].partition("-")[0]
_DATA, _FILES, _FOLDER = "/office/data", "/office/files", "/environment"
#: The user of the built images.
_UID = 10001
#: Ports of a built container's own address that are relayed to its service.
_FIRST_RELAYED = 20001
#: Processes and threads that a container may have.
PIDS = 512
_MIB = 1024 * 1024
#: What start scripts of official images need to give their data to their user, and no more.
_OFFICIAL_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]


def form_of(environment: Environment) -> Form:
    """Whether the image of an environment is built or an official one.

    Raises
    ------
    SettingError
        When the variable says neither.
    """
    wanted = os.environ.get(VARIABLE, "built")
    if wanted not in ("built", "official"):
        raise SettingError(
            f"{wanted!r} is no kind of image", where=Where(field=VARIABLE), remedy="built, official"
        )
    return "official" if wanted == "official" and environment.docker.image else "built"


def official_reference(environment: Environment) -> str:
    """The image that the environment names, by its digest where there is one."""
    image, digest = environment.docker.image or "", environment.docker.digest
    return f"{image.rpartition(':')[0] or image}@{digest}" if digest else image


def recipe_of(environment: Environment) -> Recipe:
    """What the environment's image is built of; without wheels."""
    return Recipe(
        name=environment.name,
        packages=environment.process.packages,
        folder=environment.folder,
        constraints=constraints_of(environment),
        programs=environment.process.programs,
    )


def seed_repository(environment: Environment) -> str:
    """Where the seeded containers of an environment are kept as images, tagged with their keys."""
    return f"vepa-seed/{environment.name}"


def latest_seed(environment: Environment) -> tuple[str, str]:
    """Repository and tag of the seed that an office was started from last, for compose files.

    Each kind of image has its own: the one cannot be run as the other is.
    """
    tag = "latest" if form_of(environment) == "built" else "official"
    return seed_repository(environment), tag


def outer_ports(environment: Environment) -> dict[str, int]:
    """Name -> port of the container's own address."""
    if form_of(environment) == "official":
        return dict(environment.docker.ports)
    return {name: _FIRST_RELAYED + at for at, name in enumerate(environment.process.ports)}


def settings_of(slot: Slot, fixed: Mapping[str, int]) -> dict[str, Any]:
    """Arguments of `containers.create` beside image, name, labels and network.

    Parameters
    ----------
    slot
        The service.
    fixed
        Name -> port of this machine that it must get; the engine picks the others.
    """
    from docker.types import LogConfig

    environment = slot.environment
    wanted = {name: port or None for name, port in environment.process.ports.items()}
    wanted |= fixed
    settings: dict[str, Any] = {
        "detach": True,
        "hostname": slot.name,
        "ports": {
            f"{port}/tcp": (HOST, wanted[name]) for name, port in outer_ports(environment).items()
        },
        "mem_limit": environment.docker.memory * _MIB,
        "memswap_limit": environment.docker.memory * _MIB,
        "pids_limit": PIDS,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "log_config": LogConfig(type="json-file", config={"max-size": "10m", "max-file": "2"}),
    }
    if form_of(environment) == "built":
        return settings | {"healthcheck": _healthcheck()}
    return settings | official_settings(slot)


def _healthcheck() -> dict[str, Any]:
    """For people who look at the engine; the runtime asks the service itself."""
    second = 10**9
    return {"test": HEALTH, "interval": 30 * second, "timeout": 10 * second, "retries": 3}


def official_settings(slot: Slot) -> dict[str, Any]:
    """What differs for an official image: variables, user or capabilities, program, arguments."""
    docker = slot.environment.docker
    names = _official_names(slot)
    settings: dict[str, Any] = {
        "environment": {key: str(value) for key, value in render(docker.environment, names).items()}
    }
    if docker.user is not None:
        settings["user"] = docker.user
    else:
        settings["cap_add"] = _OFFICIAL_CAPABILITIES
    for name, given in (("entrypoint", docker.entrypoint), ("command", docker.command)):
        if given is not None:
            settings[name] = _texts(render(given, names))
    return settings


def _official_names(slot: Slot) -> dict[str, Any]:
    """Templates of an official image see the container from inside."""
    docker = slot.environment.docker
    base = base_context(slot.environment, slot.world, Endpoint("0.0.0.0", docker.ports))  # noqa: S104
    inside = {"data": docker.data, "run": f"{_FILES}/run", "folder": _FOLDER, "python": "python3"}
    return base | inside


def official_archive(slot: Slot, fresh: bool) -> bytes:
    """What an official image is given, as a tar for `/`.

    The rendered files, the environment's own and, when it is fresh, its data folder.
    """
    docker = slot.environment.docker
    names = _official_names(slot)
    archive = _Archive(uid=0)
    for place in ("/office", _FILES, f"{_FILES}/run", _FOLDER):
        archive.folder(place, 0o755)
    if fresh:
        archive.folder(docker.data, 0o777)
    for path in carried_files(slot.environment.folder):
        inside = path.relative_to(slot.environment.folder).as_posix()
        archive.file(f"{_FOLDER}/{inside}", path.read_bytes(), 0o644)
    files = {_at(path, docker.data): text for path, text in slot.environment.process.files.items()}
    for place, text in (files | docker.files).items():
        archive.file(place, str(render(text, names)), 0o644)
    return archive.bytes()


def _at(path: str, data: str) -> str:
    """Where a file of `process.files` lies in the container of an official image."""
    part, _, rest = path.partition("/")
    return f"{data}/{rest}" if part == "data" else f"{_FILES}/{path}"


def office_archive(slot: Slot, ports: Mapping[str, int], fresh: bool) -> bytes:
    """Spec of a built container, as a tar for `/`.

    Parameters
    ----------
    slot
        The service.
    ports
        Name -> port of this machine; the service uses the same numbers inside.
    fresh
        Whether its data folder is empty and has to be prepared.
    """
    archive = _Archive(uid=_UID)
    archive.file("/office/spec.json", json.dumps(spec_of(slot, ports, fresh)), 0o600)
    archive.file("/office/go", "", 0o600)  # the last one: what it announces is complete
    return archive.bytes()


def spec_of(slot: Slot, ports: Mapping[str, Any], fresh: bool) -> dict[str, Any]:
    """What `container.py` has to know; parameters as of `office_archive`."""
    process = slot.environment.process
    names = {
        **base_context(slot.environment, slot.world, Endpoint(HOST, ports)),
        "python": _PYTHON,
        "bin": "/opt/services/bin",
        "site": f"/opt/services/lib/python{_VERSION}/site-packages",
        "folder": _FOLDER,
        "data": _DATA,
        "run": f"{_FILES}/run",
    }
    outer = outer_ports(slot.environment)
    return {
        "argv": _texts(render(process.command, names)),
        "env": {key: str(value) for key, value in render(process.environment, names).items()},
        "files": {_inside(path): str(render(text, names)) for path, text in process.files.items()},
        "prepare": [_texts(render(each, names)) for each in process.prepare] if fresh else [],
        "relay": {str(outer[name]): ports[name] for name in outer},
        "stop_signal": process.stop.signal,
        "grace": process.stop.seconds,
    }


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values]


def _inside(path: str) -> str:
    return f"/office/{path}" if path.startswith("data/") else f"{_FILES}/{path}"


class _Archive:
    """A tar in memory; folders above a file come from the image or are made by the engine."""

    def __init__(self, uid: int):
        self._uid = uid
        self._buffer = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._buffer, mode="w")  # noqa: SIM115 - closed by bytes

    def _entry(self, path: str, mode: int) -> tarfile.TarInfo:
        entry = tarfile.TarInfo(str(Path(path).relative_to("/")))
        entry.mode, entry.uid, entry.gid = mode, self._uid, self._uid
        return entry

    def folder(self, path: str, mode: int) -> None:
        entry = self._entry(path, mode)
        entry.type = tarfile.DIRTYPE
        self._tar.addfile(entry)

    def file(self, path: str, content: str | bytes, mode: int) -> None:
        data = content if isinstance(content, bytes) else content.encode()
        entry = self._entry(path, mode)
        entry.size = len(data)
        self._tar.addfile(entry, io.BytesIO(data))

    def bytes(self) -> bytes:
        self._tar.close()
        return self._buffer.getvalue()
