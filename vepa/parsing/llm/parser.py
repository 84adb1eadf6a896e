"""The model parser: one structured answer a trace, step or call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from vepa.corpus.events import EventRecord
from vepa.corpus.trajectory import Trajectory
from vepa.errors import ModelError, SettingError, Where
from vepa.llm.messages import Message, Model, ModelReply, ModelRequest
from vepa.llm.prompts import Prompt, load_prompt
from vepa.parsing.budgets import check_trace_tokens
from vepa.parsing.failures import ParseFailure
from vepa.parsing.llm.batch import in_order
from vepa.parsing.llm.excerpt import LEAST_TOKENS, Excerpt, excerpt
from vepa.parsing.llm.pieces import Piece, pieces_of
from vepa.parsing.llm.shape import TEMPLATE, answer_shape, item_of, told_fields
from vepa.policy.event import Unit
from vepa.policy.schema import Schema, bundled_schema
from vepa.project import Project

__all__ = ["TRACE_TOKENS", "LLMParser", "Parsed"]

#: Tokens of a trace that a model is shown, at most.
TRACE_TOKENS = 24_000


@dataclass(frozen=True, slots=True)
class Parsed:
    """What came of one trace, step or call.

    Attributes
    ----------
    trajectory
        The trace that it belongs to, with its label and annotations.
    result
        The event, or why there is none.
    """

    trajectory: Trajectory
    result: EventRecord | ParseFailure


class LLMParser:
    """Reads traces with a language model; it sees neither a label nor any annotation.

    Parameters
    ----------
    model
        Who is asked; None for a parser that only makes requests.
    schema
        The event schema; the bundled one when left out.
    prompt
        The prompt `parse`; the project's when left out.
    tokens
        What of a trace is shown, at most; longer ones are shortened around what matters.

    Raises
    ------
    SettingError
        When `tokens` is too small for any trace.
    """

    #: What its events can describe, its default first.
    units: tuple[Unit, ...] = ("trajectory", "call", "step")

    def __init__(
        self,
        model: Model | None,
        *,
        schema: Schema | None = None,
        prompt: Prompt | None = None,
        tokens: int = TRACE_TOKENS,
    ):
        check_trace_tokens(tokens, LEAST_TOKENS)
        self.schema = schema or bundled_schema()
        self.prompt = prompt or load_prompt(Project(), TEMPLATE)
        self.tokens = tokens
        self._model = model
        self._shape = answer_shape(self.schema)
        self._fields = told_fields(self.schema)

    def parse(self, trajectory: Trajectory) -> EventRecord:
        """The event of a whole trace.

        Raises
        ------
        ModelError
            When the model gave none that fits the schema, the repair included.
        BudgetError
            When a budget is used up.
        """
        (piece,) = pieces_of(trajectory, "trajectory")
        result = self._read(piece)
        if isinstance(result, ParseFailure):
            raise result.as_error()
        return result

    def parse_many(
        self,
        trajectories: Iterable[Trajectory],
        unit: Unit = "trajectory",
        *,
        workers: int = 8,
        progress: Callable[[Parsed], None] | None = None,
    ) -> Iterator[Parsed]:
        """Every event of many traces, in order, several requests at once.

        Parameters
        ----------
        trajectories
            Read as they are needed.
        unit
            What the events describe.
        workers
            Requests at once; what the model's provider takes is kept to besides.
        progress
            Told about each result, in order.

        Yields
        ------
        Parsed
            An event or a failure for everything that can have an event of this unit.

        Raises
        ------
        BudgetError
            When a budget is used up: after all that was done has been given out.
        ModelError
            `refused_key`, the same way: no other trace would fare better.
        """
        work = ((each, piece) for each in trajectories for piece in pieces_of(each, unit))
        for (trajectory, _), result in in_order(work, lambda pair: self._read(pair[1]), workers):
            parsed = Parsed(trajectory, result)
            if progress is not None:
                progress(parsed)
            yield parsed

    def requests(
        self, trajectory: Trajectory, unit: Unit = "trajectory"
    ) -> Iterator[tuple[ModelRequest, bool]]:
        """What would be asked about a trace: each request, and whether it shows all of its part."""
        for piece in pieces_of(trajectory, unit):
            shown = self._excerpt(piece)
            yield self._request(piece, shown), shown.whole

    def _excerpt(self, piece: Piece) -> Excerpt:
        return excerpt(piece.trajectory, self.tokens, proposed=piece.proposed)

    def _request(self, piece: Piece, shown: Excerpt) -> ModelRequest:
        after = self._told("after", piece.unit, shown.tag)
        return ModelRequest(
            messages=(
                Message(role="system", content=self._told("before", piece.unit, "")),
                Message(role="user", content=f"{shown.block}\n\n{after}"),
            ),
            shape=self._shape,
            item=item_of(piece.trajectory, self.prompt, piece.unit, piece.id),
        )

    def _told(self, part: str, unit: Unit, tag: str) -> str:
        return self.prompt.render({"part": part, "unit": unit, "fields": self._fields, "tag": tag})

    def _read(self, piece: Piece) -> EventRecord | ParseFailure:
        if self._model is None:
            raise SettingError("this parser has no model to ask", where=Where(field="model"))
        try:
            reply = self._model.ask(self._request(piece, self._excerpt(piece)))
        except ModelError as error:
            if error.kind == "refused_key":
                raise
            return ParseFailure(piece.id, piece.unit, str(error), error.kind)
        return self._event(piece, reply)

    def _event(self, piece: Piece, reply: ModelReply) -> EventRecord | ParseFailure:
        if reply.data is None:
            if reply.finish == "declined":
                return ParseFailure(piece.id, piece.unit, "the model declined", "declined")
            return ParseFailure(piece.id, piece.unit, "a call instead of an answer", "malformed")
        event = {name: reply.data[name] for name in self.schema.names}
        self.schema.encode(event)
        return EventRecord(id=piece.id, event=event, unit=piece.unit, meta=piece.meta)
