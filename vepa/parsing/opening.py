"""Parsers by their names: `instrumented`, `llm:MODEL`, `lora:PATH`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from vepa.corpus.trajectory import Trajectory
from vepa.errors import SettingError, Where
from vepa.llm.messages import Model
from vepa.llm.prompts import Prompt
from vepa.parsing.instrumented import parse_trajectory
from vepa.parsing.llm import TRACE_TOKENS, LLMParser, Parsed
from vepa.policy.event import Unit
from vepa.policy.schema import Schema

__all__ = ["Parser", "check_unit_of", "open_parser"]

_REMEDY = (
    "write instrumented, llm:MODEL with any model of docs/models.md, such as llm:openai/…, or "
    "lora:PATH with the folder of a trained parser"
)


class Parser(Protocol):
    """Whatever makes events of traces without seeing a verdict."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """What its events can describe, its default first."""
        ...

    def parse_many(
        self,
        trajectories: Iterable[Trajectory],
        unit: Unit,
        *,
        workers: int = 8,
        progress: Callable[[Parsed], None] | None = None,
    ) -> Iterator[Parsed]:
        """See `LLMParser.parse_many`."""
        ...


class _Instrumented:
    """The instrumented parser behind the interface of all parsers."""

    units: tuple[Unit, ...] = ("step", "call")

    def __init__(self, schema: Schema | None):
        self._schema = schema

    def parse_many(
        self,
        trajectories: Iterable[Trajectory],
        unit: Unit,
        *,
        workers: int = 1,  # noqa: ARG002 - it takes less time than a thread
        progress: Callable[[Parsed], None] | None = None,
    ) -> Iterator[Parsed]:
        """Every event of one unit, in order."""
        for trajectory in trajectories:
            for record in parse_trajectory(trajectory, schema=self._schema):
                if record.unit == unit:
                    parsed = Parsed(trajectory, record)
                    if progress is not None:
                        progress(parsed)
                    yield parsed


def open_parser(
    spec: str,
    open_model: Callable[[str], Model],
    *,
    schema: Schema | None = None,
    prompt: Prompt | None = None,
    tokens: int = TRACE_TOKENS,
    least_confidence: float = 0.0,
) -> Parser:
    """Open a parser by its name.

    Parameters
    ----------
    spec
        `instrumented`, `llm:MODEL` with any name that `vepa.llm.open_model` takes, or `lora:PATH`
        with the folder of a trained parser.
    open_model
        Opens the model, with the caller's settings, budget, ledger and cache; called for `llm:`
        only.
    schema
        The event schema; the bundled one when left out.
    prompt, tokens
        Of a model parser; see `LLMParser`.
    least_confidence
        Of a LoRA parser; see `LoraParser`.

    Raises
    ------
    SettingError
        When the name is none, or what it names cannot be opened.
    MissingExtraError
        When a LoRA parser's packages are missing.
    """
    kind, _, rest = spec.partition(":")
    if spec == "instrumented":
        return _Instrumented(schema)
    if kind == "llm" and rest:
        return LLMParser(open_model(rest), schema=schema, prompt=prompt, tokens=tokens)
    if kind == "lora" and rest:
        # It loads torch, which takes seconds.
        from vepa.parsing.lora.parser import LoraParser

        return LoraParser(rest, schema=schema, least_confidence=least_confidence)
    where = Where(field="--parser")
    raise SettingError(f"{spec!r} names no parser", where=where, remedy=_REMEDY)


def check_unit_of(parser: Parser, spec: str, unit: Unit | None) -> Unit:
    """The unit to parse: what was asked for, or the parser's default.

    Raises
    ------
    SettingError
        When the parser has no events of this unit.
    """
    if unit is None:
        return parser.units[0]
    if unit not in parser.units:
        raise SettingError(
            f"{spec} gives no events of unit {unit!r}",
            where=Where(field="--unit"),
            remedy=f"one of: {', '.join(parser.units)}"
            + (
                "; whole traces need a model: --parser llm:MODEL or lora:PATH"
                if unit == "trajectory"
                else ""
            ),
        )
    return unit
