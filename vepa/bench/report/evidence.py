"""How much evidence a rule needs, in words, from the settings of the gate itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

from vepa.evolution.needs import at_wrong_feedback
from vepa.evolution.standing import VOUCHED
from vepa.policy.authority import ERROR, Authority, Threshold, log_wealth, posterior
from vepa.policy.rule import Evidence, RuleDecision

__all__ = ["gate_words", "needed", "weighed"]

#: Contradictions that the words go up to.
_WITH = ("without a contradiction", "with one", "with two", "with three")
#: More support than this is not looked for.
_MOST = 5_000
#: What the stake of `anytime` must be multiplied by.
_WIN = 1.0 / ERROR


def needed(
    gate: Authority, decision: RuleDecision, contradictions: int, wrong: float | None = None
) -> int | None:
    """The least support that makes a rule active by its counts; None when none up to 5,000 does.

    Parameters
    ----------
    gate
        The authority.
    decision
        Of the rule.
    contradictions
        Against it.
    wrong
        Estimated share of wrong feedback; counts for a gate that corrects for it.
    """
    gate = at_wrong_feedback(gate, wrong)
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


def gate_words(gate: Authority, wrong: float | None = None) -> list[str]:
    """What a rule must show, one sentence for each decision that has settings of its own.

    Parameters
    ----------
    gate
        The authority.
    wrong
        Share of wrong feedback that it estimates; None where it estimates none, or not yet.
    """
    allow, refuse = gate.thresholds["allow"], gate.thresholds["refuse"]
    found = []
    if gate.corrects and wrong is not None:
        found.append(f"About {_percent(wrong)} of the feedback is wrong, by this run's estimate.")
    if allow == refuse:
        found.append(_sentence("A rule", gate, "allow", allow, wrong))
    else:
        found.append(_sentence("A rule that allows", gate, "allow", allow, wrong))
        found.append(_sentence("A rule that refuses", gate, "refuse", refuse, wrong))
    return found + list(_beside(gate))


def weighed(gate: Authority, decision: RuleDecision, found: Evidence) -> tuple[float, float, str]:
    """A rule's evidence as its gate weighs it.

    Returns
    -------
    reached, asked, words
        How far it has come and where it becomes active, both in [0, 1]; and the same in words.
    """
    threshold = gate.thresholds[decision]
    if _bets(gate):
        wealth = log_wealth(found.support, found.contradictions, threshold.target)
        reached = min(max(wealth / math.log(_WIN), 0.0), 1.0)
        return reached, 1.0, f"stake × {math.exp(wealth):.3g}; active from × {_WIN:g} on"
    reached = (
        posterior(found.support, found.contradictions, threshold.target, threshold.prior)
        if found.probability is None
        else found.probability
    )
    return reached, threshold.confidence, f"{_claim(gate, threshold)} = {reached:.3f}"


def _sentence(
    who: str, gate: Authority, decision: RuleDecision, threshold: Threshold, wrong: float | None
) -> str:
    counts = ", ".join(_counts(gate, decision, wrong))
    if _bets(gate):
        test = (
            f"a bet that it is right in more than {_percent(threshold.target)} of its cases has "
            f"multiplied its stake by {_WIN:g}"
        )
    else:
        test = f"{_claim(gate, threshold)} ≥ {threshold.confidence:g}"
    if not gate.corrects:
        return f"{who} is active when {test}{': ' if counts else ''}{counts}."
    if not counts:
        return f"{who} is active when {test}."
    share = "if all feedback were right" if wrong is None else "at that share"
    return f"{who} is active when {test}; {share}, that takes {counts}."


def _claim(gate: Authority, threshold: Threshold) -> str:
    labels = " on true labels" if gate.corrects else ""
    return f"P(precision{labels} ≥ {threshold.target:g})"


def _beside(gate: Authority) -> Iterator[str]:
    """What else a mode takes into account."""
    if gate.corrects:
        yield (
            "The counts are a guide: a committee of learners says how likely each example's label "
            "is right, and its view counts too, the more the more examples a rule covers."
        )
    if gate.vouches:
        yield (
            "A committee of learners may vouch for a rule: its view counts like up to "
            f"{VOUCHED:g} examples more, and never like more than feedback has shown."
        )
    if _bets(gate):
        yield (
            "However often one looks, a rule that is no better than that ever becomes active with "
            f"a chance of {_percent(ERROR)} at most."
        )
    if gate.parts:
        yield "Only the half of the examples that the search for rules did not look at counts."
    if not gate.retrospective:
        yield "Only examples that came after the rule was proposed count."


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def _bets(gate: Authority) -> bool:
    return "anytime" in gate.name.split("+")


def _counts(gate: Authority, decision: RuleDecision, wrong: float | None) -> Iterator[str]:
    for number, words in enumerate(_WITH):
        least = needed(gate, decision, number, wrong)
        if least is not None:
            yield f"{least}{' supports' if number == 0 else ''} {words}"
