"""One line a thing: JSON objects with texts of strangers in them that nothing can break out of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vepa.evolution.needs import at_wrong_feedback
from vepa.evolution.proposers.base import Rejection, Request
from vepa.evolution.proposers.llm.packets import Clash, Group
from vepa.evolution.scoring import Score
from vepa.llm.spelling import Writer
from vepa.policy.authority import Authority
from vepa.policy.feedback import Feedback
from vepa.policy.patches import Patch
from vepa.policy.rule import Evidence, Rule
from vepa.policy.schema import UNKNOWN, Schema, SchemaField

__all__ = [
    "clash_line",
    "field_line",
    "gate_line",
    "group_line",
    "rejected_line",
    "rule_line",
    "tried_line",
]

#: Contradictions for which the gate's needs are told.
_CONTRADICTIONS = 4
#: Examples that a group names, and rules that match it.
_NAMED, _RULES = 2, 6
#: Bytes of a rationale or a description, and of a finding or an earlier patch.
_TEXT, _LONG = 160, 300
#: What of a finding is told.
_FINDING = ("code", "rules", "field", "witness", "message", "remedy")
_WHOLE = Writer()


def _line(kind: str, **parts: str | None) -> str:
    """One line; the parts are JSON already."""
    told = [f'"{name}":{part}' for name, part in parts.items() if part is not None]
    return "{" + ",".join([f'"line":"{kind}"', *told]) + "}"


def field_line(field: SchemaField) -> str:
    """A field of the schema with its values and, where somebody described them, their meaning."""
    texts = Writer(_TEXT)
    spelled = [*field.values[1:], UNKNOWN]
    if any(field.descriptions.values()):
        about = (" ".join(field.descriptions.get(value, "").split()) for value in spelled)
        told = zip(map(_WHOLE.text, spelled), map(texts.text, about), strict=True)
        values = "{" + ",".join(f"{value}:{text}" for value, text in told) + "}"
    else:
        values = _WHOLE.value(spelled)
    return _line("field", name=_WHOLE.text(field.name), values=values)


def gate_line(gate: Authority, wrong: float | None = None) -> str:
    """What a rule must show by its counts, which examples count, and what counts beside them.

    Parameters
    ----------
    gate
        The authority.
    wrong
        Share of wrong feedback that it estimates; None where it estimates none.
    """
    if wrong is not None:  # to the percent: a hair's breadth makes no other question
        wrong = round(wrong, 2)
    asked = at_wrong_feedback(gate, wrong)
    needs = {
        decision: [asked.needed(decision, against) for against in range(_CONTRADICTIONS)]
        for decision in gate.thresholds
    }
    counts = "all" if gate.retrospective else "later"
    return _line(
        "gate",
        needs=_WHOLE.value(needs),
        counts=_WHOLE.text(counts),
        half="true" if gate.parts else None,
        wrong_feedback=None if wrong is None else f"{wrong:.2f}",
        committee="true" if gate.corrects or gate.vouches else None,
    )


def rule_line(rule: Rule, found: Evidence) -> str:
    """A rule of the parent."""
    return _line(
        "rule",
        id=_WHOLE.text(rule.id),
        decision=_WHOLE.text(rule.decision),
        when=_WHOLE.value(_when(rule)),
        support=str(found.support),
        contradictions=str(found.contradictions),
        rationale=Writer(_TEXT).text(rule.rationale) if rule.rationale else None,
    )


def rejected_line(rejection: Rejection) -> str:
    """A patch that was turned down, and why."""
    told = (Writer(_LONG).value(_finding(item)) for item in rejection.feedback[:3])
    findings = "[" + ",".join(told) + "]"
    if rejection.written:
        return _line("rejected", written=Writer(_LONG).text(rejection.written), findings=findings)
    return _line("rejected", edits=_edits(rejection.patch), findings=findings)


def tried_line(patch: Patch, score: Score) -> str:
    """A patch that was admitted, and what it scored."""
    told = {
        "repaired": round(score.repair, 3),
        "preserved": round(score.preservation, 3),
        "objective": round(score.objective, 3),
    }
    return _line("tried", edits=_edits(patch), scores=_WHOLE.value(told))


def group_line(request: Request, kind: str, group: Group) -> str:
    """Equal examples; the first of them by name where they are to be repaired."""
    matching = _matching(request, group.codes)
    return _line(
        kind,
        label=_WHOLE.text(group.label),
        count=str(len(group.rows)),
        event=_event(request.parent.schema, group.codes),
        rules=_WHOLE.value(matching[:_RULES]),
        more=str(len(matching) - _RULES) if len(matching) > _RULES else None,
        examples=_named(group.rows) if kind == "repair" else None,
    )


def clash_line(request: Request, clash: Clash) -> str:
    """Equal events that carry both labels."""
    numbers = {label: len(rows) for label, rows in clash.rows.items()}
    return _line(
        "clash",
        labels=_WHOLE.value(numbers),
        event=_event(request.parent.schema, clash.codes),
        rules=_WHOLE.value(_matching(request, clash.codes)[:_RULES]),
        examples=_named([rows[0] for rows in clash.rows.values()]),
    )


def _when(rule: Rule) -> dict[str, dict[str, list[str]]]:
    return {name: predicate.to_dict() for name, predicate in rule.when.items()}


def _edits(patch: Patch) -> str:
    return Writer(_LONG).value(
        [
            {
                "operation": edit.operation,
                "targets": list(edit.targets),
                "rules": [
                    {"id": rule.id, "decision": rule.decision, "when": _when(rule)}
                    for rule in edit.rules
                ],
            }
            for edit in patch.edits
        ]
    )


def _finding(item: Feedback) -> dict[str, Any]:
    told: Mapping[str, Any] = item.to_dict()
    return {name: told[name] for name in _FINDING if told[name] not in (None, [], "")}


def _event(schema: Schema, codes: Sequence[int]) -> str:
    """Only the fields that are known; what is left out is `unknown`."""
    event = schema.decode(codes)
    return _WHOLE.value({name: value for name, value in event.items() if value != UNKNOWN})


def _matching(request: Request, codes: Sequence[int]) -> list[str]:
    return [
        rule.id
        for rule in request.parent.rules
        if all(mask >> code & 1 for mask, code in zip(rule.masks, codes, strict=True))
    ]


def _named(rows: Sequence[int]) -> str:
    """Examples by their place in the archive: an id may hold anything, a verdict among it."""
    return _WHOLE.value([f"e{row}" for row in rows[:_NAMED]])
