"""What is kept on disk of an office: who owns it, what runs in it, what was written to."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vepa.errors import RunError, SettingError, Where
from vepa.files import write_atomic
from vepa.policy.schema import nearest
from vepa.services.places import Places, make_private
from vepa.services.runtimes import processes
from vepa.services.runtimes.base import RuntimeName

__all__ = [
    "OfficeRecord",
    "Owner",
    "WriteLog",
    "claim",
    "coming_and_going",
    "dead_offices",
    "find_office",
    "going",
    "offices",
    "own",
    "owned_by",
    "owner_of",
    "remove",
    "remove_remains",
]

_FILE = "office.json"
_OWNER = "owner"
#: Folders that are being made or removed; what a crash left of them is swept.
_MAKING, _GOING = ".claim-", ".gone-"


class OfficeRecord(BaseModel):
    """The file `office.json`.

    Attributes
    ----------
    id
        Name of the office.
    runtime
        How its services run.
    world
        The world file.
    environments
        Name -> environment file.
    keys
        Name -> key of the snapshot that the service was started from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    runtime: RuntimeName
    world: str
    environments: dict[str, str]
    keys: dict[str, str]

    def write(self, folder: Path) -> None:
        """Put the record into an office's folder."""
        write_atomic(folder / _FILE, self.model_dump_json(indent=1))


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose death ends an office.

    Attributes
    ----------
    pid, start
        The process and its start time; None: the office lives until it is taken down.
    runtime
        How its services run.
    """

    pid: int | None
    start: int | None
    runtime: RuntimeName

    @property
    def gone(self) -> bool:
        """Whether the owner is no more."""
        return self.pid is not None and not processes.alive(
            processes.Process(self.pid, self.start or 0)
        )


def own(folder: Path, pid: int | None, runtime: RuntimeName) -> None:
    """Say who owns an office: a process, or nobody (it lives until it is taken down)."""
    start = processes.started(pid) if pid is not None else None
    write_atomic(folder / _OWNER, json.dumps({"pid": pid, "start": start, "runtime": runtime}))


@contextmanager
def coming_and_going(root: Places) -> Iterator[None]:
    """Offices are claimed and dead ones swept one at a time: else a new one could be swept."""
    with open(root.root / "offices.lock", "a", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def going(folder: Path, runtime: RuntimeName) -> None:
    """This process takes an office down: should it die meanwhile, the next one ends its work."""
    if folder.is_dir():
        with suppress(OSError):  # a full disk must not keep an office up
            own(folder, os.getpid(), runtime)


def claim(root: Places, office: str, runtime: RuntimeName) -> Path:
    """Make the folder of an office, owned by this process from its first moment.

    Raises
    ------
    FileExistsError
        When an office of that id is there.
    """
    make_private(root.offices)
    with coming_and_going(root):
        work = Path(tempfile.mkdtemp(dir=root.offices, prefix=_MAKING))
        try:
            own(work, os.getpid(), runtime)
            folder = root.office(office)
            try:
                work.rename(folder)
            except OSError as error:
                raise FileExistsError(office) from error
            return make_private(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def owner_of(folder: Path) -> Owner | None:
    """The owner of an office; None where nothing says so."""
    try:
        return Owner(**json.loads((folder / _OWNER).read_text("ascii")))
    except (OSError, ValueError, TypeError):
        return None


def _all(root: Places) -> Iterator[Path]:
    if root.offices.is_dir():
        folders = (path for path in root.offices.iterdir() if path.is_dir())
        yield from sorted(path for path in folders if not path.name.startswith("."))


def offices(root: Places) -> list[OfficeRecord]:
    """The offices that are up, sorted by id."""
    found = []
    for folder in _all(root):
        try:
            text = (folder / _FILE).read_text("utf-8")
            found.append(OfficeRecord.model_validate_json(text))
        except (OSError, ValueError):
            continue  # being made, or a leftover
    return found


def find_office(root: Places, office: str | None) -> OfficeRecord:
    """The office of that id, or the only one.

    Raises
    ------
    SettingError
        When there is none, or several and none was named.
    """
    known = {record.id: record for record in offices(root)}
    if not known:
        raise SettingError("no office is up", remedy="vepa services up")
    if office is None:
        if len(known) == 1:
            return next(iter(known.values()))
        raise SettingError(
            f"{len(known)} offices are up",
            where=Where(field="--office"),
            remedy=f"name one: {', '.join(known)}",
        )
    if office not in known:
        raise SettingError(
            f"there is no office {office!r}",
            where=Where(field="--office"),
            remedy=nearest(office, sorted(known), "offices"),
        )
    return known[office]


def dead_offices(root: Places) -> dict[str, RuntimeName]:
    """Offices whose owner is gone, so that what is left of them has to be swept; their runtime."""
    dead: dict[str, RuntimeName] = {}
    for folder in _all(root):
        owner = owner_of(folder)
        if owner is None:  # a folder without its mark was never a whole office
            dead[folder.name] = "process"
        elif owner.gone:
            dead[folder.name] = owner.runtime
    return dead


def owned_by(root: Places, pid: int) -> list[str]:
    """Ids of the offices whose services end with a process."""
    owners = ((folder.name, owner_of(folder)) for folder in _all(root))
    return [name for name, owner in owners if owner is not None and owner.pid == pid]


class WriteLog:
    """Which services of an office may differ from their seed; survives any crash.

    Parameters
    ----------
    folder
        Of the office.
    """

    def __init__(self, folder: Path):
        self._folder = folder / "written"

    def mark(self, name: str) -> None:
        """Put on record, before it happens, that a service is written to.

        Raises
        ------
        RunError
            When it cannot be: the office is down, or the disk is full.
        """
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with self._locked(), open(self._folder / name, "ab") as file:
                file.write(b".")
        except OSError as error:
            raise RunError(
                f"a write to {name} cannot be put on record ({error.strerror}): is office "
                f"{self._folder.parent.name!r} still up?"
            ) from None

    def count(self, name: str) -> int:
        """How often a service was put on record; what `clear` asks for."""
        try:
            return (self._folder / name).stat().st_size
        except FileNotFoundError:
            return 0

    def clear(self, name: str, count: int) -> None:
        """A service is at its seed again, unless it was put on record since `count` was read."""
        if self._folder.is_dir():
            with self._locked():
                if self.count(name) == count:
                    (self._folder / name).unlink(missing_ok=True)

    def names(self) -> set[str]:
        """The services on record."""
        return {path.name for path in self._folder.iterdir()} if self._folder.is_dir() else set()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process and thread at a time."""
        fd = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def remove(folder: Path) -> None:
    """Remove an office's folder; one that is half gone is never taken for an office."""
    going = folder.with_name(f"{_GOING}{folder.name}-{os.urandom(4).hex()}")
    try:
        folder.rename(going)
    except FileNotFoundError:
        return
    shutil.rmtree(going, ignore_errors=True)


def remove_remains(root: Places) -> None:
    """Remove folders that a crash left half made or half removed (see `coming_and_going`)."""
    for prefix in (_MAKING, _GOING):
        for path in root.offices.glob(f"{prefix}*"):
            shutil.rmtree(path, ignore_errors=True)
