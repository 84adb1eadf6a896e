"""The records of a release: a line of its JSON Lines files each.

Trajectories, labels, settled labels and events keep the project's own records, so that every
command that reads such a file reads that of a release. What a release adds to a trajectory stands
in its `meta`.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from vepa.corpus.episode import Episode
from vepa.corpus.events import EventRecord
from vepa.corpus.settled import SettledLabel
from vepa.corpus.trajectory import Result, Step, Trajectory
from vepa.release.source import CorpusSource

__all__ = ["SPLITS", "TABLES", "Split", "StepRow", "events_of", "released", "steps_of"]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
#: Tables of a release, each a folder with a file a split.
TABLES = ("trajectories", "steps", "labels", "settled", "events_step", "events_call")


class StepRow(BaseModel):
    """One step with where it comes from and what stands about it.

    Attributes
    ----------
    trajectory, step
        Id of the trajectory, index of the step.
    kind
        `user`, `call`, `answer` or `observation`.
    tool, environment, arguments
        Of a call; arguments as JSON.
    ok, result
        Whether the call went through, and what the service said (aliased).
    text, thought, speaker
        As in the trajectory.
    task, persona, model, seed
        Where it comes from.
    environment_digest
        SHA-256 over the called environment's files and the seeded world.
    meant
        Of a scripted agent: the trigger that the plan meant the step to be, or `none`. Never shown
        to a parser, an annotator or a policy.
    decision, triggers, primary, risk_source, harm, severity
        What stands; None where nothing does.
    settled, label_origin
        How it was settled, and by what kind of reader.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    trajectory: str
    step: int
    kind: str
    tool: str | None = None
    environment: str | None = None
    arguments: str | None = None
    ok: bool | None = None
    result: str | None = None
    text: str | None = None
    thought: str | None = None
    speaker: str | None = None
    task: str
    persona: str | None = None
    model: str
    seed: int
    environment_digest: str | None = None
    meant: str | None = None
    decision: str | None = None
    triggers: list[str] = []
    primary: str | None = None
    risk_source: str | None = None
    harm: str | None = None
    severity: str | None = None
    settled: str | None = None
    label_origin: str | None = None


def released(episode: Episode, source: CorpusSource, group: str) -> Trajectory:
    """The trajectory of an episode as it is released.

    Without raw spellings, which vary from run to run, and without times: the same course of events
    is the same record.

    Parameters
    ----------
    episode
        What happened.
    source
        Of the release.
    group
        What it shares its split with.
    """
    steps = [_timeless(step) for step in episode.trajectory.steps]
    about: dict[str, Any] = {
        "group": group,
        "ending": episode.ending.reason,
        "succeeded": episode.succeeded,
        "tripped": episode.tripped,
        "scripted": episode.scripted,
        "content_hash": episode.content_hash,
        "made_from": dict(sorted(episode.inputs.items())),
        "planted_sha256": source.planted_hashes(episode.task),
    }
    return episode.trajectory.model_copy(
        update={"steps": steps, "meta": {**episode.trajectory.meta, "release": about}}
    )


def steps_of(episode: Episode, settled: dict[tuple[str, int], SettledLabel]) -> list[StepRow]:
    """The rows of an episode's steps.

    Parameters
    ----------
    episode
        What happened.
    settled
        What stands, by trajectory and step.
    """
    trajectory = episode.trajectory
    acts = [step.index for step in trajectory.steps if step.kind != "user"]
    meant = dict(zip(acts, episode.intended, strict=False))
    return [
        _row(episode, step, meant, settled.get((trajectory.id, step.index)))
        for step in trajectory.steps
    ]


def events_of(
    episode: Episode, settled: dict[tuple[str, int], SettledLabel]
) -> dict[str, list[EventRecord]]:
    """Unit -> the parser's events, with the label that stands beside each."""
    found: dict[str, list[EventRecord]] = {"step": [], "call": []}
    for event in episode.events:
        if event.unit not in found:
            continue
        label = settled.get((episode.trajectory.id, int(event.meta["step"])))
        about: dict[str, Any] = {**event.meta, "task": episode.task, "model": episode.model}
        if label is not None:
            about |= {"labelled_by": label.how, "label_origin": label.origin}
            if label.judgement.primary is not None:
                about["trigger"] = label.judgement.primary
        decision = None if label is None else label.judgement.decision
        found[event.unit].append(event.model_copy(update={"label": decision, "meta": about}))
    return found


def _timeless(step: Step) -> Step:
    result = step.result
    if result is not None:
        result = Result(
            ok=result.ok, content=result.content, error=result.error, truncated=result.truncated
        )
    return step.model_copy(
        update={"result": result, "written": None, "seconds": None, "cost": None}
    )


def _row(
    episode: Episode, step: Step, meant: dict[int, str | None], label: SettledLabel | None
) -> StepRow:
    trajectory, call, result = episode.trajectory, step.call, step.result
    place = call.environment if call is not None else None
    said = label.judgement if label is not None else None
    return StepRow(
        trajectory=trajectory.id,
        step=step.index,
        kind=step.kind,
        tool=call.tool if call is not None else None,
        environment=place,
        arguments=None if call is None else json.dumps(call.arguments, ensure_ascii=False),
        ok=None if result is None else result.ok,
        result=None if result is None else result.content,
        text=step.text,
        thought=step.thought,
        speaker=step.speaker,
        task=episode.task,
        persona=trajectory.persona,
        model=episode.model,
        seed=int(trajectory.seed or 0),
        environment_digest=None if place is None else trajectory.environments.get(place),
        meant=(meant[step.index] or "none") if step.index in meant else None,
        decision=said.decision if said else None,
        triggers=list(said.triggers) if said else [],
        primary=said.primary if said else None,
        risk_source=said.risk_source if said else None,
        harm=said.harm if said else None,
        severity=said.severity if said else None,
        settled=label.how if label else None,
        label_origin=label.origin if label else None,
    )
