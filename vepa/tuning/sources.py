"""Where examples come from: a release of the corpus, or benchmark traces with typed events.

A `Case` is one thing to learn: what was seen, its event, its verdict. What is seen comes from
`pieces_of`, which hands out neither id, label, mark nor annotation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vepa.corpus.events import EventRecord, stream_events
from vepa.corpus.importing import Import
from vepa.corpus.labels import Judgement
from vepa.corpus.settled import SettledLabel, stream_settled
from vepa.corpus.trajectory import Trajectory, stream_trajectories
from vepa.errors import InputError, Where
from vepa.parsing.llm.pieces import Piece, pieces_of
from vepa.policy.schema import Schema
from vepa.release.layout import MANIFEST, jsonl_path, read_manifest
from vepa.release.records import SPLITS, Split

__all__ = ["Case", "benchmark_cases", "is_release", "release_cases"]


@dataclass(frozen=True)
class Case:
    """One thing to learn.

    Attributes
    ----------
    id
        Of the event.
    piece
        What is seen, and nothing else.
    event
        Its typed event, where there is one.
    decision
        `allow` or `refuse`, where it is known.
    judgement
        What readers of the taxonomy said; None for a benchmark's verdict.
    trajectory
        All of it; groups are made from it, an example never.
    split, group
        As the release has them; None where they are still to be found.
    held_out
        Whether it may only be scored on: its makers ask for evaluation only.
    """

    id: str
    piece: Piece
    event: EventRecord | None
    decision: str | None
    judgement: Judgement | None
    trajectory: Trajectory
    split: Split | None = None
    group: str | None = None
    held_out: bool = False


def is_release(path: str | Path) -> bool:
    """Whether a path is the folder of a release."""
    return (Path(path) / MANIFEST).is_file()


def release_cases(folder: str | Path, schema: Schema) -> Iterator[Case]:
    """The judged steps of a release, in its order and its splits.

    Parameters
    ----------
    folder
        Of the release.
    schema
        The event schema.

    Raises
    ------
    InputError
        When it is no release, or a file of it cannot be read.
    """
    read_manifest(folder)
    for split in SPLITS:
        settled = {
            (label.trajectory, label.step): label
            for label in stream_settled(_table(folder, "settled", split))
        }
        events = _events(_table(folder, "events_step", split), schema)
        for trajectory in stream_trajectories(_table(folder, "trajectories", split)):
            group = str(trajectory.meta.get("release", {}).get("group") or trajectory.id)
            for piece in pieces_of(trajectory, "step"):
                label = settled.get((trajectory.id, int(piece.meta["step"])))
                if label is not None:
                    yield _step(piece, events.get(piece.id), label, trajectory, split, group)


def benchmark_cases(
    traces: Sequence[str],
    events: Sequence[str],
    schema: Schema,
    *,
    evaluation_only: frozenset[str],
) -> Iterator[Case]:
    """Whole traces with their typed events and the verdicts of the benchmark.

    Parameters
    ----------
    traces
        Files, folders or archives in any format that `vepa import` reads.
    events
        Files of typed events, found by the trace's id.
    schema
        The event schema.
    evaluation_only
        Formats whose traces may only be scored on.

    Raises
    ------
    InputError
        When a file cannot be read, or no trace has an event.
    """
    known: dict[str, EventRecord] = {}
    for file in events:
        known.update(_events(Path(file), schema))
    used: set[bytes] = set()
    matched = 0
    for path in traces:
        for trajectory in Import(path, strict=True, ids=used):
            event = known.get(trajectory.id)
            matched += event is not None
            (piece,) = pieces_of(trajectory, "trajectory")
            yield Case(
                id=trajectory.id,
                piece=piece,
                event=event,
                decision=trajectory.label,
                judgement=None,
                trajectory=trajectory,
                held_out=trajectory.format in evaluation_only,
            )
    if events and not matched:
        raise InputError(
            "no trace has an event: no id stands in both",
            where=Where(", ".join(events)),
            remedy="an event's id is the trace's, such as assebench-security/90; `vepa import` "
            "prints the ids that it gives",
        )


def _step(
    piece: Piece,
    event: EventRecord | None,
    label: SettledLabel,
    trajectory: Trajectory,
    split: Split,
    group: str,
) -> Case:
    judgement = label.judgement
    return Case(piece.id, piece, event, judgement.decision, judgement, trajectory, split, group)


def _events(path: Path, schema: Schema) -> dict[str, EventRecord]:
    """Events by id; a table of a release may be empty."""
    if not path.stat().st_size:
        return {}
    return {record.id: record for record in stream_events(path, schema)}


def _table(folder: str | Path, table: str, split: Split) -> Path:
    return Path(folder) / jsonl_path(table, split)
