"""Balanced sampling: verdicts and triggers are drawn evenly, and none is drawn to death."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from vepa.tuning.examples import Example

__all__ = ["MOST_OFTEN", "balanced_order", "sampling_weights", "stratum_of"]

#: How much more often than evenly an example of a rare stratum is drawn, at most: a handful of
#: examples that is repeated without end is learned by heart.
MOST_OFTEN = 8.0


def stratum_of(decision: str | None, triggers: Sequence[str]) -> str:
    """Verdict and triggers in one name."""
    return "/".join((decision or "unlabelled", *triggers))


def sampling_weights(strata: Sequence[str]) -> list[float]:
    """Probability of each example, such that verdicts, then triggers within one, are drawn evenly.

    Parameters
    ----------
    strata
        As `stratum_of` names them, one an example.

    Returns
    -------
    list of float
        They sum to 1; none is more than `MOST_OFTEN` times the mean before they are scaled.
    """
    verdicts = Counter(name.partition("/")[0] for name in strata)
    counts = Counter(strata)
    kinds = Counter(name.partition("/")[0] for name in counts)
    mean = 1 / len(strata) if strata else 0.0
    raw = []
    for name in strata:
        verdict = name.partition("/")[0]
        even = 1 / (len(verdicts) * kinds[verdict] * counts[name])
        raw.append(min(even, MOST_OFTEN * mean))
    total = sum(raw)
    return [weight / total for weight in raw]


def balanced_order(examples: Sequence[Example], seed: int) -> Iterator[int]:
    """Positions to train on, without end: every pass draws as many as there are.

    Each pass is systematic sampling over a shuffled order: an example is drawn about as often as
    its weight says, so one of weight 1/n or more in every pass, and no pass is by chance without a
    verdict. The same examples and seed always give the same order.

    Parameters
    ----------
    examples
        Of the train split.
    seed
        Of the shuffles.
    """
    weights = sampling_weights([example.stratum for example in examples])
    random = Random(seed)
    positions = list(range(len(examples)))
    while positions:
        random.shuffle(positions)
        drawn, edge, at = [], random.random() / len(positions), 0.0
        for position in positions:
            at += weights[position]
            while edge < at:
                drawn.append(position)
                edge += 1 / len(positions)
        random.shuffle(drawn)
        yield from drawn
