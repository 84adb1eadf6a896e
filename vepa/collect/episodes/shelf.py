"""Episodes on disk: which there are, and which one somebody means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vepa.collect.episodes.subject import subject_of
from vepa.corpus.episode import read_episode
from vepa.errors import InputError, SettingError, Where
from vepa.project import Project
from vepa.viewer.reading import near
from vepa.viewer.view import Subject

__all__ = ["SUFFIX", "Shelved", "folders_of", "holds_episodes", "on_shelf", "open_episode"]

#: How the file of an episode ends.
SUFFIX = ".episode.json"
#: So many ids are named in a message.
_NAMED = 12


@dataclass(frozen=True, slots=True)
class Shelved:
    """A file that holds an episode.

    Attributes
    ----------
    id
        `TASK/MODEL/SEED`, by the file's place and name.
    path
        The file.
    """

    id: str
    path: Path


def folders_of(project: Project, folder: Path | None = None) -> list[Path]:
    """Where episodes are looked for: the given folder, or those of the project's artifacts.

    Raises
    ------
    SettingError
        When the given folder is none.
    """
    if folder is not None:
        if not folder.is_dir():
            raise SettingError(
                "no such folder",
                where=Where(str(folder)),
                remedy="--folder names a folder with episodes; `vepa collect --out` makes one",
            )
        return [folder]
    artifacts = project.artifacts_path
    return [artifacts / "episodes", *sorted(artifacts.glob("corpus/*/episodes"))]


def on_shelf(folders: Sequence[Path]) -> list[Shelved]:
    """Every episode below these folders, by its id; no file is opened."""
    found: dict[Path, Shelved] = {}
    for folder in folders:
        for path in folder.rglob(f"*{SUFFIX}"):
            found.setdefault(path.resolve(), Shelved(_id(path), path))
    return sorted(found.values(), key=lambda each: (each.id, str(each.path)))


def _id(path: Path) -> str:
    model, _, seed = path.name.removesuffix(SUFFIX).rpartition("-")
    return f"{path.parent.name}/{model}/{seed}"


def open_episode(name: str, folders: Sequence[Path]) -> Subject:
    """The episode that somebody means.

    Parameters
    ----------
    name
        An id or an unambiguous part of one, or the path of an episode's file.
    folders
        Where ids are looked for.

    Raises
    ------
    InputError
        When there is none or several, or the file holds none.
    """
    path = name if name.endswith(SUFFIX) else str(_one(name, on_shelf(folders), folders).path)
    return subject_of(read_episode(path), path)


def holds_episodes(folder: Path) -> bool:
    """Whether there is an episode somewhere below a folder."""
    return folder.is_dir() and next(folder.rglob(f"*{SUFFIX}"), None) is not None


def _one(name: str, shelf: Sequence[Shelved], folders: Sequence[Path]) -> Shelved:
    if not shelf:
        raise InputError(
            f"no episode {name!r}: there are none in {', '.join(map(str, folders))}",
            remedy="`vepa collect` makes some; --folder names another folder",
        )
    for level in _levels(name, shelf):
        if len(level) == 1:
            return level[0]
        if level:
            ids = sorted({each.id for each in level})
            shown = ids if len(ids) > 1 else [str(each.path) for each in level]
            more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
            raise InputError(
                f"{name!r} means {len(level)} episodes: {', '.join(shown[:_NAMED])}{more}",
                remedy="write more of the id"
                if len(ids) > 1
                else "name the file, or --folder with one of the folders",
            )
    raise InputError(
        f"no episode {name!r}",
        remedy=near(name, [each.id for each in shelf]) or "`vepa show` lists what there is",
    )


def _levels(name: str, shelf: Sequence[Shelved]) -> Iterator[list[Shelved]]:
    """What a name may mean, from the closest reading to the loosest."""
    # A model is known by `scripted/careful`, an id spells that `scripted-careful`.
    flat = _flat(name)
    yield [each for each in shelf if each.id == name]
    yield [each for each in shelf if _flat(each.id) == flat]
    yield [each for each in shelf if each.id.startswith(f"{name.rstrip('/')}/")]
    yield [each for each in shelf if flat in _flat(each.id)]


def _flat(name: str) -> str:
    return name.replace("/", "-")
