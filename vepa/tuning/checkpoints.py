"""Checkpoints: all that a training needs to go on as if it had never been stopped."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from vepa.errors import InputError, SettingError, Where
from vepa.files import write_atomic

__all__ = ["CHECKPOINT", "State", "read_checkpoint", "write_checkpoint"]

CHECKPOINT = "checkpoint.pt"
_VERSION = 1


@dataclass(kw_only=True)
class State:
    """How far a training has come.

    Attributes
    ----------
    of
        Hash of recipe, data and base: what it is a training of.
    step
        Steps done; the order of the examples follows from it and the seed.
    losses
        Mean loss a token of each step.
    validations
        Step and loss of each validation.
    best, best_step
        Least loss in validation; None before the first.
    waited
        Validations since then.
    tokens, cpu_seconds, wall_seconds
        Spent until here, in all starts together.
    starts
        How often it was started.
    """

    of: str
    step: int = 0
    losses: list[float] = field(default_factory=list)
    validations: list[tuple[int, float]] = field(default_factory=list)
    best: float | None = None
    best_step: int = 0
    waited: int = 0
    tokens: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    starts: int = 1


def write_checkpoint(folder: Path, state: State, tensors: dict[str, Any]) -> None:
    """Keep a state; a reader sees the one before it or this one, never half of it.

    Parameters
    ----------
    folder
        Of the training.
    state
        Figures.
    tensors
        Adapter, optimizer and the state of random numbers.
    """
    import torch

    stream = BytesIO()
    torch.save({"version": _VERSION, "state": asdict(state), **tensors}, stream)
    write_atomic(folder / CHECKPOINT, stream.getvalue())


def read_checkpoint(folder: Path, of: str) -> tuple[State, dict[str, Any]] | None:
    """The state that a folder keeps, and its tensors; None where it keeps none.

    Raises
    ------
    InputError
        When the file is no checkpoint.
    SettingError
        When it is one of another recipe, base or other data.
    """
    import torch

    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        kept = torch.load(path, map_location="cpu", weights_only=True)
        state = State(**kept.pop("state"))
        known = kept.pop("version") == _VERSION
    except Exception as error:  # noqa: BLE001 - torch raises all kinds of errors
        raise InputError(
            f"this is no checkpoint: {error}", where=Where(str(path)), remedy="remove it"
        ) from None
    if not known or state.of != of:
        raise SettingError(
            "this checkpoint is of another recipe, base or of other data",
            where=Where(str(path)),
            remedy="go on with what it was begun with, or name another folder",
        )
    return state, kept
