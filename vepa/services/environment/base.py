"""What all parts of an environment file are made of: closed models, names, paths, pins, times."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = ["InsidePath", "Name", "Part", "Requirement", "Seconds"]

_PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,_-]+\])?==[A-Za-z0-9.+!_-]+")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _pinned(requirement: str) -> str:
    if not _PIN.fullmatch(requirement):
        raise ValueError(f"{requirement!r} is not a pinned requirement like `radicale==3.9.0`")
    return requirement


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a name of lower-case letters, digits and underscores")
    return text


def _inside(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "" in parts:
        raise ValueError(f"{path!r} is not a path inside the service's folder")
    return path


Name = Annotated[str, AfterValidator(_name)]
Requirement = Annotated[str, AfterValidator(_pinned)]
InsidePath = Annotated[str, AfterValidator(_inside)]
Seconds = Annotated[float, Field(gt=0, le=600)]


class Part(BaseModel):
    """Base of all parts: closed, strict, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
