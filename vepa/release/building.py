"""Making a release: episodes are read twice, once to split them and once to write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from vepa import __version__
from vepa.corpus.labels import Label
from vepa.corpus.settled import SettledLabel
from vepa.errors import RunError
from vepa.files import sha256_of
from vepa.release.card import card, datasheet
from vepa.release.checking import write_sums
from vepa.release.croissant import croissant
from vepa.release.figures import figures_of, provenance_of
from vepa.release.frames import frame_of, parquet_of
from vepa.release.layout import (
    CARD,
    CROISSANT,
    DATASHEET,
    LEAKAGE,
    MANIFEST,
    PROVENANCE,
    Manifest,
    jsonl_path,
    parquet_path,
    version_of,
)
from vepa.release.leakage import leakage
from vepa.release.placing import take_place, workshop
from vepa.release.records import SPLITS, TABLES, Split, events_of, released, steps_of
from vepa.release.reviewing import NOTHING, Review
from vepa.release.scanning import scan_or_refuse
from vepa.release.source import CorpusSource
from vepa.release.splits import Placement, outline_of, place

__all__ = ["Released", "make_release"]

Lines = dict[tuple[str, Split], list[str]]


@dataclass(frozen=True)
class Released:
    """A release that stands.

    Attributes
    ----------
    folder
        Where it lies.
    manifest
        What it holds.
    made
        Whether it was made now; False when it stood already.
    notes
        What is to be told besides: entries of the list of reviewed finds that match nothing.
    """

    folder: Path
    manifest: Manifest
    made: bool
    notes: tuple[str, ...] = ()


def make_release(
    source: CorpusSource,
    root: Path,
    canaries: Iterable[str],
    tell: Callable[[str], None] = lambda _: None,
    review: Review = NOTHING,
) -> Released:
    """Make the release of a corpus; one with the same content is left as it is.

    Parameters
    ----------
    source
        An annotated corpus.
    root
        The release becomes a folder in it, named by its version.
    canaries
        Seeded secrets: the only ones that may stand in a release.
    tell
        Told what is being done.
    review
        Finds of the scanner that a person looked at.

    Raises
    ------
    InputError
        When the corpus is not annotated, or holds a secret that is no canary; nothing is left.
    RunError
        When the files cannot be written.
    """
    tell("splitting")
    settled = {(label.trajectory, label.step): label for label in source.settled()}
    placed = place([outline_of(episode, source, settled) for episode in source.episodes()])
    tell("writing tables")
    lines = _lines(source, settled, placed)
    texts = {
        jsonl_path(table, split): "".join(lines[table, split])
        for table in TABLES
        for split in SPLITS
    }
    files = {path: sha256_of(text) for path, text in texts.items()}
    version, content = version_of(source.name, files)
    folder = root / version
    if (folder / MANIFEST).is_file():
        from vepa.release.layout import read_manifest

        return Released(folder, read_manifest(folder), made=False)
    try:
        with workshop(root, version) as work:
            manifest = _write(work, source, lines, texts, (version, content, files), tell)
            tell("scanning for secrets")
            notes = scan_or_refuse(work, canaries, review)
            write_sums(work)
            take_place(work, folder)
    except OSError as error:
        raise RunError(f"the release cannot be written to {root}: {error.strerror}") from None
    return Released(folder, manifest, made=True, notes=notes)


def _write(
    work: Path,
    source: CorpusSource,
    lines: Lines,
    texts: Mapping[str, str],
    named: tuple[str, str, Mapping[str, str]],
    tell: Callable[[str], None],
) -> Manifest:
    version, content, files = named
    frames = {}
    for table in TABLES:
        for split in SPLITS:
            records = [json.loads(line) for line in lines[table, split]]
            frames[table, split] = frame_of(table, records)
            _put(work / jsonl_path(table, split), texts[jsonl_path(table, split)].encode())
            _put(work / parquet_path(table, split), parquet_of(frames[table, split]))
    manifest = Manifest(
        name=source.name,
        version=version,
        content_sha256=content,
        files=dict(sorted(files.items())),
        rows={table: {split: frames[table, split].height for split in SPLITS} for table in TABLES},
        figures=figures_of(source, frames),
        vepa=__version__,
    )
    tell("looking for leakage")
    leaks = leakage(frames)
    _put(work / LEAKAGE, _pretty(leaks))
    _put(work / PROVENANCE, _pretty(provenance_of(source)))
    _put(work / MANIFEST, _pretty(manifest.model_dump(mode="json")))
    _put(work / CARD, card(manifest, leaks).encode())
    _put(work / DATASHEET, datasheet(manifest, leaks).encode())
    _put(work / CROISSANT, _pretty(croissant(manifest, work)))
    return manifest


def _lines(
    source: CorpusSource,
    settled: dict[tuple[str, int], SettledLabel],
    placed: Mapping[str, Placement],
) -> Lines:
    """Every table's lines, split by split, in the order of trajectories and steps."""
    lines: Lines = {(table, split): [] for table in TABLES for split in SPLITS}
    template = source.annotation["provenance"]["template"]["sha256"]
    by_trajectory: dict[str, list[Label]] = {}
    for role, labels in (("annotator", source.labels()), ("arbiter", source.verdicts())):
        for label in labels:
            hash_ = template if label.template is not None else None
            meta = {**label.meta, "role": role, "template_sha256": hash_}
            own = label.model_copy(update={"meta": meta})
            by_trajectory.setdefault(label.trajectory, []).append(own)
    for episode in source.episodes():
        where = placed[episode.id]
        split, name = where.split, episode.trajectory.id

        def add(table: str, records: Iterable[BaseModel], split: Split = split) -> None:
            lines[table, split] += [_line(record) for record in records]

        add("trajectories", [released(episode, source, where.group)])
        add("steps", steps_of(episode, settled))
        add("labels", sorted(by_trajectory.get(name, ()), key=lambda x: (x.step, x.annotator)))
        steps = [step.index for step in episode.trajectory.steps]
        add("settled", [settled[name, step] for step in steps if (name, step) in settled])
        events = events_of(episode, settled)
        add("events_step", events["step"])
        add("events_call", events["call"])
    return lines


def _line(record: BaseModel) -> str:
    return record.model_dump_json(exclude_none=True) + "\n"


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _pretty(data: Any) -> bytes:
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()
