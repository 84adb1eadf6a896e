"""One reader of the panel: a step in, a label or a recorded failure out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from vepa.annotate.items import StepItem
from vepa.annotate.panel import Rules, Seat
from vepa.annotate.shape import TEMPLATE, answer_shape, item_of, read_judgement
from vepa.corpus.labels import Judgement, Label, Origin
from vepa.errors import InputError, ModelError
from vepa.llm.messages import Message, Model, ModelReply, ModelRequest
from vepa.llm.prompts import Prompt, load_prompt
from vepa.parsing.llm.batch import in_order
from vepa.parsing.llm.excerpt import excerpt
from vepa.parsing.llm.shape import told_fields
from vepa.policy.schema import Schema, bundled_schema
from vepa.project import Project

__all__ = ["Annotator", "Failure", "Judged"]

_ORIGINS: dict[str, Origin] = {
    "provider": "model", "cache": "model", "recorded": "recorded", "scripted": "scripted",
}  # fmt: skip


class Failure(BaseModel):
    """A step that a reader gave no usable judgement of; it goes to the queue.

    Attributes
    ----------
    trajectory, step, item, annotator
        As of a label.
    kind
        As in `ModelError`; `declined` or `unusable`.
    reason
        What happened, in words.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[1] = 1
    trajectory: str
    step: int
    item: str
    annotator: str
    kind: str
    reason: str


Judged = Label | Failure


class Annotator:
    """A reader: a seat of the panel and the model that sits there.

    Parameters
    ----------
    seat
        Its name and settings.
    model
        Who is asked; None for one that only makes requests.
    rules
        Taxonomy and codebook.
    tokens
        What of a trajectory is shown, at most.
    schema, prompt
        The bundled schema and the project's prompt when left out.
    """

    def __init__(
        self,
        seat: Seat,
        model: Model | None,
        rules: Rules,
        tokens: int,
        *,
        schema: Schema | None = None,
        prompt: Prompt | None = None,
    ):
        self.seat = seat
        self.rules = rules
        self.prompt = prompt or load_prompt(Project(), TEMPLATE)
        self._model = model
        self.tokens = tokens
        self.schema = schema or bundled_schema()
        self._shape = answer_shape(rules.taxonomy, self.schema)
        self._fields = told_fields(self.schema)
        self._before = self._told("before", "", 0)

    def request(self, item: StepItem) -> ModelRequest:
        """What the reader receives about a step, whoever it is."""
        shown = excerpt(item.shown, self.tokens)
        after = self._told("after", shown.tag, item.step)
        return ModelRequest(
            messages=(
                Message(role="system", content=self._before),
                Message(role="user", content=f"{shown.block}\n\n{after}"),
            ),
            shape=self._shape,
            item=item_of(item, self.prompt),
        )

    def judge(self, item: StepItem) -> Judged:
        """One step.

        Raises
        ------
        ModelError
            `refused_key`: no other step would fare better.
        BudgetError
            When a budget is used up.
        """
        assert self._model is not None, "a reader that only makes requests was asked to judge"
        request = self.request(item)
        try:
            found = self.read(item, request, self._model.ask(request))
            if isinstance(found, ModelRequest):
                found = self.read(item, found, self._model.ask(found), last=True)
        except ModelError as error:
            return self.failed(item, error)
        assert not isinstance(found, ModelRequest)
        return found

    def read(
        self, item: StepItem, request: ModelRequest, reply: ModelReply, *, last: bool = False
    ) -> Judged | ModelRequest:
        """What an answer says: a label, a failure, or the request that asks for the one repair.

        Parameters
        ----------
        item
            The step.
        request, reply
            What was asked about it, and the answer.
        last
            Whether this was the repair already. There is none either for an answer whose form was
            repaired, nor for what is replayed or a script's.
        """
        if reply.data is None:
            return self._failure(item, "declined", "the model declined")
        try:
            judgement = read_judgement(reply.data, self.rules.taxonomy, self.schema, item)
        except InputError as error:
            if not (last or reply.repaired or _ORIGINS[reply.source] != "model"):
                return _asked_again(request, reply, error)
            place = f"{error.where.field}: " if error.where.field else ""
            return self._failure(item, "unusable", f"{place}{error.message}")
        return self._label(item, judgement, reply)

    def failed(self, item: StepItem, error: ModelError) -> Failure:
        """A step that no answer came about.

        Raises
        ------
        ModelError
            `refused_key`, the error itself: no other step would fare better.
        """
        if error.kind == "refused_key":
            raise error
        return self._failure(item, error.kind, str(error))

    def judge_many(
        self,
        items: Iterable[StepItem],
        *,
        workers: int = 8,
        keep: Callable[[Judged], None] | None = None,
    ) -> Iterator[tuple[StepItem, Judged]]:
        """Every step, in order, several requests at once; raises as `judge`, after what is done.

        Parameters
        ----------
        items
            Read as they are needed.
        workers
            Requests at the same time.
        keep
            Gets each judgement as soon as it is there, from several threads: what is paid for is
            kept before anything waits for its turn.
        """

        def kept(item: StepItem) -> Judged:
            judged = self.judge(item)
            if keep is not None:
                keep(judged)
            return judged

        return in_order(items, kept, workers)

    def _label(self, item: StepItem, judgement: Judgement, reply: ModelReply) -> Label:
        taxonomy = self.rules.taxonomy
        return Label(
            trajectory=item.trajectory,
            step=item.step,
            item=item.hash,
            annotator=self.seat.name,
            model=reply.model,
            origin=_ORIGINS[reply.source],
            taxonomy=f"{taxonomy.id}/{taxonomy.version}",
            template=f"{self.prompt.id}/{self.prompt.version}",
            judgement=judgement,
        )

    def _failure(self, item: StepItem, kind: str, reason: str) -> Failure:
        return Failure(
            trajectory=item.trajectory,
            step=item.step,
            item=item.hash,
            annotator=self.seat.name,
            kind=kind,
            reason=reason,
        )

    def _told(self, part: str, tag: str, step: int) -> str:
        return self.prompt.render(
            {
                "part": part,
                "taxonomy": self.rules.taxonomy,
                "codebook": self.rules.codebook,
                "fields": self._fields,
                "tag": tag,
                "step": step,
            }
        )


def _asked_again(request: ModelRequest, reply: ModelReply, error: InputError) -> ModelRequest:
    place = f"`{error.where.field}`: " if error.where.field else ""
    fault = f"That answer cannot be used. {place}{error.message}. Answer again, whole, in JSON."
    return request.model_copy(
        update={"messages": (*request.messages, reply.message, Message(role="user", content=fault))}
    )
