"""A release appears whole: made in a hidden folder beside its place, then moved there in one go."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vepa.release.layout import MANIFEST

__all__ = ["take_place", "workshop"]

#: Held by the process that works in the folder: the system lets go of it when that is killed.
_HELD = "held"


@contextmanager
def workshop(root: Path, version: str) -> Iterator[Path]:
    """An empty folder in `root` to make a release in; it is gone in the end.

    What killed processes left of theirs is taken away first.

    Raises
    ------
    OSError
        When it cannot be made.
    """
    root.mkdir(parents=True, exist_ok=True)
    name = version.rpartition("-")[0]
    for left in root.glob(f".{name}-*"):
        if _nobodys(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{version}-") as temporary:
        folder = Path(temporary)
        with (folder / _HELD).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield folder / version


def take_place(work: Path, folder: Path) -> None:
    """Put a whole release where it belongs.

    Another process may have made the same one meanwhile: that one stays. What is no whole release
    gives way.

    Raises
    ------
    OSError
        When it cannot be moved there.
    """
    if (folder / MANIFEST).is_file():
        return
    if folder.exists():
        shutil.rmtree(folder)
    try:
        work.replace(folder)
    except OSError:
        if not (folder / MANIFEST).is_file():
            raise


def _nobodys(left: Path) -> bool:
    """Whether no living process works in a folder."""
    with suppress(OSError):
        descriptor = os.open(left / _HELD, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
        return True
    return False
