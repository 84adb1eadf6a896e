"""The round log of the report: every patch that an update tried, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vepa.policy.patches import Patch, apply
from vepa.policy.policy import Policy

__all__ = ["edit_row", "round_log"]

#: Attempts listed of a round at most.
_ATTEMPTS = 100
_STANDING = 0


def round_log(
    policies: Sequence[Policy],
    records: Sequence[Mapping[str, Any]],
    deciding: Sequence[Policy] | None = None,
) -> list[dict[str, Any]]:
    """What every update tried, what the verifier said, and why a patch was taken or not.

    Parameters
    ----------
    policies
        Policy 0 to the last.
    records
        The record of each round's update.
    deciding
        The policy that decided each round, where a person edited one; else that of the round
        before.
    """
    deciding = deciding or policies
    return [
        _entry(number, record, deciding[number - 1], policies[number])
        for number, record in enumerate(records, 1)
    ]


def _entry(number: int, record: Mapping[str, Any], before: Policy, after: Policy) -> dict[str, Any]:
    attempts = record["attempts"]
    front = {entry["candidate"] for entry in record["front"]}
    accepted = record["accepted"]
    repeats = _repeats(attempts, before)
    standing = {"number": _STANDING, "score": record["parent_score"], "verified": True}
    return {
        "number": number,
        "tried": len(attempts),
        "rejected": sum(not attempt["verified"] for attempt in attempts),
        "accepted": len(accepted),
        "archive": len(after),
        "active": len(after.active),
        "notes": record["notes"],
        "standing": {
            **standing,
            "front": _STANDING in front,
            "reason": _reason(standing, record, None),
        },
        "hidden": max(0, len(attempts) - _ATTEMPTS),
        "attempts": [
            {
                "number": attempt["number"],
                "edits": [edit_row(edit) for edit in attempt["patch"]["edits"]],
                "written": attempt.get("written", ""),
                "verified": attempt["verified"],
                "feedback": attempt["feedback"],
                "score": attempt["score"],
                "front": attempt["number"] in front,
                "accepted": attempt["patch"] in accepted,
                "reason": _reason(attempt, record, repeats.get(attempt["number"])),
            }
            for attempt in attempts[:_ATTEMPTS]
        ],
    }


def _reason(attempt: Mapping[str, Any], record: Mapping[str, Any], repeated: int | None) -> str:
    """Why a patch was taken or not; number 0 is the policy that stood before the round."""
    number, picked = attempt["number"], record["picked"]
    if not attempt["verified"]:
        codes = dict.fromkeys(item["code"].replace("_", " ") for item in attempt["feedback"])
        return f"rejected: {', '.join(codes)}"
    if repeated is not None:
        return f"repeats {f'patch {repeated}' if repeated else 'the standing policy'}"
    if number == picked:
        return "picked" if number != _STANDING else "picked: nothing had a higher J"
    scores = {entry["candidate"]: entry["objective"] for entry in record["front"]}
    if number in scores:
        lower = f"{scores[number]:.12g}" != f"{record['score']['objective']:.12g}"
        told = "on the front, lower J" if lower else "on the front, same J, loses the tie"
    else:
        told = "dominated"
    if attempt.get("patch") in record["accepted"]:
        told += f"; patch {picked} was built on it"
    return told


def _repeats(attempts: Sequence[Mapping[str, Any]], before: Policy) -> dict[int, int]:
    """Attempt -> the earlier candidate that has the very same rules."""
    made = {_STANDING: before}
    first = {frozenset(rule.key for rule in before.rules): _STANDING}
    found = {}
    for attempt in attempts:
        if not attempt["verified"]:
            continue
        number = attempt["number"]
        patch = Patch.from_dict(attempt["patch"], before.schema)
        made[number] = apply(made[attempt["base"]], patch)
        earlier = first.setdefault(frozenset(rule.key for rule in made[number].rules), number)
        if earlier != number:
            found[number] = earlier
    return found


def edit_row(edit: Mapping[str, Any]) -> dict[str, Any]:
    """An edit of a patch: its operation, the rules that go and those that come."""
    return {
        "operation": edit["operation"],
        "targets": edit["targets"],
        "rules": [
            {
                "id": rule["id"],
                "decision": rule["decision"],
                "when": [
                    (name, operator.replace("_", " "), values)
                    for name, predicate in rule["when"].items()
                    for operator, values in predicate.items()
                ],
            }
            for rule in edit["rules"]
        ],
    }
