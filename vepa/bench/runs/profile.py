"""A profile: all settings of one main job, in one YAML file under `flows/profiles/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from vepa.bench.streams import MAX_SEED
from vepa.errors import InputError, SettingError, Where
from vepa.evolution import EvolutionSettings
from vepa.evolution.proposers import check_proposer
from vepa.evolution.settings import Gates
from vepa.files import name_of, read_text
from vepa.policy.authority import authority
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import nearest
from vepa.project import Project

__all__ = [
    "Profile",
    "corpus_profile",
    "find_events",
    "find_profile",
    "load_profile",
    "read_profile",
]


class Profile(BaseModel):
    """Settings of a main job.

    Attributes
    ----------
    title
        A line for people; stands above the report.
    events
        Events files, found among the project's `data` or by path; together they are one stream.
    view
        Which fields of an event are seen.
    mask_unknown
        Share of cells that are blanked at random.
    rounds
        Rounds of the stream.
    feedback
        Share of each round whose labels are revealed.
    flip
        Share of the revealed labels that are wrong.
    seed
        Of the shuffle, the feedback, the flips and the search.
    authority
        Mode of the evidence gate; `default`, or components joined by `+`.
    gates
        What the gate asks of the rules of each decision.
    evolution
        Settings of the update at the end of a round.
    baselines
        Learners that the report shows beside the policy, on the same feedback.
    corpus, annotate, release, train, scale
        What is collected before (`vepa.collect.runs`), who judges it (`vepa.annotate.runs`), what
        becomes of it and on which processes (`vepa.lifecycle`); no part of this run.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    title: str = ""
    events: list[str] = Field(min_length=1)
    view: Literal["full", "observable", "instrumented"] = "full"
    mask_unknown: float = Field(default=0.0, ge=0.0, lt=1.0)
    rounds: int = Field(default=10, ge=1, le=999)
    feedback: float = Field(default=0.5, gt=0.0, le=1.0)
    flip: float = Field(default=0.0, ge=0.0, lt=1.0)
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    authority: str = "default"
    gates: Gates = Gates()
    evolution: EvolutionSettings = EvolutionSettings()
    baselines: list[Literal["forest", "ripper", "hoeffding", "lookup"]] = []
    corpus: dict[str, Any] | None = Field(default=None, exclude=True)
    annotate: dict[str, Any] | None = Field(default=None, exclude=True)
    release: dict[str, Any] | None = Field(default=None, exclude=True)
    train: dict[str, Any] | None = Field(default=None, exclude=True)
    scale: dict[str, Any] | None = Field(default=None, exclude=True)

    @field_validator("authority")
    @classmethod
    def _is_a_mode(cls, mode: str) -> str:
        try:
            authority(mode)
        except SettingError as error:
            raise ValueError(f"{error.message} ({error.remedy})") from None
        return mode

    @field_validator("evolution")
    @classmethod
    def _is_verified(cls, settings: EvolutionSettings) -> EvolutionSettings:
        if settings.verify != "on":
            raise ValueError(
                'a run keeps verified policies only, so verify must be "on" (in quotes); '
                "the ablation without verifier belongs to `vepa bench run`"
            )
        try:
            check_proposer(settings.proposer)
        except InputError as error:
            raise ValueError(error.message) from None
        return settings

    @field_validator("baselines", "events")
    @classmethod
    def _each_once(cls, names: list[str]) -> list[str]:
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice!r} is listed twice")
        return names


def load_profile(path: str | Path) -> Profile:
    """Read a profile.

    Raises
    ------
    SettingError
        When the file is no profile; names file, line and field.
    """
    profile, wrong = read_profile(path)
    if profile is None:
        raise wrong[0]
    return profile


def read_profile(path: str | Path) -> tuple[Profile | None, list[SettingError]]:
    """Read a profile, or find all that is wrong with it.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    try:
        return Profile.model_validate(document.data), []
    except SettingError as error:  # of a model's settings: where a key was written, for one
        raise error.at(file=document.file) from None
    except ValidationError as error:
        return None, [_wrong(item, document) for item in error.errors(include_url=False)]


def _wrong(item: Any, document: Document) -> SettingError:
    place = tuple(item["loc"])
    first = str(place[0]) if place else ""
    known = first in Profile.model_fields
    return SettingError(
        plain_words(item),
        where=Where(document.file, document.line(place), ".".join(map(str, place)) or None),
        remedy="see the comments in flows/profiles/demo.yaml"
        if known or not place
        else nearest(first, list(Profile.model_fields), "keys"),
    )


def find_profile(project: Project, name: str) -> Path:
    """The file of a profile: a name under `flows/profiles/`, or a path that ends in `.yaml`.

    Raises
    ------
    SettingError
        When there is none; the message lists those that are there.
    """
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    try:
        return project.find("flows", f"profiles/{name}.yaml")
    except InputError:
        names = [path.stem for path in project.all("flows", "profiles/*.yaml")]
        raise SettingError(
            f"there is no profile {name!r}",
            where=Where(field="--profile"),
            remedy=f"{nearest(name, names, 'profiles')}; or give the path of a .yaml file",
        ) from None


def corpus_profile(file: Path, name: str, events: Path) -> str | None:
    """The profile of the policy that evolves on the steps of a corpus, as YAML.

    Parameters
    ----------
    file
        The outer profile: its keys, then those of its block `corpus.evolve`.
    name
        Of the corpus.
    events
        The labelled events of its steps.

    Returns
    -------
    str or None
        None where the outer profile has no such block.
    """
    outer = yaml.safe_load(read_text(file))
    evolve = outer.pop("corpus", {}).get("evolve")
    for block in ("annotate", "release", "train", "scale"):
        outer.pop(block, None)
    if evolve is None:
        return None
    profile = {
        **outer,
        "title": f"A policy grows over the steps of corpus {name}",
        **evolve,
        "events": [str(events.absolute())],
    }
    return str(yaml.safe_dump(profile, sort_keys=False, allow_unicode=True))


def find_events(project: Project, name: str) -> Path:
    """An events file of a profile: found among the project's data, else taken as a path."""
    try:
        return project.find("data", name)
    except InputError:
        if Path(name).is_file():
            return Path(name).absolute()
        raise
