"""Where the services live on this machine: one cache folder, with four folders in it.

`services/` holds the software (one Python environment a set of packages), `snapshots/` the seeds
that a reset goes back to, `offices/` what runs, `checked/` which environment files are in order.
Root starts some services as `nobody`, so that account alone may pass through root's folders; they
are closed to all other ordinary users.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vepa.errors import SettingError, Where
from vepa.project import cache_root

__all__ = ["Places", "cache_root", "make_private", "places", "written_below"]

#: The account that root starts services as when they need no rights.
UNPRIVILEGED = "nobody"


@dataclass(frozen=True, slots=True)
class Places:
    """The cache folder; see the head of this module."""

    root: Path

    @property
    def services(self) -> Path:
        return self.root / "services"

    @property
    def snapshots(self) -> Path:
        return self.root / "snapshots"

    @property
    def checked(self) -> Path:
        return self.root / "checked"

    @property
    def offices(self) -> Path:
        return self.root / "offices"

    def office(self, office: str) -> Path:
        """The folder of one office.

        Raises
        ------
        SettingError
            When the id is no plain name.
        """
        plain = office.replace("-", "").replace("_", "").replace(".", "")
        if not plain.isalnum() or office.startswith(".") or len(office) > 64:
            raise SettingError(
                f"{office!r} cannot be the id of an office",
                where=Where(field="office"),
                remedy="letters, digits, `-`, `_` and `.`, at most 64 of them",
            )
        return self.offices / office


def places(environ: Mapping[str, str] | None = None) -> Places:
    """The cache folder, made where it is missing and checked.

    Raises
    ------
    SettingError
        When it cannot be written to, or, as root, when `nobody` cannot pass through a folder on
        the way to it.
    """
    found = Places(cache_root(environ))
    if not found.root.is_dir():  # one that the user made keeps its mode
        make_private(found.root)
    for folder in (found.root, found.services, found.snapshots, found.offices):
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
            raise _unusable(folder, "it cannot be written to")
        if folder != found.root:
            make_private(folder)
    if os.geteuid() == 0:
        for folder in (*reversed(found.root.parents), found.root):
            if not _passes(folder):
                raise _unusable(found.root, f"the account `{UNPRIVILEGED}` cannot enter {folder}")
    return found


def make_private(path: Path) -> Path:
    """Make a folder that its owner alone may use, and, when that is root, `nobody` may pass.

    Parameters
    ----------
    path
        Made with what is missing above it; one that exists gets the same mode.

    Raises
    ------
    SettingError
        When it cannot be made, or belongs to somebody else.
    """
    account = _account()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        if account is None:
            path.chmod(0o700)
        else:
            os.chown(path, -1, account[1])
            path.chmod(0o710)
    except OSError as error:
        raise _unusable(path, f"it cannot be made: {error.strerror}") from None
    return path


@contextmanager
def written_below(root: Path) -> Iterator[None]:
    """What is done here writes to the cache; a full disk is told as one.

    Raises
    ------
    SettingError
        When the disk is full, or became read-only.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        raise _unusable(root, str(error.strerror)) from None


def _account() -> tuple[int, int] | None:
    """User and group that root drops services to; None for an ordinary user, who drops nothing."""
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        return None
    return entry.pw_uid, entry.pw_gid


def _passes(folder: Path) -> bool:
    """Whether `nobody` may pass through this folder, by its mode."""
    account, about = _account(), folder.stat()
    if account is None or about.st_uid == account[0]:
        return True
    needed = stat.S_IXGRP if about.st_gid == account[1] else stat.S_IXOTH
    return bool(about.st_mode & needed)


def _unusable(folder: Path, why: str) -> SettingError:
    return SettingError(
        f"the cache folder is not usable: {why}",
        where=Where(str(folder)),
        remedy="name another one in the environment variable VEPA_CACHE",
    )
