"""A case as it leaves the queue, and as text for tools that know nothing of trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vepa.annotate.arbitration.context import surroundings
from vepa.annotate.arbitration.records import Case, Dispute
from vepa.corpus.labels import Judgement, Label
from vepa.corpus.trajectory import Step, Trajectory
from vepa.errors import InputError, Where
from vepa.files import canonical_json
from vepa.parsing.llm.lines import offered_tools

__all__ = [
    "CASE_SHAPE",
    "CASE_VERSION",
    "CaseLine",
    "StepText",
    "about_case",
    "quoted",
    "step_texts",
]

CASE_VERSION = 1
CASE_SHAPE = (
    'a case is {"schema_version": 1, "item", "step", "taxonomy", "shown": {…}, "judgement"?: {…}, '
    '"who"?, "at"?, "note"?}'
)


class CaseLine(BaseModel):
    """One line of a JSON Lines file of cases.

    Attributes
    ----------
    item, step, shown
        As in `Case`; verdicts that come back may leave out `step` and `shown`.
    taxonomy
        `ID/VERSION`.
    opinions
        What the annotators said; left out in a blind export.
    judgement, who, at, note
        A verdict: what, by whom, when (ISO 8601 with a zone), and a word beside it.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[1] = 1
    item: str = Field(min_length=1)
    step: int | None = Field(default=None, ge=0)
    taxonomy: str | None = None
    shown: Trajectory | None = None
    opinions: list[dict[str, Any]] = []
    judgement: Judgement | None = None
    who: str | None = None
    at: str | None = None
    note: str | None = None

    @classmethod
    def of(
        cls, dispute: Dispute, taxonomy: str, *, opinions: bool, verdict: Label | None
    ) -> CaseLine:
        """The line of a dispute."""
        given: dict[str, Any] = {}
        if verdict is not None:
            given = {
                "judgement": verdict.judgement,
                "who": verdict.annotator,
                "at": verdict.at,
                "note": verdict.note,
            }
        return cls(
            item=dispute.item,
            step=dispute.step,
            taxonomy=taxonomy,
            shown=dispute.shown,
            opinions=opinions_of(dispute) if opinions else [],
            **given,
        )


@dataclass(frozen=True)
class StepText:
    """A step as plain text.

    Attributes
    ----------
    index
        Of the step.
    head
        Number, who speaks or what is called, and whether it is the judged one.
    text
        What stands in it, each part as the trace has it, so that quotes of it can be found again.
    """

    index: int
    head: str
    text: str


def step_texts(case: Case | Dispute) -> list[StepText]:
    """The steps of a case, the judged one last."""
    return [_step_text(step, step.index == case.step) for step in case.shown.steps]


def quoted(case: Case | Dispute, step: int, start: int, end: int) -> tuple[int, str]:
    """Step and words of a part of its text.

    Raises
    ------
    InputError
        When the text has no such part.
    """
    texts = step_texts(case)
    if step >= len(texts) or not 0 <= start < end <= len(texts[step].text):
        raise InputError(
            f"step {step} has no signs {start} to {end}",
            where=Where(field="evidence"),
            remedy="mark the words again",
        )
    return step, texts[step].text[start:end]


def about_case(case: Case | Dispute) -> str:
    """What was known before the first step: the operator's words, addresses, tools."""
    return "\n".join(_about(case.shown))


def opinions_of(dispute: Dispute) -> list[dict[str, Any]]:
    """What the annotators said, as data."""
    said: list[dict[str, Any]] = [
        {
            "annotator": label.annotator,
            "origin": label.origin,
            "judgement": label.judgement.model_dump(mode="json", exclude_defaults=True),
        }
        for label in dispute.labels
    ]
    said += [{"annotator": each.annotator, "failure": each.reason} for each in dispute.failures]
    return said


def opinions_text(dispute: Dispute) -> str:
    """The same as text."""
    lines = []
    for label in dispute.labels:
        judgement = label.judgement
        parts = [judgement.decision, *judgement.triggers]
        lines.append(f"{label.annotator}: {', '.join(parts)}. {judgement.rationale}")
    lines += [f"{each.annotator}: no judgement ({each.reason})" for each in dispute.failures]
    return "\n".join(lines)


def _step_text(step: Step, judged: bool) -> StepText:
    call = step.call
    who = f"{step.kind} {call.tool}" if call is not None else step.kind
    head = f"{step.index} {who}{f' by {step.speaker}' if step.speaker else ''}"
    return StepText(step.index, f"▶ {head}" if judged else head, "\n".join(_parts(step)))


def _parts(step: Step) -> Iterator[str]:
    if step.thought:
        yield f"thinks: {step.thought}"
    if step.text is not None:
        yield step.text
    if step.call is not None:
        for name, value in step.call.arguments.items():
            yield f"{name}: {value if isinstance(value, str) else canonical_json(value)}"
        if step.call.text is not None:
            yield step.call.text
        yield from _result(step)


def _result(step: Step) -> Iterator[str]:
    if step.result is None:
        yield "→ no result was shown"
        return
    error = f" {step.result.error}" if step.result.error else ""
    yield f"→ {'ok' if step.result.ok else 'failed'}{error}"
    yield step.result.content


def _about(shown: Trajectory) -> Iterator[str]:
    if shown.system:
        yield f"Operator: {shown.system}"
    yield from (f"{name}: {value}" for name, value in surroundings(shown.premises))
    for tool in offered_tools(shown):
        yield f"Tool {tool.name}: {tool.description or ''}"
