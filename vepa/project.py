"""Where a project's content is found: flows, prompts, personas, data and the rest.

Three places are asked in turn, and the first that has the file wins: the folder given with
`--project`, the working directory, and the content that comes with the package. So a user
overrides one prompt by putting one file into the working directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from vepa.errors import InputError, SettingError, Where

__all__ = ["ARTIFACTS_VARIABLE", "KINDS", "Project", "cache_root", "package_content"]

#: The kinds of content; each is a top-level folder of a project.
KINDS = (
    "annotation",
    "artifacts",
    "data",
    "environments",
    "flows",
    "personas",
    "prompts",
    "tasks",
    "training",
)
#: Names another folder for what runs produce.
ARTIFACTS_VARIABLE = "VEPA_ARTIFACTS"


def package_content() -> Path:
    """The folder with the content that comes with the package.

    In a wheel it lies inside the package; in a source checkout the repository itself is it.
    """
    package = Path(__file__).resolve().parent
    bundled = package / "_content"
    return bundled if bundled.is_dir() else package.parent


class Project:
    """The content that a command works with.

    Parameters
    ----------
    directory
        The folder given with `--project`; without one, the working directory comes first.

    Attributes
    ----------
    directory
        The given folder, made absolute, or None.
    candidates
        The folders that are asked, in this order, each once.

    Raises
    ------
    SettingError
        When `directory` is not a folder.
    """

    directory: Path | None
    candidates: tuple[Path, ...]

    def __init__(self, directory: str | Path | None = None):
        here = _working_directory()
        self.directory = None if directory is None else here / directory
        if self.directory is not None and not self.directory.is_dir():
            raise SettingError(
                "no such folder",
                where=Where(str(directory)),
                remedy="--project names the folder of a project; leave it out for the working "
                "directory",
            )
        places = [here, package_content()]
        if self.directory is not None:
            places.insert(0, self.directory)
        self.candidates = tuple(dict.fromkeys(places))

    def find(self, kind: str, name: str) -> Path:
        """The first file or folder `name` of this kind.

        Raises
        ------
        InputError
            When no place has it (the message names every place that was asked).
        """
        relative = _relative(name)
        for root in self._roots(kind):
            path = root / relative
            if path.exists():
                return path
        known = ", ".join(sorted({path.name for path in self.all(kind)})[:20])
        raise InputError(
            f"no {name!r} among the {kind}; looked in "
            + ", ".join(str(root) for root in self._roots(kind)),
            remedy=f"found there: {known}" if known else "--project names the project's folder",
        )

    def all(self, kind: str, pattern: str = "*") -> list[Path]:
        """Every path of this kind that matches a glob pattern, sorted by name.

        A name that several places have is taken from the first. READMEs and hidden files are
        never content.
        """
        found: dict[str, Path] = {}
        for root in self._roots(kind):
            for path in root.glob(pattern):
                name = path.relative_to(root)
                if _is_content(name):
                    found.setdefault(name.as_posix(), path)
        return [found[name] for name in sorted(found)]

    @property
    def artifacts(self) -> Path:
        """The folder for what runs produce; it is made when it is first asked for.

        Raises
        ------
        SettingError
            When it cannot be made.
        """
        path = self.artifacts_path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingError(
                f"the folder for artifacts cannot be made: {error.strerror}",
                where=Where(str(path)),
                remedy=f"set {ARTIFACTS_VARIABLE} to a folder that you may write to",
            ) from None
        return path

    @property
    def artifacts_path(self) -> Path:
        """Where the folder for artifacts lies or will lie; nothing is made."""
        override = os.environ.get(ARTIFACTS_VARIABLE)
        if override:
            return Path(override).absolute()
        return (self.directory or Path.cwd()) / "artifacts"

    def _roots(self, kind: str) -> Iterator[Path]:
        if kind not in KINDS:
            raise InputError(f"no kind of content {kind!r}", remedy="one of " + ", ".join(KINDS))
        if kind == "artifacts":  # products of one project, never looked up elsewhere
            yield self.artifacts_path
        else:
            yield from (place / kind for place in self.candidates)


def cache_root(environ: Mapping[str, str] | None = None) -> Path:
    """The cache folder, not looked at yet: VEPA_CACHE, or /var/cache/vepa for root, or the XDG one.

    Parameters
    ----------
    environ
        Instead of the process's own environment.
    """
    environ = os.environ if environ is None else environ
    if named := environ.get("VEPA_CACHE"):
        return Path(named).expanduser().absolute()
    if os.geteuid() == 0:  # its home is closed to the account that services are dropped to
        return Path("/var/cache/vepa")
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "vepa"


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise SettingError(
            "the working directory no longer exists", remedy="change to a folder that does"
        ) from None


def _relative(name: str) -> PurePosixPath:
    """A name stays inside its folder, wherever the name came from."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts:
        raise InputError(
            f"{name!r} is not a name inside a project", remedy="give a relative name without `..`"
        )
    return path


def _is_content(name: Path) -> bool:
    hidden = any(part.startswith((".", "__")) for part in name.parts)
    return not hidden and name.name != "README.md"
