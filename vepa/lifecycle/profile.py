"""The blocks `release` and `train` of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import nearest

__all__ = ["LifecycleProfile", "ReleaseProfile", "TrainProfile", "read_lifecycle"]

_REMEDY = "see the comments in flows/profiles/demo.yaml"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ReleaseProfile(_Part):
    """How a corpus is released.

    Attributes
    ----------
    name
        Versions begin with it; the profile's name when left out.
    """

    name: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9-]*$")


class TrainProfile(_Part):
    """What is kicked off once a release stands.

    Attributes
    ----------
    deployment
        `FLOW/DEPLOYMENT` of a Prefect server: a run of it is asked for, and not waited for.
    recipe
        A file in `training/`, handed over with the release.
    """

    deployment: str = Field(pattern=r"^[^/]+/[^/]+$")
    recipe: str


class LifecycleProfile(_Part):
    """Both blocks; None where one is left out."""

    release: ReleaseProfile | None = None
    train: TrainProfile | None = None


P = TypeVar("P", bound=_Part)


def read_lifecycle(path: str | Path) -> tuple[LifecycleProfile, list[SettingError]]:
    """The blocks of a profile, and what is wrong with them.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    data = document.data if isinstance(document.data, dict) else {}
    wrong: list[SettingError] = []
    release = _block(document, data, "release", ReleaseProfile, wrong)
    train = _block(document, data, "train", TrainProfile, wrong)
    for name, needed in (("release", "annotate"), ("train", "release")):
        if data.get(name) is not None and data.get(needed) is None:
            wrong.append(
                SettingError(
                    f"a block `{name}` needs a block `{needed}`",
                    where=Where(document.file, document.line((name,)), name),
                    remedy=_REMEDY,
                )
            )
    return LifecycleProfile(release=release, train=train), wrong


def _block(
    document: Document, data: dict[str, Any], name: str, model: type[P], wrong: list[SettingError]
) -> P | None:
    if data.get(name) is None:
        return None
    try:
        return model.model_validate(data[name])
    except ValidationError as error:
        for item in error.errors(include_url=False):
            place = (name, *item["loc"])
            known = list(model.model_fields)
            unknown = len(place) > 1 and str(place[1]) not in known
            wrong.append(
                SettingError(
                    plain_words(item),
                    where=Where(document.file, document.line(place), ".".join(map(str, place))),
                    remedy=nearest(str(place[1]), known, "keys") if unknown else _REMEDY,
                )
            )
        return None
