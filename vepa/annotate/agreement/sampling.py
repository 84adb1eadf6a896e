"""Bootstrap over whole episodes: steps of one episode say much the same, so they come together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.annotate.agreement.figures import Estimate
from vepa.corpus.ordering import natural_key

__all__ = ["Floats", "Resampling", "estimate"]

Floats = npt.NDArray[np.float64]
#: Ends of the interval, in percent.
_ENDS = (2.5, 97.5)
_SAME = 1e-12


@dataclass(frozen=True)
class Resampling:
    """How often each episode is drawn in each resample.

    Attributes
    ----------
    episodes
        Ids, in natural order.
    weights
        Shape (resamples, episodes); a row sums to the number of episodes.
    """

    episodes: Sequence[str]
    weights: Floats

    @classmethod
    def drawn(cls, episodes: set[str], resamples: int, seed: int) -> Resampling:
        """Draw from these episodes; the same episodes and seed give the same resamples."""
        ordered = sorted(episodes, key=natural_key)
        count = len(ordered)
        # With one episode every resample is the sample: an interval of width zero would be a lie.
        if count < 2:
            return cls(ordered, np.empty((0, count)))
        drawn = np.random.default_rng(seed).multinomial(
            count, np.full(count, 1 / count), size=resamples
        )
        return cls(ordered, drawn.astype(np.float64))

    def position(self, episodes: Sequence[str]) -> npt.NDArray[np.intp]:
        """Place of each of these episodes among those that are drawn."""
        places = {episode: at for at, episode in enumerate(self.episodes)}
        return np.array([places[episode] for episode in episodes], dtype=np.intp)

    def sums(self, values: npt.NDArray[Any], position: npt.NDArray[np.intp]) -> Floats:
        """Sums of values of items, resampled.

        Parameters
        ----------
        values
            Shape (items, …).
        position
            Of each item's episode, shape (items,).

        Returns
        -------
        Shape (resamples, …).
        """
        shape = values.shape[1:]
        whole = np.zeros((len(self.episodes), *shape))
        np.add.at(whole, position, values)
        return np.tensordot(self.weights, whole, axes=1)


def estimate(value: float | None, resampled: Floats, reason: str | None = None) -> Estimate:
    """A figure with the interval of its resamples.

    Parameters
    ----------
    value
        Of the sample itself; None where it is not defined.
    resampled
        Shape (resamples,); not a number where it is not defined.
    reason
        Why `value` is None.
    """
    if value is None:
        return Estimate(value=None, reason=reason or "not defined")
    if not len(resampled):
        return Estimate(value=value, reason="no interval: all items come from one episode")
    defined = resampled[np.isfinite(resampled)]
    undefined = len(resampled) - len(defined)
    if 2 * undefined > len(resampled):
        return Estimate(
            value=value,
            undefined=undefined,
            reason="no interval: in most resamples the figure is not defined",
        )
    if np.ptp(defined) < _SAME:
        return Estimate(
            value=value,
            undefined=undefined,
            # Where nobody disagrees, no resample shows how much they might have.
            reason="no interval: resamples do not vary",
        )
    low, high = np.percentile(defined, _ENDS)
    return Estimate(value=value, low=float(low), high=float(high), undefined=undefined)
