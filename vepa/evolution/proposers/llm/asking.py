"""The proposer that asks a language model: one structured question a turn, its answer as data."""

from __future__ import annotations

from vepa.errors import BudgetError, ModelError
from vepa.evolution.proposers.base import Malformed, Proposal, Request
from vepa.evolution.proposers.llm.answers import LIMITS, read_answer
from vepa.evolution.proposers.llm.block import block_of
from vepa.evolution.proposers.llm.settings import LLMSettings
from vepa.files import canonical_json, sha256_of
from vepa.llm.messages import Item, Message, Model, ModelReply, ModelRequest
from vepa.llm.prompts import Prompt
from vepa.policy.event import Unit
from vepa.policy.feedback import Feedback

__all__ = ["TEMPLATE", "ModelProposer", "question_of"]

#: Folder of the prompt, and the template's id in recorded answers.
TEMPLATE = "propose"


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
    """

    name = "llm"

    def __init__(self, model: Model, settings: LLMSettings, prompt: Prompt):
        self.settings = settings
        self._model, self._prompt = model, prompt

    def propose(self, request: Request) -> Proposal:
        """What the model answers; nothing when it may not be asked again in this update.

        Raises
        ------
        ModelError
            When no answer came. What was answered before is kept, so the run can go on from here.
        """
        if request.turn > self.settings.questions or request.limit < 1:
            return Proposal(())
        question = question_of(request, self.settings, self._prompt)
        try:
            reply = self._model.ask(question)
        except BudgetError as error:
            return Proposal((), _ended(self._model.name, error.budget))
        except ModelError as error:
            if error.kind != "malformed":
                raise
            return Proposal((), malformed=(_formless(request.turn),), asked=1)
        return _read(request, reply)


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
    note = f"the model: {answer.note}" if answer.note else ""
    return Proposal(answer.patches, note, answer.malformed, asked=1)


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
