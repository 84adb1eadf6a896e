"""What `vepa.services.runtimes.processes` is asked to start, and how a launcher reads it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vepa.errors import InputError, Where
from vepa.services.runtimes import launcher
from vepa.services.runtimes.launcher import started

__all__ = ["ProcessSpec", "check", "check_restore", "plain", "read_spec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """One service as a process.

    Attributes
    ----------
    office, service
        Names; every process of the service carries them as VEPA_OFFICE and VEPA_SERVICE.
    folder
        The service's own folder, made if missing: spec, status, log, and below it `data/`,
        `files/` and `tmp/`, which belong to the service's user.
    argv
        Program and arguments. `@PORT:NAME@` stands for the number of a port, here, in the values
        of `env`, and in the names and texts of `files`.
    ports
        Name to number; 0 asks for any free port. All are held on 127.0.0.1.
    env
        Added to the service's environment, which is otherwise PATH, LANG, TZ, HOME and TMPDIR.
    files
        Path (relative: below `folder/files`) to text, written before every start by the service's
        user.
    data
        The folder that a restart restores; by default `folder/data`.
    snapshot
        What it is restored to.
    user
        The account that root starts the service as; an ordinary user stays who it is.
    cwd
        Working directory, by default `data`.
    stop_signal
        TERM, INT or QUIT, for the main process.
    grace
        Seconds after it until everything of the service is killed.
    owner
        A process whose death stops the service; None: it runs until it is stopped.
    log_limit
        Bytes of log; beyond, the log moves to `service.log.1` and starts afresh.
    """

    office: str
    service: str
    folder: Path
    argv: Sequence[str]
    ports: Mapping[str, int] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    snapshot: Path | None = None
    user: str | None = None
    cwd: Path | None = None
    stop_signal: str = "TERM"
    grace: float = 5.0
    owner: int | None = None
    log_limit: int = 20_000_000


def check(spec: ProcessSpec) -> None:
    """Refuse what no launcher can start.

    Raises
    ------
    InputError
        When it is not Linux, or a program, signal, port or placeholder is wrong.
    """
    where = Where(str(spec.folder))
    if platform.system() != "Linux":
        raise InputError(
            "services run as plain processes on Linux only",
            where=where,
            remedy="use the runtime `docker`",
        )
    if not spec.argv:
        raise InputError(f"the service {spec.service!r} names no program", where=where)
    if spec.stop_signal not in ("TERM", "INT", "QUIT"):
        raise InputError(
            f"{spec.stop_signal!r} stops no service", where=where, remedy="TERM, INT or QUIT"
        )
    for name, number in spec.ports.items():
        if not 0 <= number <= 65535:
            raise InputError(f"{number} is no port ({name})", where=where, remedy="0 to 65535")
    some = dict.fromkeys(spec.ports, 1)
    for text in (*spec.argv, *spec.env.values(), *spec.files, *spec.files.values()):
        rest = launcher.fill(text, some)
        at = rest.find("@PORT:")
        if at >= 0:
            raise InputError(
                f"unknown port in the placeholder {rest[at : at + 40].split()[0]!r}",
                where=where,
                remedy=f"the ports of {spec.service!r} are: {', '.join(spec.ports) or 'none'}",
            )


def check_restore(folder: Path, restore: bool) -> None:
    """Refuse a restart that cannot restore; it must not stop the service first.

    Raises
    ------
    InputError
        When the snapshot to restore from is not there.
    """
    snapshot = read_spec(folder).get("snapshot")
    if restore and not (snapshot and Path(snapshot).is_dir()):
        raise InputError(
            f"no snapshot to restore from ({snapshot or 'none is set'})",
            where=Where(str(folder)),
            remedy="`vepa services up` makes the snapshot of the seed",
        )


def plain(spec: ProcessSpec, folder: Path) -> dict[str, Any]:
    """The spec as the launcher reads it: absolute paths, the owner with its start."""
    owner = None
    if spec.owner is not None:
        owner = [spec.owner, started(spec.owner) or 0]
    return {
        "office": spec.office,
        "service": spec.service,
        "folder": str(folder),
        "argv": [str(part) for part in spec.argv],
        "ports": dict(spec.ports),
        "env": dict(spec.env),
        "files": dict(spec.files),
        "data": str(spec.data.absolute() if spec.data else folder / launcher.DATA),
        "snapshot": str(spec.snapshot.absolute()) if spec.snapshot else None,
        "user": spec.user,
        "cwd": str(spec.cwd.absolute()) if spec.cwd else None,
        "stop_signal": spec.stop_signal,
        "grace": spec.grace,
        "owner": owner,
        "log_limit": spec.log_limit,
    }


def read_spec(folder: Path) -> dict[str, Any]:
    """The spec that a launcher was given; empty when the folder holds none."""
    try:
        spec: dict[str, Any] = json.loads((folder / launcher.SPEC).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return spec
