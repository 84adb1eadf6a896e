"""The proposer that asks a language model: one structured question a turn, its answer as data."""

from __future__ import annotations

import re
from typing import Any

from vepa.errors import BudgetError, ModelError, SettingError, Where
from vepa.evolution.proposers.base import Malformed, Proposal, Request
from vepa.evolution.proposers.llm.answers import LIMITS, plain, read_answer
from vepa.evolution.proposers.llm.block import block_of
from vepa.evolution.proposers.llm.settings import LLMSettings
from vepa.files import canonical_json, sha256_of
from vepa.llm.budget import Budget
from vepa.llm.messages import Item, Message, Model, ModelReply, ModelRequest
from vepa.llm.prompts import Prompt
from vepa.policy.event import Unit
from vepa.policy.feedback import Feedback

__all__ = ["TEMPLATE", "ModelProposer", "question_of"]

#: Folder of the prompt, and the template's id in recorded answers.
TEMPLATE = "propose"
#: How an example is named, and characters of its id that a note shows.
_EXAMPLE = re.compile(r"\be([0-9]{1,7})\b")
_ID = 80


class ModelProposer:
    """Asks a model for patches.

    What the verifier said of earlier patches, and what could not be read as one, stands in the next
    question about the same parent; the search asks until nothing new comes, until K patches are
    tried, or until the questions of the update are used up.

    Parameters
    ----------
    model
        Who is asked.
    settings
        How much is shown and asked.
    prompt
        The prompt `propose`.
    budget
        The one that the model was opened with; told about in `figures`.
    """

    name = "llm"

    def __init__(
        self, model: Model, settings: LLMSettings, prompt: Prompt, budget: Budget | None = None
    ):
        self.settings = settings
        self._model, self._prompt = model, prompt
        self._budget = budget or Budget()
        self._before = (self._budget.used_tokens, self._budget.used_dollars)
        self._questions = self._kept = 0
        self._ended = False

    def propose(self, request: Request) -> Proposal:
        """What the model answers; nothing when it may not be asked again in this update.

        Raises
        ------
        SettingError
            When there is no key, or the provider refuses it.
        ModelError
            When no answer came. What was answered before is kept, so the run can go on from here.
        """
        if request.turn > self.settings.questions or request.limit < 1:
            return Proposal(())
        question = question_of(request, self.settings, self._prompt)
        try:
            reply = self._model.ask(question)
        except BudgetError as error:
            self._ended = True
            return Proposal((), _ended(self._model.name, error.budget), ended=True)
        except ModelError as error:
            if error.kind == "refused_key":
                raise _no_key(error) from None
            if error.kind != "malformed":
                raise
            self._questions += 1
            return Proposal((), malformed=(_formless(request.turn),), asked=1)
        self._questions += 1
        self._kept += reply.source != "provider"
        return _read(request, reply)

    def figures(self) -> dict[str, Any]:
        """What it was asked and what that took.

        Returns
        -------
        dict
            `questions`; `kept`, those that no provider had to answer; `tokens` and `dollars`;
            `ended`, whether the budget was used up.
        """
        tokens, dollars = self._before
        return {
            "questions": self._questions,
            "kept": self._kept,
            "tokens": self._budget.used_tokens - tokens,
            "dollars": self._budget.used_dollars - dollars,
            "ended": self._ended,
        }


def question_of(request: Request, settings: LLMSettings, prompt: Prompt) -> ModelRequest:
    """What a model is asked about a request; the same request gives the same bytes."""
    block = block_of(request, settings.packet_tokens)
    most = min(request.limit, LIMITS["patches"])
    after = _told(prompt, "after", request.parent.unit, most, block.tag)
    content = sha256_of(canonical_json({"block": block.text, "most": most}))
    return ModelRequest(
        messages=(
            Message(role="system", content=_told(prompt, "before", request.parent.unit, 0, "")),
            Message(role="user", content=f"{block.text}\n\n{after}"),
        ),
        shape=prompt.shape,
        item=Item(hash=content, template=prompt.id, version=prompt.version),
    )


def _told(prompt: Prompt, part: str, unit: Unit, most: int, tag: str) -> str:
    names = {"part": part, "unit": unit, "limits": LIMITS, "most": most, "tag": tag}
    return prompt.render(names)


def _read(request: Request, reply: ModelReply) -> Proposal:
    if reply.data is None:
        return Proposal((), "the model declined to answer", asked=1)
    answer = read_answer(reply.data, request.parent.schema, request.round, request.limit)
    note = f"the model: {_with_ids(answer.note, request)}" if answer.note else ""
    return Proposal(answer.patches, note, answer.malformed, asked=1)


def _with_ids(note: str, request: Request) -> str:
    """The note with examples by their ids: what the model was shown are places in the archive."""
    ids = request.archive.table.ids

    def named(match: re.Match[str]) -> str:
        row = int(match.group(1))
        return plain(ids[row], _ID) if row < len(ids) else match.group()

    return _EXAMPLE.sub(named, note)


def _no_key(error: ModelError) -> SettingError:
    return SettingError(
        str(error),
        where=Where(field="evolution.llm.model"),
        remedy="set the variable that it names; or let `induction` propose, which asks no model",
    )


def _formless(turn: int) -> Malformed:
    finding = Feedback(
        "malformed",
        "the answer did not have the form that was asked for, and could not be read",
        remedy='give one JSON object with "patches" and "note", and nothing else',
    )
    return Malformed(f"the whole answer to question {turn}", (finding,))


def _ended(model: str, budget: str) -> str:
    # No figures: what was spent before a run went on again is not the same in every run.
    return (
        f"{model} is not asked any more: the run's budget of {budget} is used up; "
        "the update goes on without the model"
    )
