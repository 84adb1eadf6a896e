"""Recipes: how an adapter is trained, as a YAML file in `training/`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.parsing.lora import LEAST_TOKENS
from vepa.policy.document import complaint, parse_document
from vepa.project import Project

__all__ = ["Evaluation", "Limits", "Lora", "Recipe", "load_recipe", "read_recipe"]

_REMEDY = "see the comments in training/smoke.yaml"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Lora(_Part):
    """The adapter.

    Attributes
    ----------
    rank, alpha
        Of its matrices; what it adds is scaled by `alpha / rank`.
    dropout
        Share of its inputs that is dropped while it learns.
    targets
        Names of the linear layers that get one.
    layers
        Only the last so many blocks get one, and no gradient is worked out below them; all when
        left out.
    """

    rank: int = Field(ge=1, le=512)
    alpha: int = Field(ge=1, le=1024)
    dropout: float = Field(default=0.0, ge=0, lt=1, strict=False)
    targets: list[str] = Field(min_length=1)
    layers: int | None = Field(default=None, ge=1)


class Evaluation(_Part):
    """When it is looked how far it is.

    Attributes
    ----------
    every
        Steps between two looks at the validation split; only at the end when left out.
    metric
        What counts: the loss over the answers of the validation split.
    patience
        So many looks in a row without a better one end the training; the best adapter is kept.
    """

    every: int | None = Field(default=None, ge=1)
    metric: Literal["loss"] = "loss"
    patience: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _looks(self) -> Self:
        if self.patience is not None and self.every is None:
            raise ValueError("patience: nothing is looked at in between; set `every` too")
        return self


class Limits(_Part):
    """What it may take.

    Attributes
    ----------
    cpu_minutes
        Processor time of all its starts; it ends at the first step after that.
    """

    cpu_minutes: float | None = Field(default=None, gt=0, strict=False)


class Recipe(_Part):
    """How an adapter is trained.

    Attributes
    ----------
    recipe
        Version of the file's form.
    title
        For people.
    base
        `package:smollm2` (a small real model that comes as a package), the folder of a model, or
        the name of one on a hub.
    trace_tokens
        Tokens of a trace that are shown, at most.
    lora
        The adapter.
    batch, accumulation
        Examples that are computed at once, and how many batches make a step.
    epochs, steps
        How long: passes over the train split, or steps; one of the two.
    learning_rate, warmup, schedule
        The highest rate, the steps in which it rises to that, and how it falls afterwards.
    precision
        `fp32`, or `bf16` for base and arithmetic; the adapter's weights are always fp32.
    quantization
        `4bit` keeps the base in NF4, which takes a GPU and the package bitsandbytes.
    gradient_checkpointing
        Whether inner values are computed twice rather than kept.
    packing
        Whether the examples of a batch lie in one row without filling.
    balanced
        Whether verdicts and triggers are drawn evenly; otherwise each example once a pass.
    seed
        Of the adapter's first weights, of dropout and of the order.
    evaluation, limits
        See there.
    device
        `cpu`, `cuda`, or `auto`: a GPU where there is one.
    """

    recipe: Literal[1]
    title: str = Field(min_length=3)
    base: str = Field(min_length=1)
    trace_tokens: int = Field(ge=LEAST_TOKENS, le=32_768)
    lora: Lora
    batch: int = Field(ge=1, le=1024)
    accumulation: int = Field(default=1, ge=1, le=1024)
    epochs: float | None = Field(default=None, gt=0, strict=False)
    steps: int | None = Field(default=None, ge=1)
    learning_rate: float = Field(gt=0, lt=1)
    warmup: int = Field(default=0, ge=0)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    precision: Literal["fp32", "bf16"] = "fp32"
    quantization: Literal["none", "4bit"] = "none"
    gradient_checkpointing: bool = False
    packing: bool = False
    balanced: bool = False
    seed: int = Field(default=0, ge=0)
    evaluation: Evaluation = Evaluation()
    limits: Limits = Limits()
    device: Literal["cpu", "cuda", "auto"] = "auto"

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("steps: say how long by `epochs` or by `steps`, and not by both")
        if self.quantization == "4bit" and self.device == "cpu":
            raise ValueError("quantization: 4bit takes a GPU; set `device: cuda`, or leave it out")
        if self.steps is not None and self.warmup >= self.steps:
            raise ValueError("warmup: it is as long as the whole training")
        return self


def load_recipe(project: Project, name: str) -> Recipe:
    """A recipe by the name of its file in `training/`, or by its path.

    Raises
    ------
    InputError
        When there is none, or it is wrong.
    """
    if name.endswith((".yaml", ".yml")) or "/" in name:
        return read_recipe(name)
    return read_recipe(project.find("training", f"{name}.yaml"))


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe.

    Raises
    ------
    SettingError
        When it is wrong; names file, line, field and remedy.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    try:
        return Recipe.model_validate(document.data)
    except ValidationError as error:
        place, message = complaint(error)
        head, mark, rest = message.partition(": ")
        if not place and mark and head.isidentifier():  # of a check over several fields
            place, message = (head,), rest
        field = ".".join(map(str, place)) or None
        where = Where(document.file, document.line(place), field)
        raise SettingError(message, where=where, remedy=_REMEDY) from None
