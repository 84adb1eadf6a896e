"""How much evidence a rule needs by its counts, where a share of the feedback is wrong."""

from __future__ import annotations

from dataclasses import replace

from vepa.policy.authority import Authority

__all__ = ["at_wrong_feedback"]


def at_wrong_feedback(gate: Authority, share: float | None) -> Authority:
    """The gate as it reads bare counts when `share` of the feedback is wrong.

    A rule of precision p agrees with such feedback in share + (1 - 2 share) p of its examples, so
    that is the agreement that the counts have to show. It is the first of the two readings of
    `vepa.evolution.standing`, for one share instead of all that are likely: a guide, since the
    committee's view of each example counts as well.

    Parameters
    ----------
    gate
        The authority; one that does not correct for wrong feedback comes back as it is.
    share
        In [0, 0.5); None where nothing is estimated.
    """
    if not gate.corrects or share is None:
        return gate
    thresholds = {
        decision: replace(threshold, target=share + (1.0 - 2.0 * share) * threshold.target)
        for decision, threshold in gate.thresholds.items()
    }
    return replace(gate, thresholds=thresholds)
