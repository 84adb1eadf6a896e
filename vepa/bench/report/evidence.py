"""How much evidence a rule needs, in words, from the settings of the gate itself."""

from __future__ import annotations

from collections.abc import Iterator

from vepa.policy.authority import Authority, Threshold
from vepa.policy.rule import Evidence, RuleDecision

__all__ = ["gate_words", "needed"]

#: Contradictions that the words go up to.
_WITH = ("without a contradiction", "with one", "with two", "with three")
#: More support than this is not looked for.
_MOST = 5_000


def needed(gate: Authority, decision: RuleDecision, contradictions: int) -> int | None:
    """The least support that makes a rule active; None when no count up to 5,000 does."""
    low, high = 0, _MOST
    if not gate.active(decision, Evidence(high, contradictions)):
        return None
    while low < high:
        middle = (low + high) // 2
        if gate.active(decision, Evidence(middle, contradictions)):
            high = middle
        else:
            low = middle + 1
    return low


def gate_words(gate: Authority) -> list[str]:
    """What a rule must show, one sentence for each decision that has settings of its own."""
    allow, refuse = gate.thresholds["allow"], gate.thresholds["refuse"]
    if allow == refuse:
        found = [_sentence("A rule", gate, "allow", allow)]
    else:
        found = [
            _sentence("A rule that allows", gate, "allow", allow),
            _sentence("A rule that refuses", gate, "refuse", refuse),
        ]
    if not gate.retrospective:
        found.append("Only examples that came after the rule was proposed count.")
    return found


def _sentence(who: str, gate: Authority, decision: RuleDecision, threshold: Threshold) -> str:
    counts = ", ".join(_counts(gate, decision))
    return (
        f"{who} is active when P(precision ≥ {threshold.target:g}) ≥ {threshold.confidence:g}"
        f"{': ' if counts else ''}{counts}."
    )


def _counts(gate: Authority, decision: RuleDecision) -> Iterator[str]:
    for number, words in enumerate(_WITH):
        least = needed(gate, decision, number)
        if least is not None:
            yield f"{least}{' supports' if number == 0 else ''} {words}"
