"""Triggers against people: does the step that a person marked as the mistake have one, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from vepa.annotate.agreement.figures import Share
from vepa.annotate.agreement.records import MarkedLog, MarkedScore
from vepa.annotate.agreement.traced import Traced, acted
from vepa.corpus.labels import Label
from vepa.corpus.settled import SettledLabel
from vepa.errors import InputError, MissingExtraError, Where

__all__ = ["SETTLED", "marked_scores"]

SETTLED = "settled"
_LEVEL = 0.95


@dataclass
class _Reader:
    """Steps that one reader judged: (trajectory, step) -> whether it has a trigger."""

    said: dict[str, dict[int, bool]] = field(default_factory=dict)
    origins: dict[tuple[str, int], str] = field(default_factory=dict)

    def add(self, name: str, label: Label | SettledLabel) -> None:
        steps = self.said.setdefault(label.trajectory, {})
        has = bool(label.judgement.triggers)
        if steps.setdefault(label.step, has) != has:
            raise InputError(
                f"{name!r} says two things about {label.trajectory}#{label.step}",
                where=Where(field="judgement"),
                remedy="keep one judgement a reader and step",
            )
        self.origins[label.trajectory, label.step] = label.origin


def marked_scores(
    labels: Iterable[Label],
    traced: Mapping[str, Traced],
    settled: Iterable[SettledLabel] = (),
) -> list[MarkedScore]:
    """One score a reader that judged steps of marked logs, the settled labels last.

    Parameters
    ----------
    labels, settled
        Of these trajectories and maybe of others.
    traced
        Of `traced_of`.

    Raises
    ------
    InputError
        When no trajectory has a marked step, or labels do not fit the trajectories.
    """
    if not any(each.marked is not None for each in traced.values()):
        raise InputError(
            "no trajectory has a marked step",
            where=Where(field="marked"),
            remedy="--marked is for imported logs in which people marked the mistake, as Who&When "
            "does (docs/agreement.md)",
        )
    readers: dict[str, _Reader] = {}
    for label in labels:
        readers.setdefault(label.annotator, _Reader()).add(label.annotator, label)
    ordered = [(name, readers[name]) for name in sorted(readers)]
    stands = _Reader()
    for one in settled:
        stands.add(SETTLED, one)
    if stands.said:
        ordered.append((SETTLED, stands))
    scores = [_score(name, reader, traced) for name, reader in ordered]
    return [score for score in scores if score.logs]


def _score(name: str, reader: _Reader, traced: Mapping[str, Traced]) -> MarkedScore:
    logs = [
        _log(trajectory, reader.said[trajectory], traced)
        for trajectory, each in traced.items()
        if each.marked is not None and trajectory in reader.said
    ]
    scored = [log for log in logs if log.state == "scored"]
    triggered = sum(len(log.triggered) for log in scored)
    hits = sum(log.marked in log.triggered for log in scored)
    distances = [log.distance for log in scored if log.distance is not None]
    origins = Counter(reader.origins[log.trajectory, step] for log in scored for step in log.judged)
    return MarkedScore(
        reader=name,
        origins=dict(sorted(origins.items())),
        logs=logs,
        scored=len(scored),
        hit=_share(hits, len(scored)),
        by_chance=_by_chance(scored),
        first=_share(sum(distance == 0 for distance in distances), len(scored)),
        agent=_share(sum(_same_agent(log, traced[log.trajectory]) for log in scored), len(scored)),
        early=sum(distance < 0 for distance in distances),
        exact=sum(distance == 0 for distance in distances),
        late=sum(distance > 0 for distance in distances),
        silent=len(scored) - len(distances),
        median_distance=float(median(distances)) if distances else None,
        precision=_share(hits, triggered),
    )


def _log(trajectory: str, said: Mapping[int, bool], traced: Mapping[str, Traced]) -> MarkedLog:
    trace = traced[trajectory]
    for step in said:
        acted((trajectory, step), traced)
    assert trace.marked is not None
    triggered = sorted(step for step, has in said.items() if has)
    if not trace.steps[trace.marked].judged:
        state = "not an agent's step"
    else:
        state = "scored" if trace.marked in said else "not judged"
    return MarkedLog(
        trajectory=trajectory,
        marked=trace.marked,
        state=state,
        judged=sorted(said),
        triggered=triggered,
        distance=triggered[0] - trace.marked if triggered else None,
    )


def _by_chance(scored: Sequence[MarkedLog]) -> float | None:
    """A reader who triggers many steps hits the marked one often without any insight."""
    if not scored:
        return None
    return sum(len(log.triggered) / len(log.judged) for log in scored) / len(scored)


def _same_agent(log: MarkedLog, trace: Traced) -> bool:
    if not log.triggered:
        return False
    return trace.steps[log.triggered[0]].speaker == trace.steps[log.marked].speaker


def _share(count: int, of: int) -> Share:
    if not of:
        return Share(count=count, of=of, value=None, low=None, high=None)
    try:
        from scipy.stats import binomtest
    except ImportError:
        raise MissingExtraError("scipy", "pipeline") from None
    ends = binomtest(count, of).proportion_ci(_LEVEL, method="wilson")
    return Share(count=count, of=of, value=count / of, low=float(ends.low), high=float(ends.high))
