"""What the baselines that ask a model will take at most, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vepa.bench.baselines import FAMILIES
from vepa.bench.baselines.asked.lisa.constants import REFRESH, SHOWN, WRITTEN
from vepa.guard.fallback import question_of
from vepa.guard.fallback.judge import TEMPLATE
from vepa.llm.messages import Message, ModelRequest
from vepa.llm.prices import count_tokens, estimate
from vepa.llm.prompts import load_prompt
from vepa.policy.schema import Schema
from vepa.project import Project

if TYPE_CHECKING:
    from vepa.bench.trials import TrialSettings

__all__ = ["ASSUMED_CHECKS", "ASSUMED_RULES", "AskedForecast", "Load", "forecast_asked"]

#: Active rules that `judge` is shown, and tokens of each: nothing limits them, so this is assumed.
ASSUMED_RULES, _A_RULE = 40, 120
#: Checks of an entry of AGrail's memory, and tokens of each: likewise.
ASSUMED_CHECKS, _A_CHECK = 12, 80
_LOCAL = "hashing/"
#: Tokens of a broad policy's title and description, cut at 680 characters.
_WORDS = 400


@dataclass(frozen=True, slots=True)
class Load:
    """What one family asks at most, in all trials.

    Attributes
    ----------
    calls
        Questions to the model.
    prompt, completion
        Tokens read and written.
    texts
        That are turned into vectors.
    text_tokens
        Tokens of all of them.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    texts: int = 0
    text_tokens: int = 0


@dataclass(frozen=True, slots=True)
class AskedForecast:
    """What all families together ask at most; answers that are kept already cost nothing.

    Attributes
    ----------
    model, embedder
        Who is asked.
    families
        Family -> its part.
    calls, prompt, completion
        Questions, tokens read by the model and written.
    texts, text_tokens
        Texts turned into vectors, and their tokens.
    dollars
        US dollars; None where a price is not known.
    budget_tokens, budget_dollars
        Where the run ends with an error; None for no limit.
    """

    model: str
    embedder: str | None
    families: Mapping[str, Load]
    calls: int
    prompt: int
    completion: int
    texts: int
    text_tokens: int
    dollars: float | None
    budget_tokens: int | None
    budget_dollars: float | None


@dataclass(frozen=True, slots=True)
class Scale:
    """What the size of a load depends on.

    Attributes
    ----------
    events, labels
        Events and revealed labels of each trial.
    rounds
        Rounds of a trial.
    event_tokens
        Of the longest event as text.
    question_tokens
        Of the longest question about an event alone.
    answer_tokens
        An answer's limit.
    agrail_tokens
        Of the three questions of AGrail about the longest event.
    """

    events: Sequence[int]
    labels: Sequence[int]
    rounds: int
    event_tokens: int
    question_tokens: int
    answer_tokens: int
    agrail_tokens: int


def forecast_asked(
    settings: TrialSettings, schema: Schema, events: Sequence[int], project: Path | None = None
) -> AskedForecast | None:
    """What the baselines of a benchmark will ask; None where none asks a model. Nothing is sent.

    Parameters
    ----------
    settings
        Of the trials.
    schema
        Of the events.
    events
        Number of events of each trial.
    project
        Where prompts are looked up.

    Raises
    ------
    MissingExtraError
        When jinja2, or litellm, whose price map is read, is not installed.
    """
    asked = settings.asked
    if asked is None:
        return None
    scale = _scale(settings, schema, events, project, asked.settings.max_tokens)
    names = [name for name in settings.baselines if FAMILIES[name].asks]
    loads = {name: _LOADS[name](scale) for name in names}
    calls, prompt, completion, texts, text_tokens = (
        sum(getattr(load, name) for load in loads.values()) for name in Load.__slots__
    )
    dollars = estimate(asked.model, prompt, completion, asked.settings)
    if texts and asked.embedder is not None and not asked.embedder.startswith(_LOCAL):
        more = estimate(asked.embedder, text_tokens, 0, asked.how_to_embed)
        dollars = None if dollars is None or more is None else dollars + more
    return AskedForecast(
        asked.model,
        asked.embedder,
        loads,
        calls,
        prompt,
        completion,
        texts,
        text_tokens,
        dollars,
        asked.tokens,
        asked.dollars,
    )


def _scale(
    settings: TrialSettings,
    schema: Schema,
    events: Sequence[int],
    project: Path | None,
    answer_tokens: int,
) -> Scale:
    longest = {field.name: max(field.values, key=len) for field in schema.fields}
    asked = question_of(longest, "trajectory", None, load_prompt(Project(project), TEMPLATE))
    text = ", ".join(f"{name}: {value}" for name, value in longest.items())
    shown = ModelRequest(messages=(Message(role="user", content=text),))
    # A round's share of labels is rounded, so that a trial may have one more a round.
    stream = settings.stream
    labels = [min(size, int(stream.feedback * size) + stream.rounds) for size in events]
    return Scale(
        events,
        labels,
        stream.rounds,
        count_tokens(shown, ""),
        count_tokens(asked, ""),
        answer_tokens,
        _agrail_tokens(longest, schema, project) if "agrail" in settings.baselines else 0,
    )


def _agrail_tokens(longest: Mapping[str, str], schema: Schema, project: Path | None) -> int:
    from vepa.bench.baselines.asked.agrail import CATEGORIES, AGrailPrompts, Check
    from vepa.bench.baselines.asked.agrail.steps import Questions

    prompts = AGrailPrompts.load(partial(load_prompt, Project(project)))
    domains = {field.name: field.values for field in schema.fields}
    ask = Questions(prompts, CATEGORIES, domains)
    checks = {f"c{at}": Check(next(iter(CATEGORIES)), "", "") for at in range(ASSUMED_CHECKS)}
    asked = (
        ask.key(longest, "trajectory"),
        ask.analyse(longest, "trajectory", None),
        ask.execute(longest, "trajectory", checks),
    )
    # What the checks say, in the memory that the second is shown and in the list of the third.
    return sum(count_tokens(each, "") for each in asked) + 2 * ASSUMED_CHECKS * _A_CHECK


def _each_event(scale: Scale) -> Load:
    calls = sum(scale.events)
    return Load(calls, calls * scale.question_tokens, calls * scale.answer_tokens)


def _beside_rules(scale: Scale) -> Load:
    calls = sum(scale.events)
    shown = scale.question_tokens + ASSUMED_RULES * _A_RULE
    return Load(calls, calls * shown, calls * scale.answer_tokens)


def _three_each(scale: Scale) -> Load:
    events = sum(scale.events)
    return Load(
        3 * events,
        events * scale.agrail_tokens,
        3 * events * scale.answer_tokens,
        3 * events,
        3 * events * scale.answer_tokens,
    )


def _base_and_policies(scale: Scale) -> Load:
    base = _each_event(scale)
    refreshes = [min(scale.rounds, told // REFRESH) for told in scale.labels]
    writes = WRITTEN * sum(refreshes)
    # The instruction is about as long as the judge's, which the question about one event includes.
    prompt = base.prompt + writes * (scale.question_tokens + SHOWN * 2 * scale.event_tokens)
    return Load(
        base.calls + writes,
        prompt,
        base.completion + writes * scale.answer_tokens,
        base.calls + writes,
        base.calls * scale.event_tokens + writes * _WORDS,
    )


_LOADS: Mapping[str, Callable[[Scale], Load]] = {
    "no_memory": _each_event,
    "judge": _beside_rules,
    "agrail": _three_each,
    "lisa": _base_and_policies,
}
