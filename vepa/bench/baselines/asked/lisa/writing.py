"""How a model is asked to write a broad policy about a group of failures."""

from __future__ import annotations

from collections.abc import Sequence

from vepa.bench.baselines.asked.lisa.constants import SHOWN
from vepa.bench.baselines.asked.lisa.memory import Written
from vepa.errors import ModelError
from vepa.evolution.proposers.llm.answers import plain
from vepa.llm.messages import Model, ModelRequest
from vepa.llm.prompts import Prompt
from vepa.llm.questions import question
from vepa.policy.event import Unit

__all__ = ["TEMPLATE", "policy_question", "write_policy"]

#: Folder of the prompt, and the template's id in recorded answers.
TEMPLATE = "lisa-policy"
#: Characters of title and description that are kept.
_TITLE, _DESCRIPTION = 80, 600


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
    lines = [{"right": decision, "events": len(events)}, *shown]
    return question(prompt, "failures", lines, unit=unit)
