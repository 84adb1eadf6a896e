"""Which packages share one Python environment: those of the environments of one folder.

The nine that come with VEPA resolve together. A project's own environments get one of their own,
so that a tenth service can ask for what the nine could not live with. A `requirements.txt` beside
the environments lists the whole set; without one it is what they ask for together.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from vepa.errors import SettingError, Where
from vepa.files import read_text
from vepa.policy.document import parse_document
from vepa.services.environment import Environment

__all__ = ["constraints_of", "requirements_of"]


def requirements_of(environment: Environment) -> list[str]:
    """The pinned packages that this environment shares with those beside it, sorted.

    Raises
    ------
    SettingError
        When a file beside it cannot be read, or the list lacks one of its packages.
    """
    if not environment.process.packages:
        return []
    listed = environment.folder.parent / "requirements.txt"
    if listed.is_file():
        known = _listed(listed)
        absent = sorted(set(environment.process.packages) - set(known))
        if absent:
            raise SettingError(
                f"{absent[0]} is not in {listed}",
                where=Where(str(environment.file), field="process.packages"),
                remedy="add it there: the environments of a folder share their packages",
            )
        return known
    files = sorted(environment.folder.parent.glob("*/environment.yaml"))
    found: set[str] = set(environment.process.packages)
    for file in files:
        if file != environment.file:
            stat = file.stat()
            found.update(_packages(file, stat.st_mtime_ns, stat.st_size))
    return sorted(found)


def _listed(file: Path) -> list[str]:
    lines = (line.split("#")[0].strip() for line in read_text(file).splitlines())
    return sorted({line for line in lines if line})


@lru_cache(maxsize=256)
def _packages(file: Path, _changed: int, _size: int) -> tuple[str, ...]:
    data = parse_document(read_text(file), str(file), SettingError).data
    process = data.get("process") if isinstance(data, dict) else None
    packages = process.get("packages", []) if isinstance(process, dict) else []
    if not isinstance(packages, list) or not all(isinstance(each, str) for each in packages):
        raise SettingError(
            "packages is no list of requirements",
            where=Where(str(file), field="process.packages"),
            remedy="its Python environment is shared with the others in this folder: mend it",
        )
    return tuple(packages)


def constraints_of(environment: Environment) -> Path | None:
    """The file with the tested versions beside the environments, where there is one."""
    file = environment.folder.parent / "constraints.txt"
    return file if file.is_file() else None
