"""Episodes on disk: which there are, and which one somebody means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from vepa.collect.page.view import Shown, shown_episode, shown_trajectory
from vepa.corpus.episode import read_episode
from vepa.corpus.trajectory import stream_trajectories
from vepa.errors import InputError, SettingError, Where
from vepa.project import Project

__all__ = ["SUFFIX", "Shelved", "folders_of", "on_shelf", "open_episode"]

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


def open_episode(name: str, folders: Sequence[Path]) -> Shown:
    """The episode that somebody means.

    Parameters
    ----------
    name
        An id or an unambiguous part of one, the path of an episode's file, or `FILE#ID` for a
        line of a file of trajectories.
    folders
        Where ids are looked for.

    Raises
    ------
    InputError
        When there is none or several, or the file holds none.
    """
    if name.endswith(SUFFIX) or Path(name).is_file():
        return shown_episode(read_episode(name), name)
    file, mark, wanted = name.partition("#")
    if mark and (file.endswith(".jsonl") or Path(file).is_file()):
        return _of_file(file, wanted)
    kept = _one(name, on_shelf(folders), folders)
    return shown_episode(read_episode(kept.path), str(kept.path))


def _of_file(file: str, wanted: str) -> Shown:
    ids = []
    for trajectory in stream_trajectories(file):
        if trajectory.id == wanted:
            return shown_trajectory(trajectory, f"{file}#{wanted}")
        ids.append(trajectory.id)
    raise InputError(
        f"no trajectory {wanted!r}", where=Where(file), remedy=_near(wanted, ids) or "check the id"
    )


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
        remedy=_near(name, [each.id for each in shelf]) or "`vepa show` lists what there is",
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


def _near(name: str, ids: Sequence[str]) -> str:
    close = get_close_matches(name, ids, n=5, cutoff=0.5)
    parts = {each.split("/")[0]: each for each in ids}
    close += [parts[part] for part in get_close_matches(name, list(parts), n=3)]
    if close:
        return "nearest: " + ", ".join(dict.fromkeys(close))
    if not ids:
        return ""
    more = " …" if len(ids) > _NAMED else ""
    return "there are: " + ", ".join(islice(dict.fromkeys(ids), _NAMED)) + more
