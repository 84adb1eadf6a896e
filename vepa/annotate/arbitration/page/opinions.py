"""What was said about a case, side by side: one's own verdict and what the annotators said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vepa.annotate.arbitration.records import Dispute, Given
from vepa.corpus.labels import Judgement
from vepa.corpus.taxonomy import Taxonomy
from vepa.viewer.signs import visible

__all__ = ["Said", "own_and_others"]


@dataclass(frozen=True, slots=True)
class Said:
    """A judgement for a template.

    Attributes
    ----------
    by, kind
        Who, and what kind of reader; a failure has its reason in `rationale`.
    mark
        Class of the marks of its evidence in the steps.
    decision
        `allow`, `refuse` or nothing.
    triggers
        Titles, the primary one first.
    others
        Name and value of risk source, harm, severity and confidence.
    evidence
        Step and quote.
    rationale, note
        Words.
    """

    by: str
    kind: str
    mark: str
    decision: str = ""
    triggers: Sequence[str] = ()
    others: Sequence[tuple[str, str]] = ()
    evidence: Sequence[tuple[int, str]] = ()
    rationale: str = ""
    note: str = ""


def own_and_others(given: Given, dispute: Dispute | None, taxonomy: Taxonomy) -> list[Said]:
    """What was said about a case, one's own verdict first.

    Parameters
    ----------
    given
        One's own verdict.
    dispute
        What the annotators said, where that may be shown.
    taxonomy
        Tells the titles.
    """
    titles = {trigger.key: trigger.title for trigger in taxonomy.triggers}
    own = given.verdict
    said = [_said("You", "", "own", own.judgement, titles, own.note)]
    if dispute is None:
        return said
    for at, label in enumerate(dispute.labels):
        kind = label.origin if label.model is None else f"{label.origin}: {label.model}"
        mark = f"other-{min(at, 1)}"
        said.append(
            _said(f"Reader {label.annotator}", kind, mark, label.judgement, titles, label.note)
        )
    said += [
        Said(
            by=visible(f"Reader {failure.annotator}"),
            kind="failure",
            mark="",
            rationale=visible(failure.reason),
        )
        for failure in dispute.failures
    ]
    return said


def _said(
    by: str, kind: str, mark: str, judgement: Judgement, titles: dict[str, str], note: str | None
) -> Said:
    others = [
        ("risk source", judgement.risk_source),
        ("harm", judgement.harm),
        ("severity", judgement.severity),
        ("confidence", f"{judgement.confidence:.0%}"),
    ]
    return Said(
        by=visible(by),
        kind=visible(kind),
        mark=mark,
        decision=judgement.decision,
        triggers=[visible(titles.get(key, key)) for key in judgement.triggers],
        others=[(name, visible(value.replace("_", " "))) for name, value in others if value],
        evidence=[(each.step, visible(each.quote)) for each in judgement.evidence],
        rationale=visible(judgement.rationale),
        note=visible(note or ""),
    )
