"""The LoRA parser: a small local model that can answer nothing but values of the schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from vepa.corpus.events import EventRecord
from vepa.corpus.trajectory import Trajectory
from vepa.errors import SettingError, Where
from vepa.llm.local.adapters import Local, open_adapter, read_notes
from vepa.llm.local.chat import prompt_ids
from vepa.llm.local.choosing import Answer, choose
from vepa.llm.local.options import Question
from vepa.parsing.llm import Parsed
from vepa.parsing.llm.pieces import Piece, pieces_of
from vepa.parsing.lora.chat import prompt_of
from vepa.parsing.lora.shortening import shorten
from vepa.parsing.lora.tokenizing import APPROXIMATE, open_tokenizer
from vepa.policy.event import Unit
from vepa.policy.schema import UNKNOWN, Schema, bundled_schema

__all__ = ["BATCH", "LoraParser", "event_of", "questions_of"]

#: Traces that are read together; more takes more memory and, on a processor, no less time.
BATCH = 8


class LoraParser:
    """Reads traces with an adapter of this project; it sees neither a label nor any annotation.

    Parameters
    ----------
    adapter
        The folder that a training left.
    schema
        The event schema; the bundled one when left out.
    least_confidence
        A value that is less probable than this among those of its field becomes `unknown`.
    batch
        Traces that are read together.

    Raises
    ------
    SettingError
        When the folder is no parser's, or it learned another schema.
    MissingExtraError
        When a package of the extra `train` is missing.
    """

    #: What its events can describe, its default first.
    units: tuple[Unit, ...] = ("trajectory", "call", "step")

    def __init__(
        self,
        adapter: str | Path,
        *,
        schema: Schema | None = None,
        least_confidence: float = 0.0,
        batch: int = BATCH,
    ):
        self.schema = schema or bundled_schema()
        notes = read_notes(adapter)
        where = Where(str(adapter))
        if notes.kind != "parser":
            raise SettingError(
                f"this adapter is a {notes.kind}", where=where, remedy="name one that is a parser"
            )
        if notes.schema_sha256 != self.schema.sha256:
            raise SettingError(
                "this adapter learned another event schema",
                where=where,
                remedy="name that schema with --schema, or train on this one",
            )
        if not 0 <= least_confidence <= 1:
            raise SettingError(
                "a confidence lies between 0 and 1", where=Where(field="least_confidence")
            )
        self._least, self._batch = least_confidence, batch
        # Traces are cut as those were that it learned from.
        cut_by = APPROXIMATE if notes.tokenizer == APPROXIMATE else str(adapter)
        self._shortener = open_tokenizer(cut_by)
        self._local: Local = open_adapter(notes)
        self._questions = questions_of(self.schema, self._local.tokenizer)

    def parse_many(
        self,
        trajectories: Iterable[Trajectory],
        unit: Unit = "trajectory",
        *,
        workers: int = 1,  # noqa: ARG002 - the model itself works on several traces at once
        progress: Callable[[Parsed], None] | None = None,
    ) -> Iterator[Parsed]:
        """Every event of many traces, in order.

        Parameters
        ----------
        trajectories
            Read as they are needed.
        unit
            What the events describe.
        workers
            Plays no part.
        progress
            Told about each result, in order.

        Yields
        ------
        Parsed
            An event for everything that can have one of this unit; the confidence of each field
            stands in its `meta`.
        """
        work = ((each, piece) for each in trajectories for piece in pieces_of(each, unit))
        while batch := list(islice(work, self._batch)):
            answers = self._read([piece for _, piece in batch])
            for (trajectory, piece), found in zip(batch, answers, strict=True):
                parsed = Parsed(trajectory, event_of(piece, found, self._least))
                if progress is not None:
                    progress(parsed)
                yield parsed

    def _read(self, pieces: Sequence[Piece]) -> list[list[Answer]]:
        prompts = [prompt_ids(self._local.tokenizer, self._asked(piece)) for piece in pieces]
        return choose(self._local.model, prompts, self._questions)

    def _asked(self, piece: Piece) -> list[dict[str, str]]:
        tokens = self._local.notes.trace_tokens
        shown = shorten(piece.trajectory, self._shortener, tokens, proposed=piece.proposed)
        return prompt_of("parser", shown.text)


def questions_of(schema: Schema, tokenizer: Any) -> list[Question]:
    """A question a field, in the order of the schema; `unknown` is no answer of the model's.

    Parameters
    ----------
    schema
        The event schema.
    tokenizer
        Of transformers.
    """

    def ids(text: str) -> tuple[int, ...]:
        return tuple(tokenizer.encode(text, add_special_tokens=False))

    end = ids("\n")
    return [
        Question(
            field.name,
            ids(f"{field.name}:"),
            {value: (*ids(f" {value}"), *end) for value in field.values if value != UNKNOWN},
        )
        for field in schema.fields
    ]


def event_of(piece: Piece, answers: Sequence[Answer], least: float) -> EventRecord:
    """The event that a piece's answers make.

    Parameters
    ----------
    piece
        What was read.
    answers
        One a field.
    least
        Below this confidence a field is `unknown`; its confidence is still told.
    """
    event = {
        answer.name: answer.value if answer.confidence >= least else UNKNOWN for answer in answers
    }
    confidence = {answer.name: round(answer.confidence, 4) for answer in answers}
    meta = {**piece.meta, "confidence": confidence}
    return EventRecord(id=piece.id, event=event, unit=piece.unit, meta=meta)
