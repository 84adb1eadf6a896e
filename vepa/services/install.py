"""The services' own software: one Python environment for a set of packages, never VEPA's own.

An environment lies at `<cache>/services/<hash>/`; the hash covers requirements, constraints and the
Python that made it. Scripts in it name their interpreter by its whole path, so it is built where it
stays; a stamp written last says that it is complete, and one without the stamp is built again.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vepa.errors import InputError, RunError, Where
from vepa.files import canonical_json, read_text, sha256_of, write_atomic
from vepa.services.places import places

__all__ = ["Layout", "install", "installed", "layout"]

_STAMP = "complete.json"
_TAIL = 15
_MISSING = re.compile(r"No matching distribution found for (?P<name>[^\s;]+)")
_INVALID = re.compile(r"Invalid requirement: '?(?P<name>[^'\n]+)")
_OFFLINE = (
    "Temporary failure in name resolution",
    "Name or service not known",
    "Failed to establish a new connection",
    "NewConnectionError",
    "ConnectTimeoutError",
    "Network is unreachable",
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in an environment: interpreter, scripts, packages."""

    python: Path
    bin: Path
    site: Path


def layout(venv: Path) -> Layout:
    """The parts of an environment that `install` made with this Python."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return Layout(venv / "bin" / "python", venv / "bin", venv / "lib" / version / "site-packages")


def installed(
    requirements: Sequence[str], constraints: Path | None, *, services: Path | None = None
) -> Path | None:
    """The environment with these packages, where it is complete."""
    venv = _place(requirements, constraints, services)
    return venv if _complete(venv) else None


def install(
    requirements: Sequence[str],
    constraints: Path | None,
    progress: Callable[[str], None] | None = None,
    *,
    services: Path | None = None,
) -> Path:
    """Make the environment with these packages, unless it is there.

    May be called at once by several processes: the others wait for the first.

    Parameters
    ----------
    requirements
        As pip takes them: `radicale==3.9.0`.
    constraints
        A pip constraints file.
    progress
        Is told what happens, line by line.
    services
        The folder for environments; by default that of the cache.

    Returns
    -------
    The environment's folder; `layout` knows its parts.

    Raises
    ------
    InputError
        When pip cannot find, reach or reconcile the packages; its last lines are in the message.
    RunError
        When the environment itself cannot be made.
    """
    tell = progress or (lambda _: None)
    venv = _place(requirements, constraints, services)
    if _complete(venv):
        return venv
    venv.parent.mkdir(parents=True, exist_ok=True)
    with _lock(venv.with_suffix(".lock"), tell) as lock:
        if _complete(venv):
            return venv
        if venv.exists():
            tell("an installation that was interrupted is done again")
            shutil.rmtree(venv)
        try:
            _make(venv, lock, tell)
            _fill(venv, requirements, constraints, lock, tell)
            write_atomic(venv / _STAMP, canonical_json(_identity(requirements, constraints)))
        except BaseException:
            shutil.rmtree(venv, ignore_errors=True)
            raise
    return venv


def _identity(requirements: Sequence[str], constraints: Path | None) -> dict[str, object]:
    return {
        "requirements": sorted(requirements),
        "constraints": read_text(constraints) if constraints else "",
        "python": [platform.python_implementation(), platform.python_version()],
        "machine": platform.machine(),
    }


def _place(requirements: Sequence[str], constraints: Path | None, services: Path | None) -> Path:
    return (services or places().services) / sha256_of(
        canonical_json(_identity(requirements, constraints))
    )[:16]


def _complete(venv: Path) -> bool:
    # The interpreter is a link; it leads nowhere once that Python is removed.
    return (venv / _STAMP).is_file() and (venv / "bin" / "python").exists()


@contextmanager
def _lock(path: Path, tell: Callable[[str], None]) -> Iterator[int]:
    """Alone with an environment.

    pip inherits the descriptor: should this process be killed, the lock lasts until pip ends too.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another process is installing the same packages; waiting for it")
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def _make(venv: Path, lock: int, tell: Callable[[str], None]) -> None:
    tell("making a Python environment for the services")
    code, lines = _run([sys.executable, "-m", "venv", str(venv)], lock, lambda _: None)
    if code != 0:
        raise RunError(
            f"{venv}: no Python environment can be made:\n{_indent(lines)}\n"
            "  remedy: this Python needs its modules `venv` and `ensurepip` "
            "(Debian: apt-get install python3-venv)"
        )


def _fill(
    venv: Path,
    requirements: Sequence[str],
    constraints: Path | None,
    lock: int,
    tell: Callable[[str], None],
) -> None:
    command = [str(layout(venv).python), "-m", "pip", "install", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off"]
    if constraints is not None:
        command += ["--constraint", str(constraints)]
    code, lines = _run([*command, "--", *requirements], lock, tell)
    if code != 0:
        raise _failure(lines, constraints)


def _run(command: list[str], lock: int, tell: Callable[[str], None]) -> tuple[int, list[str]]:
    """Run to the end, passing lines on; its code and its lines."""
    environment = {
        name: value
        for name, value in os.environ.items()
        # What would lead pip or the new interpreter back into VEPA's own environment.
        if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX")
        and name not in ("PIP_USER", "PIP_REQUIRE_VIRTUALENV", "__PYVENV_LAUNCHER__")
    }
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        pass_fds=(lock,),
        umask=0o022,  # services run from it as `nobody`
        start_new_session=True,
    ) as child:
        try:
            for line in child.stdout or ():
                lines.append(line.rstrip())
                tell(line.strip())
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, 9)
            raise
    return child.returncode, lines


def _failure(lines: list[str], constraints: Path | None) -> InputError:
    """What pip's last words mean."""
    text = "\n".join(lines)
    missing, invalid = _MISSING.search(text), _INVALID.search(text)
    # A package index that cannot be reached looks to pip as if it had nothing.
    if any(sign in text for sign in _OFFLINE):
        what, remedy = "the package index cannot be reached", _offline_remedy()
    elif invalid:
        what = f"{invalid['name']!r} is no requirement that pip understands"
        remedy = "correct `packages` in the environment file: NAME==VERSION"
    elif missing:
        what = f"the package {missing['name']!r} cannot be found"
        remedy = "check its name and version in `packages` of the environment file, and that the "
        remedy += "index in pip's configuration (`pip config list`) has it for this Python"
    elif "ResolutionImpossible" in text:
        what = "the packages do not fit together"
        remedy = f"change the versions in the environment files or in {constraints or 'them'}"
    elif "No space left on device" in text:
        what, remedy = "the disk is full", "make room, or name another place in VEPA_CACHE"
    else:
        what, remedy = "pip could not install the packages", "pip's last lines say why"
    return InputError(
        f"{what}; the last lines of pip:\n{_indent(lines)}",
        where=Where(str(constraints) if constraints else None),
        remedy=remedy,
    )


def _offline_remedy() -> str:
    return (
        "connect this machine, or let pip's configuration (`pip config list`) point to an index or "
        "a folder of wheels that can be reached"
    )


def _indent(lines: list[str]) -> str:
    return "\n".join(f"  | {line}" for line in lines[-_TAIL:])
