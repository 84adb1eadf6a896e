"""How much of a policy agrees with the true one, over events."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from vepa.corpus.events import EventTable
from vepa.errors import SettingError
from vepa.policy.matching import ABSTAIN, CompiledPolicy
from vepa.policy.policy import Policy

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True)
class Agreement:
    """What a policy says where the true one decides, and where it does not: shares of the events.

    Attributes
    ----------
    agrees
        Both decide, and alike.
    against
        Both decide, and not alike.
    missed
        The true policy decides, this one abstains.
    beyond
        The true policy abstains, this one decides.
    abstains
        Both abstain.
    """

    agrees: float
    against: float
    missed: float
    beyond: float
    abstains: float

    def to_dict(self) -> dict[str, float]:
        """The shares as JSON data; they add up to one."""
        return asdict(self)


def agreement(policy: Policy, truth: Policy, table: EventTable) -> Agreement:
    """Hold the active rules of a policy against those of the true one.

    Parameters
    ----------
    policy, truth
        Verified policies over the schema of the events.
    table
        The events over which shares are taken; their labels play no part.

    Raises
    ------
    SettingError
        When there is no event, or the policies are not over the events' schema.
    """
    if not len(table):
        raise SettingError("no events to compare policies on", remedy="hand in some events")
    if not policy.schema == truth.schema == table.schema:
        raise SettingError(
            "the policies and the events are not of one schema",
            remedy="compare policies that were learned on the schema of the events",
        )
    columns = table.columns
    said = CompiledPolicy(policy).decide_columns(columns)
    true = CompiledPolicy(truth).decide_columns(columns)
    decided, decides = said != ABSTAIN, true != ABSTAIN
    parts = (
        decided & decides & (said == true),
        decided & decides & (said != true),
        ~decided & decides,
        decided & ~decides,
        ~decided & ~decides,
    )
    return Agreement(*(float(np.mean(part)) for part in parts))
