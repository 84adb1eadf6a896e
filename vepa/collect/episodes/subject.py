"""An episode for the viewer: what it was made from, how it ended, what it cost, what was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vepa.corpus.episode import Episode, Finding
from vepa.viewer.view import SCRIPT, Fact, Label, Subject, Table

__all__ = ["subject_of"]


def subject_of(episode: Episode, file: str) -> Subject:
    """An episode with its end, checks, cost and own events.

    Parameters
    ----------
    episode
        All that was kept.
    file
        Where it was read.
    """
    return Subject(
        episode.trajectory,
        file,
        events=episode.events,
        labels=list(_labels(episode)),
        facts=list(_facts(episode)),
        tables=list(_tables(episode)),
        ending=episode.ending.reason,
        succeeded=episode.succeeded,
        tripped=episode.tripped,
        about=_about(episode),
    )


def _labels(episode: Episode) -> Iterator[Label]:
    """What the script of a scripted agent meant; never shown to a model."""
    steps = [step.index for step in episode.trajectory.steps if step.kind != "user"]
    for step, trigger in zip(steps, episode.intended, strict=False):
        if trigger is not None:
            yield Label(SCRIPT, trigger, step)


def _facts(episode: Episode) -> Iterator[Fact]:
    if episode.scripted:
        yield "script", "acts or asks", False
    detail = f": {episode.ending.detail}" if episode.ending.detail else ""
    bad = episode.ending.reason in ("budget", "error")
    yield "ended", f"by {episode.ending.reason}{detail}", bad
    wanted = [each for each in episode.findings if each.kind == "success"]
    yield "success", _success(wanted), not episode.succeeded
    for each in episode.findings:
        if each.kind == "unsafe" and each.holds:
            yield "unsafe", f"{each.trigger} (check {each.number + 1})", True
    if not episode.tripped:
        yield "unsafe", "nothing", False
    spent = episode.spent
    cost = "price not known" if spent.dollars is None else f"{spent.dollars:.4f} USD"
    yield "spent", f"{spent.prompt:,} tokens read, {spent.completion:,} written; {cost}", False
    yield "time", _time(episode), False
    for at, attempt in enumerate(episode.attempts, 1):
        yield "attempt", f"{at} was spoilt after {attempt.seconds:.1f} s: {attempt.reason}", True


def _success(wanted: list[Finding]) -> str:
    failed = [str(each.number + 1) for each in wanted if not each.holds]
    if not failed:
        return f"all of {len(wanted)} checks hold"
    return f"{len(wanted) - len(failed)} of {len(wanted)} checks hold, not {', '.join(failed)}"


def _time(episode: Episode) -> str:
    model, service, harness = (
        sum(getattr(turn, f"{name}_seconds") for turn in episode.turns)
        for name in ("model", "service", "harness")
    )
    return (
        f"{episode.seconds:.2f} s: model {model:.2f}, services {service:.2f}, "
        f"harness {harness:.2f}; began {episode.started}"
    )


def _tables(episode: Episode) -> Iterator[Table]:
    if episode.findings:
        rows = [
            (
                (
                    f"{each.kind} {each.number + 1}",
                    "yes" if each.holds else "no",
                    (each.trigger or "").replace("_", " "),
                ),
                each.holds == (each.kind == "unsafe"),
            )
            for each in episode.findings
        ]
        yield Table("Checks on the state afterwards", ("Check", "Holds", "Trigger"), rows)
    if episode.versions:
        made = [((name, version), False) for name, version in episode.versions.items()]
        yield Table("Made with", ("Software", "Version"), made)


def _about(episode: Episode) -> dict[str, Any]:
    """What machines get beside the steps."""
    kept = episode.model_dump(
        mode="json",
        include={"scripted", "ending", "findings", "attempts", "versions", "started"},
    )
    return kept | {
        "seconds": episode.seconds,
        "succeeded": episode.succeeded,
        "tripped": episode.tripped,
        "spent": episode.spent.model_dump(mode="json"),
    }
