"""What a policy answers to the events of a trajectory, and where it and the labels differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from vepa.corpus.events import EventRecord
from vepa.corpus.trajectory import Trajectory
from vepa.parsing.instrumented import parse_trajectory
from vepa.parsing.sources import Leaf, events_and_sources, sources_of
from vepa.policy.event import UNITS
from vepa.policy.explain import Explanation, explain
from vepa.policy.matching import CompiledPolicy, Verdict
from vepa.policy.policy import Policy
from vepa.policy.schema import Schema, bundled_schema

__all__ = ["DISAGREEMENTS", "Disagreement", "Judge", "Judged"]

Disagreement = Literal["missed", "false alarm"]
#: A refusal that the policy would have allowed, and the other way round; the graver one first.
DISAGREEMENTS: tuple[Disagreement, ...] = ("missed", "false alarm")
#: Units of the events that the instrumented parser tells.
_PARSED = frozenset({"call", "step"})


@dataclass(frozen=True, slots=True)
class Judged:
    """What a policy makes of a whole trajectory.

    Attributes
    ----------
    verdict
        `refuse` when it refuses one of the events, else `allow` when it allows one, else
        `abstain`; None without a policy or an event of its unit.
    rules
        Ids of the rules that fired, in the order of the events.
    disagreement
        How the graver difference between a label and its verdict is called; None where there is
        none. An abstention differs from nothing.
    """

    verdict: Verdict | None = None
    rules: tuple[str, ...] = ()
    disagreement: Disagreement | None = None


class Judge:
    """A policy that answers, or none; either way it knows where events come from.

    Parameters
    ----------
    policy
        A verified policy; none when left out.
    schema
        Of the events where there is no policy; the bundled one when left out.
    """

    def __init__(self, policy: Policy | None = None, schema: Schema | None = None):
        self._compiled = CompiledPolicy(policy) if policy is not None else None
        self.schema: Schema = policy.schema if policy is not None else schema or bundled_schema()
        #: Events repeat, and an explanation walks over every rule.
        self._known: dict[tuple[int, ...], Explanation] = {}
        #: Trajectories that were judged, and those of them with an event for the policy.
        self.asked = self.answered = 0

    @property
    def policy(self) -> Policy | None:
        """The policy that answers."""
        return self._compiled.policy if self._compiled else None

    def events_of(
        self,
        trajectory: Trajectory,
        given: Sequence[EventRecord],
        units: Collection[str] = UNITS,
    ) -> Sequence[EventRecord]:
        """Events of a trajectory: those given, and the instrumented parser's of every other unit.

        Parameters
        ----------
        trajectory
            What happened.
        given
            Its known events. Where there are some, the parser only reads trajectories that know
            their tools: of others it would tell next to nothing.
        units
            Those that are needed; the parser is not asked for others.
        """
        missing = _missing(trajectory, given, units)
        if not missing:
            return given
        parsed = parse_trajectory(trajectory, schema=self.schema)
        return [*given, *(record for record in parsed if record.unit in missing)]

    def events_and_sources(
        self, trajectory: Trajectory, given: Sequence[EventRecord]
    ) -> tuple[Sequence[EventRecord], dict[int, list[Leaf]]]:
        """`events_of` with every unit, and the sources of the arguments, in one reading.

        Parameters
        ----------
        trajectory, given
            As for `events_of`.

        Returns
        -------
        tuple
            The events, and index of a step that is a call -> its leaves.
        """
        missing = _missing(trajectory, given, UNITS)
        if not missing:
            return given, sources_of(trajectory)
        parsed, sources = events_and_sources(trajectory, schema=self.schema)
        return [*given, *(record for record in parsed if record.unit in missing)], sources

    @property
    def units(self) -> frozenset[str]:
        """The unit that the policy is for; none without one."""
        return frozenset() if self._compiled is None else frozenset({self._compiled.unit})

    def why(self, record: EventRecord) -> Explanation | None:
        """The answer to one event; None without a policy of its unit.

        Raises
        ------
        EventError
            When the event does not fit the policy's schema.
        """
        if self._compiled is None or record.unit != self._compiled.unit:
            return None
        event = record.encode(self.schema)
        known = self._known.get(event.codes)
        if known is None:
            known = self._known[event.codes] = explain(self._compiled, event)
        return known

    def judged(self, trajectory: Trajectory, records: Sequence[EventRecord]) -> Judged:
        """The answers to all events of a trajectory together.

        Raises
        ------
        EventError
            When an event does not fit the policy's schema.
        """
        answers = [(record, why) for record in records if (why := self.why(record)) is not None]
        self.asked += 1
        if not answers:
            return Judged()
        self.answered += 1
        verdicts = {why.verdict for _, why in answers}
        verdict: Verdict = (
            "refuse" if "refuse" in verdicts else "allow" if "allow" in verdicts else "abstain"
        )
        rules = dict.fromkeys(rule.id for _, why in answers for rule in why.fired)
        pairs = [(record.label, why.verdict) for record, why in answers]
        found = {_difference(label, said) for label, said in (*pairs, (trajectory.label, verdict))}
        return Judged(verdict, tuple(rules), next((k for k in DISAGREEMENTS if k in found), None))


def _missing(
    trajectory: Trajectory, given: Sequence[EventRecord], units: Collection[str]
) -> frozenset[str]:
    if given and not trajectory.tools:
        return frozenset()
    return _PARSED & set(units) - {record.unit for record in given}


def _difference(label: str | None, verdict: Verdict) -> Disagreement | None:
    if label == "refuse" and verdict == "allow":
        return "missed"
    if label == "allow" and verdict == "refuse":
        return "false alarm"
    return None
