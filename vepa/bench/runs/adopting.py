"""Adopting a policy that a person edited: checked, judged by the run's own evidence, kept whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vepa.bench.runs.interventions import (
    Intervention,
    base_folder,
    edit_products,
    latest,
    point,
    with_interventions,
)
from vepa.bench.runs.run import Run, begin, round_stage
from vepa.bench.runs.store import RunStore
from vepa.errors import PolicyError, SettingError, UnitMismatchError, Where
from vepa.files import sha256_of, write_atomic
from vepa.policy.by_hand import not_kept, patch_of
from vepa.policy.document import parse_document
from vepa.policy.patches import check_patch
from vepa.policy.policy import Policy
from vepa.policy.reading import load_policy

__all__ = ["Adoption", "adopt", "rounds_done", "withdraw"]

#: Characters of a name, and of a reason, at most.
_NAME, _REASON = 200, 4_000


@dataclass(frozen=True)
class Adoption:
    """What came of handing in an edited policy.

    Attributes
    ----------
    run
        The run that goes on from it.
    before
        Id of the run whose policy was edited; its products stay as they are.
    intervention
        What was adopted.
    known
        True when the very same file had been adopted there before; nothing was written.
    again
        Rounds that had been made from the policy before, and are made again.
    """

    run: Run
    before: str
    intervention: Intervention
    known: bool
    again: tuple[int, ...]


def rounds_done(run: Run) -> int:
    """How many rounds are done, from the first."""
    done = 0
    while done < run.profile.rounds and run.done(round_stage(done + 1)):
        done += 1
    return done


def adopt(
    run: Run, text: str, file: str, *, by: str, reason: str, when: str, after: int | None = None
) -> Adoption:
    """Let a run go on from a policy that a person edited.

    Parameters
    ----------
    run
        A run that has begun; where edits were adopted before, the run that goes on from them is
        meant.
    text, file
        Content and name of the policy file that is handed in.
    by, reason, when
        Who, why, and the time (ISO 8601).
    after
        The round after which the policy was edited; the last that is done when left out.

    Raises
    ------
    PolicyError
        When the file is no policy, the verifier rejects it (`VerificationError`), or it says what
        stands there anyway.
    UnitMismatchError
        When it is a policy of another unit.
    SettingError
        When the run is not at that round, or a name or a reason is missing.
    """
    _check_words(by, reason)
    base = RunStore(base_folder(run))
    if not base.folder.is_dir():
        raise _not_begun(run)
    with base.locked():
        run = latest(run)
        done = rounds_done(run)
        at = _round(run, done, after)
        again = tuple(range(at + 1, done + 1))
        found = sha256_of(text)
        last = run.interventions[-1] if run.interventions else None
        if last is not None and (last.after, last.record["file"]) == (at, found):
            return Adoption(run, run.id, last, True, ())
        record = {
            "after": at, "by": by, "reason": reason, "when": when, "file": found,
            **_edited(run, text, file, at),
        }  # fmt: skip
        new = Intervention(len(run.interventions) + 1, record)
        going_on = with_interventions(run, (*run.interventions, new))
        _hand_over(run, going_on, at)
        point(going_on)
    return Adoption(going_on, run.id, new, False, again)


def withdraw(run: Run) -> tuple[Run, Intervention]:
    """Take the last intervention back; the run that goes on without it, and what was taken back.

    The run with it keeps its folder.

    Raises
    ------
    SettingError
        When no policy of the run was edited.
    """
    with RunStore(base_folder(run)).locked():
        run = latest(run)
        if not run.interventions:
            raise SettingError(
                f"no policy of {run.id} was edited by a person", remedy="nothing is to be done"
            )
        *kept, last = run.interventions
        before = with_interventions(run, kept)
        point(before)
    return before, last


def _edited(run: Run, text: str, file: str, at: int) -> dict[str, Any]:
    """What a file makes of the policy after a round, by this run's evidence."""
    loop = run.replayed(at)
    parent = loop.current
    edited = load_policy(text, file, parent.schema)
    if edited.unit != parent.unit:
        line = parse_document(text, file, PolicyError).line(("unit",))
        raise UnitMismatchError(
            f"a policy for events of unit {edited.unit!r}; the run is about {parent.unit!r}",
            where=Where(file, line, "unit"),
            remedy=f"write `unit: {parent.unit}`, if its rules are about such events",
        )
    patch = patch_of(parent, edited, at, _said(text, file))
    if not patch.edits:
        raise PolicyError(
            f"nothing was edited: these are the rules after round {at}",
            where=Where(file),
            remedy="add, change or delete rules; `held: true` keeps one inactive. Status, evidence "
            "and provenance are worked out by the run",
        )
    verified = check_patch(parent, patch).unwrap(file)
    policy = loop.archive.judged(verified, run.gate)
    return {
        "parent": parent.policy_hash,
        "policy": policy.policy_hash,
        "document": policy.document_hash,
        "accepted": [patch.to_dict()],
        "standing": _standing(policy),
        "remarks": [remark.to_dict() for remark in not_kept(parent, edited, policy)],
    }


def _standing(policy: Policy) -> dict[str, Any]:
    """As in the record of an update: `rebuild` reads it."""
    return {
        rule.id: {"status": rule.status, **(rule.evidence.to_dict() if rule.evidence else {})}
        for rule in policy.rules
    }


def _said(text: str, file: str) -> dict[str, object]:
    """What a well-formed policy file says of the status of its rules in so many words."""
    rules = parse_document(text, file, PolicyError).data["rules"]
    return {rule["id"]: rule["status"] for rule in rules if rule.get("status") is not None}


def _round(run: Run, done: int, after: int | None) -> int:
    """The round after which a run goes on from an edited policy."""
    rounds = run.profile.rounds
    at = done if after is None else after
    where = Where(field="--after-round")
    if done == 0:
        raise SettingError(
            f"no round of {run.id} is done: there is no policy to edit yet",
            remedy="`vepa run --stop-after-round 1`, then edit the policy",
        )
    if not 1 <= at < rounds or at > done:
        last = min(done, rounds - 1)
        raise SettingError(
            f"{done} of {rounds} rounds of {run.id} are done"
            if after is None or at > done
            else f"a run of {rounds} rounds goes on after round 1 to {rounds - 1}",
            where=where,
            remedy=f"name a round with --after-round, up to {last}; what follows it is made again "
            "in a run of its own"
            if last
            else "a run of one round has no next update; edit a copy of its policy.yaml",
        )
    earlier = [each.after for each in run.interventions]
    if earlier and at < earlier[-1]:
        raise SettingError(
            f"the policy was edited after round {earlier[-1]} already, which would be lost",
            where=where,
            remedy=f"name a round from {earlier[-1]} on, or take that edit back first with "
            "`vepa policy withdraw`",
        )
    return at


def _hand_over(run: Run, going_on: Run, at: int) -> None:
    """Copy what both runs have in common: nothing of it is made twice."""
    stages = [round_stage(number) for number in range(1, at + 1)]
    stages += [each.stage for each in run.interventions]
    stages += [stage for stage in run.needs if stage.startswith("baseline-")]
    store, parent = going_on.store, run.replayed(at).current
    with store.locked():
        for stage in stages:
            record = run.done(stage)
            if record is None or store.record(stage) == record:
                continue
            for product in record.products:
                write_atomic(store.path(product), run.store.path(product).read_bytes())
            told = f"done/{stage}.json"
            write_atomic(store.path(told), run.store.path(told).read_bytes())
        new = going_on.interventions[-1]
        store.finish(
            new.stage, edit_products(new, parent), needs=going_on.needs[new.stage], figures=new.told
        )
    begin(going_on)


def _check_words(by: str, reason: str) -> None:
    for name, text, most in (("--by", by, _NAME), ("--reason", reason, _REASON)):
        if not text.strip() or len(text) > most or not text.isprintable():
            raise SettingError(
                f"one line of 1 to {most:,} characters is expected",
                where=Where(field=name),
                remedy="say who edited the policy, and why: both are kept with it",
            )


def _not_begun(run: Run) -> SettingError:
    return SettingError(
        f"{run.id} has not begun: there is no policy to edit yet",
        remedy="`vepa run --stop-after-round 1`, then edit the policy",
    )
