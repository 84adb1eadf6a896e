"""How a model is asked to write a broad policy about a group of failures."""

from __future__ import annotations

from collections.abc import Sequence

from vepa.bench.baselines.asked.lisa.constants import SHOWN
from vepa.bench.baselines.asked.lisa.memory import Written
from vepa.errors import ModelError
from vepa.evolution.proposers.llm.answers import plain
from vepa.files import sha256_of
from vepa.llm.messages import Item, Message, Model, ModelRequest
from vepa.llm.prompts import Prompt
from vepa.llm.spelling import Writer
from vepa.policy.event import Unit

__all__ = ["TEMPLATE", "policy_question", "write_policy"]

#: Folder of the prompt, and the template's id in recorded answers.
TEMPLATE = "lisa-policy"
_TAG_DIGITS = 16
#: Characters of title and description that are kept.
_TITLE, _DESCRIPTION = 80, 600
#: Spells values so that nothing in them can end the block.
_WHOLE = Writer()


def write_policy(
    model: Model, prompt: Prompt, decision: str, events: Sequence[dict[str, str]], unit: Unit
) -> Written:
    """Ask for title and description of what makes the events alike.

    Parameters
    ----------
    model
        Who is asked.
    prompt
        The prompt `lisa-policy`.
    decision
        What feedback says about all of them.
    events
        The distinct events, visible fields alone; the first `SHOWN` are shown.
    unit
        What the events describe.

    Raises
    ------
    ModelError, BudgetError, SettingError
        When no answer came; one that cannot be read is told by its outcome.
    """
    try:
        reply = model.ask(policy_question(prompt, decision, events, unit))
    except ModelError as error:
        if error.kind != "malformed":
            raise
        return Written("", "", "malformed")
    if reply.data is None:
        return Written("", "", "declined")
    title = plain(str(reply.data["title"]), _TITLE)
    description = plain(str(reply.data["description"]), _DESCRIPTION)
    if not title or not description:
        return Written("", "", "malformed")
    return Written(title, description)


def policy_question(
    prompt: Prompt, decision: str, events: Sequence[dict[str, str]], unit: Unit
) -> ModelRequest:
    """What the model is asked; the same group gives the same bytes."""
    shown = [{"event": dict(sorted(event.items()))} for event in events[:SHOWN]]
    text = "\n".join(map(_WHOLE.value, [{"right": decision, "events": len(events)}, *shown]))
    tag = sha256_of(text)[:_TAG_DIGITS]

    def told(part: str, tag: str) -> str:
        return prompt.render({"part": part, "unit": unit, "tag": tag})

    return ModelRequest(
        messages=(
            Message(role="system", content=told("before", "")),
            Message(
                role="user",
                content=f"<failures-{tag}>\n{text}\n</failures-{tag}>\n\n{told('after', tag)}",
            ),
        ),
        shape=prompt.shape,
        temperature=0.0,
        item=Item(hash=sha256_of(text), template=prompt.id, version=prompt.version),
    )
