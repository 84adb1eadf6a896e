"""The blocks `release`, `train` and `scale` of a profile."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import nearest

__all__ = [
    "LifecycleProfile",
    "ReleaseProfile",
    "ScaleProfile",
    "TrainProfile",
    "read_lifecycle",
]

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


class ScaleProfile(_Part):
    """On which processes episodes are played and steps are judged; products are the same.

    Attributes
    ----------
    runner
        `threads` of this process, or worker processes of Dask or of Ray.
    workers
        How many processes; as many as the corpus has offices when left out.
    address
        Of a cluster that runs already; workers of this machine, for this run, when left out.
    dashboard
        Whether the page of Dask or Ray listens, on loopback, for this run.
    """

    runner: Literal["threads", "dask", "ray"] = "threads"
    workers: int | None = Field(default=None, ge=1, le=256)
    address: str | None = None
    dashboard: bool = False

    @property
    def apart(self) -> bool:
        """Whether the work is done by other processes."""
        return self.runner != "threads"

    @model_validator(mode="after")
    def _is_reached(self) -> Self:
        if not self.apart and (self.address or self.workers or self.dashboard):
            raise ValueError("`threads` are of this process; name `runner: dask` or `runner: ray`")
        if self.address is not None:
            kinds = {"dask": r"(tcp|tls|ws|wss)://[^/\s]+:\d+", "ray": r"(ray://)?[^/\s]+:\d+"}
            if not re.fullmatch(kinds[self.runner], self.address):
                example = {"dask": "tcp://HOST:8786", "ray": "ray://HOST:10001"}[self.runner]
                raise ValueError(f"the address of a {self.runner} cluster looks like {example}")
            if self.dashboard:
                raise ValueError("a cluster that runs already has its own dashboard, or none")
        return self


class LifecycleProfile(_Part):
    """All of them; None where one is left out."""

    release: ReleaseProfile | None = None
    train: TrainProfile | None = None
    scale: ScaleProfile | None = None


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
    scale = _block(document, data, "scale", ScaleProfile, wrong)
    for name, needed in (("release", "annotate"), ("train", "release"), ("scale", "corpus")):
        if data.get(name) is not None and data.get(needed) is None:
            wrong.append(
                SettingError(
                    f"a block `{name}` needs a block `{needed}`",
                    where=Where(document.file, document.line((name,)), name),
                    remedy=_REMEDY,
                )
            )
    return LifecycleProfile(release=release, train=train, scale=scale), wrong


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
