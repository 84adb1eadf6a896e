"""Verdicts of a policy over a batch, with or without a verifier, and how sure they are."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from vepa.policy.matching import ABSTAIN, REFUSE, CompiledPolicy
from vepa.policy.policy import Policy

__all__ = ["Verify", "confidence", "decide"]

Codes = npt.NDArray[np.int8]
#: `on`: the verifier admits every policy. Otherwise it is off (an ablation), and an event that
#: rules of both decisions match is answered like this.
Verify = Literal["on", "abstain", "refuse"]


def decide(policy: Policy, columns: Codes, *, verify: Verify = "on") -> Codes:
    """What the active rules say about a batch.

    Parameters
    ----------
    policy
        The policy; conflict-free when `verify` is `on`.
    columns
        Codes, shape (fields, events), int8.
    verify
        What an event gets that both decisions match.
    """
    if verify == "on":
        return CompiledPolicy(policy).decide_columns(columns)
    allowed = _matched(policy, "allow", columns)
    refused = _matched(policy, "refuse", columns)
    both = np.int8(ABSTAIN if verify == "abstain" else REFUSE)
    verdicts = np.where(refused, np.int8(REFUSE), np.where(allowed, np.int8(0), np.int8(ABSTAIN)))
    return np.where(allowed & refused, both, verdicts).astype(np.int8)


def confidence(policy: Policy, codes: Codes) -> npt.NDArray[np.float64]:
    """How sure the active rules are of each event: the best posterior mean (1 + s) / (2 + s + c).

    Parameters
    ----------
    policy
        The policy; a rule without evidence counts as one of the prior, 1/2.
    codes
        Codes, shape (events, fields), int8.

    Returns
    -------
    ndarray of float64, shape (events,)
        0 where the policy abstains.
    """
    sure = np.zeros(len(codes))
    for rule in policy.active:
        found = rule.evidence
        support, against = (found.support, found.contradictions) if found else (0, 0)
        admitted = np.ones(len(codes), dtype=np.bool_)
        for at, (mask, domain) in enumerate(zip(rule.masks, policy.schema.fields, strict=True)):
            if mask != domain.full:
                admits = [bool(mask >> code & 1) for code in range(len(domain.values))]
                admitted &= np.array(admits)[codes[:, at]]
        sure[admitted] = np.maximum(sure[admitted], (1 + support) / (2 + support + against))
    return sure


def _matched(policy: Policy, decision: str, columns: Codes) -> npt.NDArray[np.bool_]:
    rules = (rule for rule in policy.rules if rule.decision == decision)
    found = CompiledPolicy(policy.with_rules(rules)).decide_columns(columns)
    matched: npt.NDArray[np.bool_] = found != ABSTAIN
    return matched
