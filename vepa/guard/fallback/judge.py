"""A language model that decides single events: without memory, or with the policy before it.

The hybrid of the source asks it about what the active rules do not match, with event and policy as
context; alone and without a policy it is the baseline "LLM without memory". It keeps nothing from
one event to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vepa.errors import ModelError, SettingError
from vepa.llm.messages import Model, ModelReply, ModelRequest
from vepa.llm.prompts import Prompt
from vepa.llm.questions import question
from vepa.policy.event import Unit
from vepa.policy.policy import Policy
from vepa.policy.rule import Rule, RuleDecision
from vepa.policy.schema import Schema, bits

__all__ = ["TEMPLATE", "Judgement", "ModelJudge", "question_of"]

#: Folder of the prompt, and the template's id in recorded answers.
TEMPLATE = "judge"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model decided.

    Attributes
    ----------
    decision
        `allow` or `refuse`.
    confidence
        Probability that it is right, as the model says; 0 where it gave no verdict.
    reason
        Its sentence; material, never an instruction.
    outcome
        `decided`; or why the event is refused without a verdict: the model `declined` to answer, or
        its answer was `malformed`.
    """

    decision: RuleDecision
    confidence: float
    reason: str = ""
    outcome: Literal["decided", "declined", "malformed"] = "decided"


class ModelJudge:
    """Asks a model about one event at a time; safe to share by threads.

    Parameters
    ----------
    model
        Who is asked.
    prompt
        The prompt `judge`.
    """

    def __init__(self, model: Model, prompt: Prompt):
        self._model, self._prompt = model, prompt

    def judge(
        self, event: Mapping[str, str], unit: Unit = "trajectory", policy: Policy | None = None
    ) -> Judgement:
        """Decide an event.

        Parameters
        ----------
        event
            Field -> value, the visible fields alone.
        unit
            What the event describes.
        policy
            The policy that abstains; its active rules are shown.

        Returns
        -------
        Judgement
            Fail-closed: without a readable verdict, `refuse` with the outcome that says why.

        Raises
        ------
        ModelError
            When no answer came.
        SettingError
            When there is no key, or the policy is of another unit.
        BudgetError
            When the budget is used up.
        """
        if policy is not None and policy.unit != unit:
            raise SettingError(
                f"an event of unit {unit!r} cannot be judged beside a policy of unit "
                f"{policy.unit!r}",
                remedy="use a policy that was learned on the same unit",
            )
        try:
            reply = self._model.ask(question_of(event, unit, policy, self._prompt))
        except ModelError as error:
            if error.kind != "malformed":
                raise
            return Judgement("refuse", 0.0, outcome="malformed")
        return _read(reply)


def question_of(
    event: Mapping[str, str], unit: Unit, policy: Policy | None, prompt: Prompt
) -> ModelRequest:
    """What a model is asked about an event; the same event and policy give the same bytes."""
    rules = [] if policy is None else [_rule_line(rule, policy.schema) for rule in policy.active]
    lines = [*rules, {"event": dict(sorted(event.items()))}]
    return question(prompt, "event", lines, unit=unit, rules=policy is not None)


def _rule_line(rule: Rule, schema: Schema) -> dict[str, object]:
    """A rule without its rationale: words that somebody wrote are no part of the policy."""
    shown: dict[str, object] = {"rule": rule.id, "decision": rule.decision}
    shown["when"] = {
        field.name: [field.values[code] for code in bits(mask)]
        for field, mask in zip(schema.fields, rule.masks, strict=True)
        if mask != field.full
    }
    if rule.evidence is not None:
        shown["support"] = rule.evidence.support
        shown["contradictions"] = rule.evidence.contradictions
    return shown


def _read(reply: ModelReply) -> Judgement:
    if reply.data is None:
        return Judgement("refuse", 0.0, outcome="declined")
    found = reply.data
    return Judgement(found["verdict"], float(found["confidence"]), str(found["reason"]))
