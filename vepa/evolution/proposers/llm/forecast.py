"""What asking a model for patches will take at most, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vepa.evolution.proposers.llm.answers import LIMITS
from vepa.evolution.proposers.llm.asking import TEMPLATE
from vepa.evolution.proposers.llm.lines import field_line
from vepa.evolution.settings import EvolutionSettings
from vepa.llm.messages import Message, ModelRequest
from vepa.llm.prices import count_tokens, estimate
from vepa.llm.prompts import load_prompt
from vepa.policy.schema import Schema
from vepa.project import Project

__all__ = ["Forecast", "forecast"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the questions of a run will take at most; answers that are asked for again come on top.

    Attributes
    ----------
    model
        Who is asked.
    questions
        In all updates.
    prompt, completion
        Tokens read and written.
    dollars
        US dollars; None where the price is not known.
    budget_tokens, budget_dollars
        Where the run goes on without the model; None for no limit.
    """

    model: str
    questions: int
    prompt: int
    completion: int
    dollars: float | None
    budget_tokens: int | None
    budget_dollars: float | None

    @property
    def most_dollars(self) -> float | None:
        """US dollars that can be spent, the budget kept to; None where nobody knows."""
        if self.dollars is None or self.budget_dollars is None:
            return self.dollars if self.budget_dollars is None else self.budget_dollars
        return min(self.dollars, self.budget_dollars)


def forecast(
    settings: EvolutionSettings, schema: Schema, updates: int, project: Path | None = None
) -> Forecast | None:
    """What the updates will take of a model; None where none is asked. Nothing is sent.

    Parameters
    ----------
    settings
        Of the evolution.
    schema
        Of the events; a question shows all of it.
    updates
        How many.
    project
        Where the prompt is looked up.

    Raises
    ------
    MissingExtraError
        When litellm, whose price map is read, is not installed.
    """
    llm = settings.llm
    if llm is None:
        return None
    questions = updates * llm.questions if settings.patches else 0
    prompt = questions * (_fixed(schema, project) + llm.packet_tokens)
    completion = questions * llm.settings.max_tokens
    asked = llm.otherwise or llm.model
    dollars = estimate(asked, prompt, completion, llm.settings) if questions else 0.0
    return Forecast(llm.model, questions, prompt, completion, dollars, llm.tokens, llm.dollars)


def _fixed(schema: Schema, project: Path | None) -> int:
    """Tokens of what is the same in every question: the instruction and the schema."""
    prompt = load_prompt(Project(project), TEMPLATE)
    names = {"unit": "trajectory", "limits": LIMITS, "most": LIMITS["patches"], "tag": "0" * 16}
    told = [prompt.render({**names, "part": part}) for part in ("before", "after")]
    told += map(field_line, schema.fields)
    request = ModelRequest(
        messages=tuple(Message(role="user", content=text) for text in told), shape=prompt.shape
    )
    return count_tokens(request, "")
