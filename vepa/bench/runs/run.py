"""A main job with its inputs settled, and the folder that belongs to them.

The id of a run comes from its inputs: settings, seed, events, schema, code and the versions of the
packages that shape its products. So the same inputs find the same folder again, and a stage that
is done there is not made twice.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vepa.bench.prequential import Prequential
from vepa.bench.runs.interventions import (
    Intervention,
    base_folder,
    from_inputs,
    latest,
    with_interventions,
)
from vepa.bench.runs.products import manifest_document
from vepa.bench.runs.profile import Profile, find_events, find_profile, load_profile
from vepa.bench.runs.store import RunStore, StageRecord
from vepa.bench.runs.versions import code_sha256, prompt_version, versions
from vepa.bench.streams import Stream, StreamSettings, join_tables
from vepa.bench.views import stream_in_view
from vepa.corpus.events import read_events
from vepa.errors import RunError
from vepa.evolution.proposers.llm.opening import Desk, spent_by
from vepa.files import canonical_json, read_text, sha256_of, write_atomic
from vepa.policy.authority import Authority
from vepa.policy.policy import Policy
from vepa.policy.reading import load_policy
from vepa.project import Project

__all__ = ["Run", "begin", "file_of", "open_run", "plan", "round_stage", "write_manifest"]


@dataclass(frozen=True)
class Run:
    """A main job with its inputs settled.

    Attributes
    ----------
    name, profile
        The profile and what it is called.
    origin
        The profile as it was asked for: a name, or a path.
    files
        Events files.
    folder
        Where its products go; the folder's name is the run's id.
    stream
        The events in rounds, as the method sees them.
    inputs
        All that the products depend on; the id is made of it.
    place
        The project's folder, where one was named: a model's prompt is looked up there first.
    interventions
        Policies that a person edited, which it goes on from.
    """

    name: str
    profile: Profile
    origin: str
    files: tuple[Path, ...]
    folder: Path
    stream: Stream
    inputs: Mapping[str, Any]
    place: Path | None = None
    interventions: tuple[Intervention, ...] = ()

    @property
    def id(self) -> str:
        """Content-addressed: the same inputs, the same id."""
        return self.folder.name

    @property
    def store(self) -> RunStore:
        """The folder's stages."""
        return RunStore(self.folder)

    @property
    def gate(self) -> Authority:
        """Which rules may decide."""
        return self.profile.gates.authority(self.profile.authority)

    @cached_property
    def needs(self) -> dict[str, tuple[str, ...]]:
        """Every stage, in order, and the stages that it is made from."""
        rounds = [round_stage(number) for number in range(1, self.profile.rounds + 1)]
        baselines = [f"baseline-{name}" for name in self.profile.baselines]
        chain: dict[str, tuple[str, ...]] = {}
        for number, stage in enumerate(rounds, 1):
            for made in (stage, *(each.stage for each in self.edits(number))):
                chain[made] = tuple(chain)[-1:]
        return {
            **chain,
            **dict.fromkeys(baselines, ()),
            "summary": (*rounds, *baselines),
            "report": ("summary",),
        }

    def edits(self, after: int) -> tuple[Intervention, ...]:
        """What a person made of the policy after a round, in order."""
        return tuple(each for each in self.interventions if each.after == after)

    @property
    def desk(self) -> Desk | None:
        """Where questions to a model and its answers are kept; None for a run that asks none.

        They lie beside the runs: a run that is made again pays for nothing twice, and what it has
        spent before counts for its budget.
        """
        if not self.profile.evolution.asks_a_model:
            return None
        # Nor does an edited policy bring a new budget.
        name = base_folder(self).name
        return Desk(self.folder.parents[1] / "propose", run=name, project=self.place)

    @property
    def model_calls(self) -> int:
        """Questions to a language model so far, in the stages that are done."""
        if self.desk is None:
            return 0
        done = (self.done(stage) for stage in self.needs)
        return sum(record.figures.get("questions", 0) for record in done if record)

    @property
    def cost_usd(self) -> float:
        """What the questions have cost so far, in US dollars, as far as prices are known."""
        return 0.0 if self.desk is None else spent_by(self.desk).dollars

    @property
    def unpriced(self) -> int:
        """Questions whose price is not known."""
        return 0 if self.desk is None else spent_by(self.desk).unpriced

    def done(self, stage: str) -> StageRecord | None:
        """The record of a stage whose products stand."""
        return self.store.done(stage, self.needs[stage])

    @property
    def missing(self) -> list[str]:
        """Stages that are still to be made, or to be made again."""
        return [stage for stage in self.needs if self.done(stage) is None]

    @property
    def finished(self) -> bool:
        """True when every product stands and the manifest says so."""
        try:
            manifest = json.loads((self.folder / "manifest.json").read_bytes())
        except (OSError, ValueError):
            return False
        return manifest.get("finished") is True and not self.missing

    def policy(self, number: int) -> Policy:
        """The policy after a round, as it stands in the folder; 0: before the first."""
        return self.policy_in(f"policies/round-{number:03}.yaml")

    def deciding(self, number: int) -> str:
        """Where the policy that decides a round lies: a person may have edited it before."""
        edits = self.edits(number - 1)
        return edits[-1].file if edits else f"policies/round-{number - 1:03}.yaml"

    def policy_in(self, product: str) -> Policy:
        """A policy by its path within the folder."""
        file = self.folder / product
        return load_policy(read_text(file), str(file), self.stream.table.schema)

    def record(self, number: int) -> dict[str, Any]:
        """The record of a round's update, as it stands in the folder."""
        file = self.folder / "patches" / f"round-{number:03}.json"
        data: dict[str, Any] = json.loads(read_text(file))
        return data

    def replayed(self, rounds: int) -> Prequential:
        """The loop after so many rounds, taken from the folder."""
        loop = Prequential(self.stream, self.gate, self.profile.evolution, desk=self.desk)
        for number in range(1, rounds + 1):
            loop.replay(self.policy(number), self.record(number))
            if self.edits(number):
                loop.intervene(self.policy_in(self.deciding(number + 1)))
        return loop


def plan(project: Project, name: str, *, artifacts: Path | None = None) -> Run:
    """Read a profile and its events and settle the id; writes nothing.

    Where a person edited a policy of the run, the run that goes on from it is meant.

    Parameters
    ----------
    project
        Where profiles and events are looked up.
    name
        Of the profile, or its path.
    artifacts
        Where `runs/` lies; the project's artifacts when left out.
    """
    file = find_profile(project, name)
    profile = load_profile(file)
    files = tuple(find_events(project, event_file) for event_file in profile.events)
    runs = (artifacts or project.artifacts_path) / "runs"
    return latest(_settle(file.stem, profile, name, files, runs, project.directory))


def open_run(folder: str | Path) -> Run:
    """The run of a folder that `begin` made.

    Raises
    ------
    RunError
        When the folder holds no run, or events or code are no longer those that it began with.
    """
    place = Path(folder)
    try:
        manifest = json.loads((place / "manifest.json").read_bytes())
        profile = Profile.model_validate(manifest["inputs"]["profile"])
        files = tuple(Path(name) for name in manifest["locations"]["events"])
        name = manifest["inputs"]["name"]
        project = manifest["locations"].get("project")
        edits = from_inputs(manifest["inputs"].get("interventions", []))
    except (OSError, ValueError, KeyError, TypeError):
        raise RunError(
            f"{place} holds no run\n  remedy: `vepa run` begins one (`--fresh` begins it anew)"
        ) from None
    run = _settle(name, profile, name, files, place.parent, Path(project) if project else None)
    run = with_interventions(run, edits)
    if run.id != place.name:
        raise RunError(
            f"events, code or packages have changed since {place.name} began\n"
            f"  remedy: start `vepa run` again; it goes to {run.folder}"
        )
    return run


def begin(run: Run, *, fresh: bool = False) -> Run:
    """Make the run's folder, or go on with what stands there.

    Parameters
    ----------
    run
        From `plan`.
    fresh
        Throw away what stands there.
    """
    store = run.store
    with store.locked():
        if fresh:
            for path in run.folder.iterdir():
                if path.name != ".lock":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        store.sweep()
        if not run.finished:
            write_manifest(run, finished=False)
    return run


def file_of(run: Run) -> dict[str, int]:
    """Id of an event -> position of its file among the run's files."""
    if len(run.files) == 1:
        return dict.fromkeys(run.stream.table.ids, 0)
    return {name: at for at, file in enumerate(run.files) for name in read_events(file).ids}


def round_stage(number: int) -> str:
    """Name of a round's stage."""
    return f"round-{number:03}"


def write_manifest(run: Run, *, finished: bool) -> dict[str, Any]:
    """Write the manifest from what is done; call it with the folder locked."""
    records = {stage: record for stage in run.needs if (record := run.done(stage))}
    document = manifest_document(
        run.id,
        run.inputs,
        _locations(run),
        records,
        {"usd": run.cost_usd, "model_calls": run.model_calls},
        finished,
    )
    write_atomic(run.folder / "manifest.json", json.dumps(document, indent=1) + "\n")
    return document


def _locations(run: Run) -> dict[str, Any]:
    """Where on this machine the inputs lie; no part of what is hashed."""
    found: dict[str, Any] = {"events": [str(file.absolute()) for file in run.files]}
    if run.desk is not None and run.place is not None:
        found["project"] = str(run.place)
    return found


def _settle(
    name: str,
    profile: Profile,
    origin: str,
    files: tuple[Path, ...],
    runs: Path,
    place: Path | None,
) -> Run:
    tables = [read_events(file) for file in files]
    joined = join_tables(tables).canonical()
    settings = StreamSettings(rounds=profile.rounds, feedback=profile.feedback, flip=profile.flip)
    stream = stream_in_view(
        tables, settings, profile.seed, view=profile.view, masked=profile.mask_unknown
    )
    asks = profile.evolution.asks_a_model
    inputs = {
        "name": name,
        "profile": profile.model_dump(mode="json"),
        "events": {
            "sha256": joined.sha256,
            "files": {
                entry: sha256_of(file.read_bytes())
                for entry, file in zip(profile.events, files, strict=True)
            },
            "number": len(joined),
            "unit": joined.unit,
        },
        "schema": {"version": joined.schema.version, "sha256": joined.schema.sha256},
        "code": code_sha256(*(("llm",) if asks else ())),
        "versions": versions(),
        **({"prompt": prompt_version(place)} if asks else {}),
    }
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "run"
    folder = runs / f"{word}-{sha256_of(canonical_json(inputs))[:12]}"
    return Run(name, profile, origin, files, folder, stream, inputs, place)
