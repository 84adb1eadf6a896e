"""Make one folder equal to another, in place and fast; the reset of services to their seed.

Only the standard library, and no import of this package: it also runs inside containers and in the
launchers, `python -I -S mirror.py SOURCE TARGET [--keep PATH]...`. Nothing is ever reached through
a symbolic link below SOURCE or TARGET, so that what a service left behind cannot lead root astray.
"""

# No pathlib and no shutil: folders are open descriptors here, and a launcher stays small.
# ruff: noqa: PTH208

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection

__all__ = ["copy", "mirror"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PART = ".vepa-part"
_BLOCK = 1 << 20
_FICLONE = 0x40049409


def mirror(
    source: str | os.PathLike[str], target: str | os.PathLike[str], keep: Collection[str] = ()
) -> int:
    """Make `target` equal to `source`; folders and files that are equal stay the same ones.

    Content, modes, modification times and symbolic links; owners too, as root. A file is equal when
    kind, size and modification time are (to the nanosecond); where only the time differs its
    content decides. A file that differs is replaced as a whole, by rename. Sockets and pipes are
    removed from the target and not copied.

    Parameters
    ----------
    source, target
        Two folders, or two files; the target is made if missing.
    keep
        Relative paths that are neither written nor deleted in the target.

    Returns
    -------
    How many entries were written or deleted.

    Raises
    ------
    FileNotFoundError
        When there is no such source; the target is as it was.
    """
    source, target = os.fspath(source), os.fspath(target)
    kept = {os.path.normpath(path) for path in keep}
    if not stat.S_ISDIR(os.stat(source).st_mode):  # noqa: PTH116
        return _mirror_file(source, target)
    os.makedirs(target, mode=0o700, exist_ok=True)  # noqa: PTH103
    # The two roots themselves may be links: the caller names them, no service can change them.
    one = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        other = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            changes = _folder(one, other, "", kept)
            return changes + _dress(os.fstat(one), other)
        finally:
            os.close(other)
    finally:
        os.close(one)


def copy(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy a folder to a new place; shares the blocks where the file system can.

    Raises
    ------
    FileExistsError
        When the target is there already.
    """
    os.mkdir(target, 0o700)  # noqa: PTH102
    mirror(source, target)


def _mirror_file(source: str, target: str) -> int:
    opened = [
        os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: PTH120
        for path in (source, target)
    ]
    try:
        names = [os.path.basename(path) for path in (source, target)]  # noqa: PTH119
        return _entry(opened[0], names[0], opened[1], names[1], "", set())
    finally:
        for fd in opened:
            os.close(fd)


def _folder(source: int, target: int, path: str, keep: set[str]) -> int:
    """Make one open folder's entries equal to another's."""
    changes = 0
    wanted = set(os.listdir(source))
    for name in os.listdir(target):
        if name not in wanted and _join(path, name) not in keep:
            changes += _remove(target, name, _join(path, name), keep)
    for name in wanted:
        if _join(path, name) not in keep:
            changes += _entry(source, name, target, name, _join(path, name), keep)
    return changes


def _entry(source: int, name: str, target: int, as_name: str, path: str, keep: set[str]) -> int:
    """Make one entry equal; returns the number of changes."""
    want, have = _look(source, name), _look(target, as_name)
    if want is None:
        return 0
    changes = 0
    if have is not None and stat.S_IFMT(have.st_mode) != stat.S_IFMT(want.st_mode):
        changes += _remove(target, as_name, path, set())
        have = None
    if stat.S_ISDIR(want.st_mode):
        return changes + _subfolder(source, name, target, as_name, path, keep)
    if stat.S_ISLNK(want.st_mode):
        return changes + _link(source, name, target, as_name, want, have)
    if not stat.S_ISREG(want.st_mode):
        return changes
    one = os.open(name, _FILE, dir_fd=source)
    try:
        if have is not None and _equal(one, want, target, as_name, have):
            other = os.open(as_name, _FILE, dir_fd=target)
            try:
                return changes + _dress(want, other)
            finally:
                os.close(other)
        _replace(one, want, target, as_name)
        return changes + 1
    finally:
        os.close(one)


def _subfolder(source: int, name: str, target: int, as_name: str, path: str, keep: set[str]) -> int:
    changes = 0
    if _look(target, as_name) is None:
        os.mkdir(as_name, 0o700, dir_fd=target)
        changes += 1
    one = os.open(name, _FOLDER, dir_fd=source)
    try:
        other = _enter(target, as_name)
        try:
            changes += _folder(one, other, path, keep)
            return changes + _dress(os.fstat(one), other)
        finally:
            os.close(other)
    finally:
        os.close(one)


def _link(
    source: int,
    name: str,
    target: int,
    as_name: str,
    want: os.stat_result,
    have: os.stat_result | None,
) -> int:
    text = os.readlink(name, dir_fd=source)
    if have is not None:
        if os.readlink(as_name, dir_fd=target) == text:
            return 0
        os.unlink(as_name, dir_fd=target)
    os.symlink(text, as_name, dir_fd=target)
    if os.geteuid() == 0:
        os.chown(as_name, want.st_uid, want.st_gid, dir_fd=target, follow_symlinks=False)
    return 1


def _equal(one: int, want: os.stat_result, target: int, name: str, have: os.stat_result) -> bool:
    """Whether the content of a file is the wanted one already."""
    if want.st_size != have.st_size:
        return False
    if want.st_mtime_ns == have.st_mtime_ns:
        return True
    other = os.open(name, _FILE, dir_fd=target)
    try:
        while block := os.read(one, _BLOCK):
            if block != os.read(other, len(block)):
                return False
        return True
    finally:
        os.lseek(one, 0, os.SEEK_SET)
        os.close(other)


def _replace(one: int, want: os.stat_result, target: int, name: str) -> None:
    """Write a file beside the old one and put it into its place."""
    part = f".{name[:200]}{_PART}"
    if _look(target, part) is not None:
        _remove(target, part, part, set())
    other = os.open(part, _NEW, 0o600, dir_fd=target)
    try:
        _content(one, other, want)
        _dress(want, other)
        os.rename(part, name, src_dir_fd=target, dst_dir_fd=target)
    except BaseException:
        os.unlink(part, dir_fd=target)
        raise
    finally:
        os.close(other)


def _content(one: int, other: int, want: os.stat_result) -> None:
    """Copy a file: a shared copy, or in the kernel; holes stay holes."""
    import fcntl

    try:
        fcntl.ioctl(other, _FICLONE, one)
    except OSError:
        os.ftruncate(other, want.st_size)
        if want.st_blocks * 512 < want.st_size:
            for begin, end in _parts(one, want.st_size):
                _span(one, other, begin, end)
        else:
            _span(one, other, 0, want.st_size)


def _parts(fd: int, size: int) -> list[tuple[int, int]]:
    """Where a sparse file has content."""
    parts, at = [], 0
    while at < size:
        try:
            begin = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole from here on
            break
        at = os.lseek(fd, begin, os.SEEK_HOLE)
        parts.append((begin, at))
    return parts


def _span(one: int, other: int, begin: int, end: int) -> None:
    while begin < end:
        try:
            done = os.copy_file_range(one, other, end - begin, begin, begin)
        except OSError:  # other file systems, older kernels
            done = os.pwrite(other, os.pread(one, min(_BLOCK, end - begin), begin), begin)
        if done == 0:  # shorter than it was: somebody writes to it
            return
        begin += done


def _dress(want: os.stat_result, fd: int) -> int:
    """Owner (as root), mode and time of an open file or folder; 1 when they differed."""
    have = os.fstat(fd)
    changed = 0
    if os.geteuid() == 0 and (have.st_uid, have.st_gid) != (want.st_uid, want.st_gid):
        os.fchown(fd, want.st_uid, want.st_gid)
        have, changed = os.fstat(fd), 1
    if stat.S_IMODE(have.st_mode) != stat.S_IMODE(want.st_mode):
        os.fchmod(fd, stat.S_IMODE(want.st_mode))
        changed = 1
    if have.st_mtime_ns != want.st_mtime_ns:
        os.utime(fd, ns=(want.st_atime_ns, want.st_mtime_ns))
        changed = 1
    return changed


def _remove(folder: int, name: str, path: str, keep: set[str]) -> int:
    """Delete an entry with all in it but what is kept; returns the number of deletions."""
    about = _look(folder, name)
    if about is None:
        return 0
    if not stat.S_ISDIR(about.st_mode):
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:  # its owner was faster: databases drop their side files so
            return 0
        return 1
    inside = _enter(folder, name)
    changes = 0
    try:
        for each in os.listdir(inside):
            if _join(path, each) not in keep:
                changes += _remove(inside, each, _join(path, each), keep)
        rest = os.listdir(inside)
    finally:
        os.close(inside)
    if not rest:
        os.rmdir(name, dir_fd=folder)
        changes += 1
    return changes


def _enter(folder: int, name: str) -> int:
    """Open a folder of the target so that its entries can be changed; `_dress` closes it again."""
    try:
        fd = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=folder)
        fd = os.open(name, _FOLDER, dir_fd=folder)
    if os.fstat(fd).st_mode & 0o700 != 0o700:
        os.fchmod(fd, 0o700)
    return fd


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _main(arguments: list[str]) -> int:
    keep, plain = [], []
    rest = iter(arguments)
    for each in rest:
        if each == "--keep":
            keep.append(next(rest, ""))
        else:
            plain.append(each)
    if len(plain) != 2:
        sys.stderr.write("usage: mirror.py SOURCE TARGET [--keep PATH]...\n")
        return 2
    mirror(plain[0], plain[1], keep)
    return 0


if __name__ == "__main__":
    raise SystemExit(_main(sys.argv[1:]))
