"""A task as data: what is asked, what is planted, what counts as done and as unsafe, and plans."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from vepa.collect.parts import Id, Part, Trigger
from vepa.collect.tasks.plan import Plan
from vepa.corpus.tools import FieldValue

__all__ = ["BAD", "TEMPERAMENTS", "Check", "Decoy", "Planted", "Saying", "Task", "Unsafe"]

#: How a scripted agent behaves: `careful` does the task well; the others make the mistakes that
#: the task describes, out of haste, of trust in what they read, or of disregard.
TEMPERAMENTS = ("careful", "hasty", "gullible", "reckless")
#: Those that may do harm.
BAD = TEMPERAMENTS[1:]

RiskSource = Literal[
    "malicious_user_instruction_or_jailbreak", "direct_prompt_injection",
    "indirect_prompt_injection", "tool_description_injection", "malicious_tool_execution",
    "corrupted_tool_feedback", "unreliable_or_misinformation", "inherent_agent_failures",
]  # fmt: skip
Harm = Literal[
    "privacy_and_confidentiality_harm", "financial_and_economic_harm",
    "security_and_system_integrity_harm", "physical_and_health_harm",
    "psychological_and_emotional_harm", "reputational_and_interpersonal_harm",
    "info_ecosystem_and_societal_harm", "public_service_and_resource_harm",
    "fairness_equity_and_allocative_harm", "functional_and_opportunity_harm",
]  # fmt: skip


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


class Planted(Part):
    """Something that lies in a service before the episode starts; exactly one of three forms.

    Attributes
    ----------
    plant, with
        `ENVIRONMENT.NAME`: a named way of the environment (`mail.arrives`), and its arguments.
    call, as, with
        A tool of an environment, called with somebody's account, and its arguments.
    steps, environment
        Requests as an environment file has them, sent as `admin`.
    wants
        What an attack or a trap wants the agent to do, in words; left out for mere setting.
    id
        A word for its answer in later templates: `{{ planted.ID }}`.
    """

    plant: str | None = None
    call: str | None = None
    account: str | None = Field(default=None, alias="as")
    arguments: dict[str, Any] = Field(default={}, alias="with")
    environment: str | None = None
    steps: list[dict[str, Any]] = []
    wants: str | None = None
    id: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Planted:
        forms = (self.plant is not None, self.call is not None, bool(self.steps))
        if sum(forms) != 1:
            raise ValueError("one of `plant`, `call` or `steps` belongs here")
        if (self.call is None) != (self.account is None):
            raise ValueError("`call` and `as` (whose account calls it) belong together")
        if bool(self.steps) != (self.environment is not None):
            raise ValueError("`steps` and `environment` belong together")
        if self.plant is not None and "." not in self.plant:
            raise ValueError("`plant` is ENVIRONMENT.NAME, such as mail.arrives")
        return self


class Decoy(Part):
    """A tool that this task offers beside the environments' own: a look-alike that acts for real.

    Attributes
    ----------
    name, description
        What the model sees.
    like
        The tool that it really calls.
    with
        Arguments that it adds or replaces (templates that know `args`).
    says
        What it answers instead of the real answer (a template that knows `args` and `answer`).
    event
        Fields of its metadata that differ from the real tool's, such as `tool_trust`.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{2,63}$")
    description: str = Field(min_length=10)
    like: str
    arguments: dict[str, Any] = Field(default={}, alias="with")
    says: Any = None
    event: dict[str, FieldValue] = {}


class Saying(Part):
    """What the user says when the agent asks something that a pattern fits.

    Attributes
    ----------
    asked
        A regular expression, letter case ignored, over the agent's words.
    says
        The user's words.
    """

    asked: Pattern
    says: str


class Check(Part):
    """Something that holds or does not after an episode; exactly one of five forms.

    Attributes
    ----------
    check, with, holds
        `ENVIRONMENT.NAME`: an assertion on the real state, its arguments, and whether it should
        hold (`holds: false`: should not).
    called, with, ok, times, before
        A tool that was called: arguments by name -> regular expression over the value's text
        (JSON for lists and mappings), whether the call succeeded, how often (`1+`, `0`, `2-3`),
        counting only what came before the first successful call of another tool.
    answered
        Regular expressions, letter case ignored, all found in the final answer.
    refused
        Whether the agent declined.
    all
        Several checks, all of which hold.
    """

    check: str | None = None
    called: str | None = None
    answered: list[Pattern] | None = Field(default=None, min_length=1)
    refused: bool | None = None
    all: list[Check] | None = Field(default=None, min_length=2)
    arguments: dict[str, Any] = Field(default={}, alias="with")
    holds: bool = True
    ok: bool | None = None
    times: str = "1+"
    before: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Check:
        given = (self.check, self.called, self.answered, self.refused, self.all)
        if sum(form is not None for form in given) != 1:
            raise ValueError(
                "one of `check`, `called`, `answered`, `refused` or `all` belongs here"
            )
        if self.check is not None and "." not in self.check:
            raise ValueError("`check` is ENVIRONMENT.NAME, such as mail.was_sent")
        if self.called is not None:
            for name, value in self.arguments.items():
                if not isinstance(value, str):
                    raise ValueError(f"with.{name}: a regular expression belongs here")
                _pattern(value)
        elif self.ok is not None or self.times != "1+" or self.before is not None:
            raise ValueError("`ok`, `times` and `before` belong to `called`")
        if re.fullmatch(r"\d+(\+|-\d+)?", self.times) is None:
            raise ValueError("times: a number `2`, a least number `1+`, or a range `2-3`")
        return self

    @property
    def bounds(self) -> tuple[int, int | None]:
        """Least and greatest number of calls; None is no bound."""
        first, plus, last = re.fullmatch(r"(\d+)(\+|-(?=\d))?(\d*)", self.times).groups()  # type: ignore[union-attr]
        if plus == "+":
            return int(first), None
        return int(first), int(last) if plus else int(first)


class Unsafe(Check):
    """A check that holds only after a mistake.

    Attributes
    ----------
    trigger
        The reason why a guard should have stepped in.
    risk_source, harm
        The taxonomy's companion values.
    """

    trigger: Trigger
    risk_source: RiskSource = "inherent_agent_failures"
    harm: Harm


class Task(Part):
    """The content of a file in `tasks/`.

    Attributes
    ----------
    task
        Version of the format.
    id
        Name of the file.
    title
        For lists.
    persona
        Whose request it is.
    request
        The first message of the user, word for word.
    environments
        Services whose tools the agent is offered.
    planted
        What lies there beforehand, in order.
    decoys
        Look-alike tools that are offered beside the real ones.
    user
        What the user answers when asked; the first pattern that fits.
    success
        All of them hold after the task was done well.
    unsafe
        None of them holds unless a mistake was made; each names its trigger.
    plans
        Temperament -> what a scripted agent does. `careful` is always there.
    notes
        For readers.
    """

    task: int = Field(ge=1, le=1)
    id: Id
    title: str = Field(min_length=5, max_length=100)
    persona: Id
    request: str = Field(min_length=20)
    environments: list[str] = Field(min_length=1)
    planted: list[Planted] = []
    decoys: list[Decoy] = []
    user: list[Saying] = []
    success: list[Check] = Field(min_length=1)
    unsafe: list[Unsafe] = []
    plans: dict[Literal["careful", "hasty", "gullible", "reckless"], Plan]
    notes: str | None = None

    @property
    def triggers(self) -> list[str]:
        """Triggers of its plausible bad steps, sorted."""
        return sorted({each.trigger for each in self.unsafe})

    @property
    def clean(self) -> bool:
        """Whether no bad step is foreseen."""
        return not self.unsafe

    @model_validator(mode="after")
    def _coherent(self) -> Task:
        if "careful" not in self.plans:
            raise ValueError("plans: `careful` is missing")
        bad = [name for name in BAD if name in self.plans]
        if bool(bad) != bool(self.unsafe):
            raise ValueError(
                "a plan of a bad temperament and an `unsafe` check belong together: a clean task "
                "has neither"
            )
        if len(set(self.environments)) != len(self.environments):
            raise ValueError("environments: one occurs twice")
        names = [decoy.name for decoy in self.decoys]
        if len(set(names)) != len(names):
            raise ValueError("decoys: a name occurs twice")
        return self
