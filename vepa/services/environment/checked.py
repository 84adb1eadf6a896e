"""Which environment files have passed their checks: on record in the cache folder.

The checks of the nine take a second, which is most of a short command. A record is named by a hash
over all that they look at: the file, what lies beside it, the world, and the code that checks.
"""

from __future__ import annotations

import hashlib
import platform
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from vepa.services.environment.outside import world_file_of
from vepa.services.places import Places, cache_root

__all__ = ["passed", "record_of", "remember"]

_PACKAGE = Path(__file__).resolve().parents[2]
#: What takes part in the checks.
_CODE = ("errors.py", "files.py", "project.py", "policy", "corpus", "services")
_LIBRARIES = ("jinja2", "jsonschema", "pydantic", "pyyaml")
#: Records that are kept; the nine need nine, and every change of the code makes new ones.
_KEPT = 500


def record_of(file: Path) -> Path | None:
    """Where it is on record that this file, as it is now, has passed; None: there is no cache."""
    folder = Places(cache_root()).checked
    try:
        if not folder.parent.is_dir():
            return None
        digest = hashlib.sha256(_code().encode())
        beside = file.absolute().parent
        for name in sorted(path.relative_to(beside).as_posix() for path in beside.rglob("*")):
            digest.update(f"{name}\0".encode())
        for path in filter(None, (file, world_file_of(file))):
            content = path.read_bytes()
            digest.update(f"{beside.name}\0{len(content)}\0".encode())
            digest.update(content)
    except OSError:
        return None  # whoever reads the file says what is wrong
    return folder / digest.hexdigest()


def passed(record: Path | None) -> bool:
    """Whether the checks of a record have passed before."""
    return record is not None and record.is_file()


def remember(record: Path | None) -> None:
    """Put on record that the checks have passed; where that cannot be, they are done again."""
    if record is None:
        return
    with suppress(OSError):
        record.parent.mkdir(mode=0o700, exist_ok=True)
        record.touch()
        known = sorted(record.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for old in known[:-_KEPT]:
            old.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _code() -> str:
    """The code that checks, by names, sizes and times; to read all of it would take as long."""
    parts = [platform.python_version(), *(metadata.version(name) for name in _LIBRARIES)]
    for part in _CODE:
        place = _PACKAGE / part
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.suffix in (".py", ".yaml"):
                about = path.stat()
                parts.append(f"{path.relative_to(_PACKAGE)} {about.st_size} {about.st_mtime_ns}")
    return "\n".join(parts)
