"""A lifecycle with its inputs settled: which stages it has, and which of them are done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vepa.annotate.runs.plan import FIGURES, AnnotationPlan, plan_annotation
from vepa.bench.runs.profile import corpus_profile, find_events, find_profile, load_profile
from vepa.bench.runs.run import Run, begin, plan
from vepa.collect.runs.session import CorpusPlan, plan_corpus
from vepa.errors import InputError, SettingError, Where
from vepa.files import read_text
from vepa.lifecycle.profile import LifecycleProfile, read_lifecycle
from vepa.lifecycle.releasing import POINTER, released_now
from vepa.policy.schema import nearest
from vepa.project import Project

__all__ = ["PREVIOUS", "STAGES", "SUMMARY", "Lifecycle", "plan_lifecycle"]

#: All stages, in order; a profile has those whose blocks it has.
STAGES = (
    "collect", "annotate", "release", "evolve-corpus", "evolve-benchmark", "train", "report",
)  # fmt: skip
#: In the folder of a lifecycle: what all stages left, and when.
SUMMARY = "lifecycle.json"
#: The summary before, while stages are made again that were asked for by name.
PREVIOUS = "lifecycle.before.json"
#: In the folder of a lifecycle: the run of a deployment that was asked for, by release.
TRAIN = "train.json"
#: What a collection writes beside its episodes.
_COLLECTED = ("trajectories.jsonl", "events.step.jsonl", "events.call.jsonl", "corpus.json")


@dataclass(frozen=True)
class Lifecycle:
    """What one main job does; nothing is started.

    Attributes
    ----------
    name, file, profile
        The profile: what it is called, where it lies, its own blocks.
    project, artifacts
        Where content is looked up, and where products go.
    evolving
        The policy that evolves on the benchmark's events; None where some of them are not there.
    corpus, annotation
        What is collected and who judges it; None where the profile has no such block.
    awaited
        Files of events that the profile names and that are not there.
    """

    name: str
    file: Path
    profile: LifecycleProfile
    project: Project
    artifacts: Path
    evolving: Run | None
    corpus: CorpusPlan | None
    annotation: AnnotationPlan | None
    awaited: tuple[str, ...] = ()

    @property
    def benchmark(self) -> Run:
        """The policy that evolves on the benchmark's events.

        Raises
        ------
        SettingError
            When some of them are not there.
        """
        if self.evolving is None:
            raise _not_there(self.file, self.awaited)
        return self.evolving

    @property
    def folder(self) -> Path:
        """Where its summary and its page lie."""
        return self.artifacts / "lifecycle" / self.name

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that this profile has, in order."""
        has = {
            "collect": self.corpus is not None,
            "annotate": self.annotation is not None,
            "release": self.profile.release is not None,
            "evolve-corpus": self.corpus is not None and self.corpus.profile.evolve is not None,
            "train": self.profile.train is not None,
        }
        return tuple(stage for stage in STAGES if has.get(stage, True))

    def own(self) -> Run | None:
        """The policy that evolves on the corpus' steps; None until there are labelled ones."""
        if self.corpus is None:
            return None
        file = self.corpus.folder / "evolve.yaml"
        return plan(self.project, str(file), artifacts=self.artifacts) if file.is_file() else None

    def done(self, stage: str) -> bool:
        """Whether the products of a stage stand and are of what stands before it."""
        match stage:
            case "collect":
                return self._collected()
            case "annotate":
                annotated = self.annotation is not None and self.annotation.finished
                return annotated and self._evolving_stands()
            case "release":
                assert self.corpus is not None
                assert self.annotation is not None
                made = released_now(self.corpus, self.annotation)
                wanted = self.profile.release.name if self.profile.release else None
                return made is not None and made.manifest.name == (wanted or self.corpus.name)
            case "evolve-corpus":
                own = self.own()
                return own is None or own.finished
            case "evolve-benchmark":
                return self.evolving is not None and self.evolving.finished
            case "train":
                return self.asked_to_train() is not None
            case _:
                return (self.folder / SUMMARY).is_file()

    def _collected(self) -> bool:
        """Whether all episodes are there, and what is worked out of them."""
        corpus = self.corpus
        if corpus is None or corpus.missing():
            return False
        stand = all((corpus.folder / name).is_file() for name in _COLLECTED)
        return stand and (self.annotation is not None or self._evolving_stands())

    def _evolving_stands(self) -> bool:
        """Whether the profile of the corpus' policy is what the outer one says now."""
        assert self.corpus is not None
        file = self.corpus.folder / "evolve.yaml"
        if not file.is_file():  # no step has a label, or none is to evolve
            return True
        written = read_text(file)
        events = Path(str(yaml.safe_load(written)["events"][0]))
        return corpus_profile(self.file, self.corpus.name, events) == written

    def open(self) -> list[str]:
        """Stages that are to be made; whatever follows an open stage may change, so it is open too.

        The benchmark's policy depends on no other stage.
        """
        found: list[str] = []
        for stage in self.stages:
            apart = stage == "evolve-benchmark"
            follows = not apart and any(name != "evolve-benchmark" for name in found)
            if (follows and stage != "collect") or not self.done(stage):
                found.append(stage)
        if found and "report" not in found:
            found.append("report")
        return found

    def forget(self, start: str) -> None:
        """Let a stage and what follows it be made again. Episodes and judgements are kept.

        Raises
        ------
        SettingError
            When the profile has no such stage.
        """
        if start not in self.stages:
            raise SettingError(
                f"there is no stage {start!r}",
                where=Where(field="start"),
                remedy=nearest(start, list(self.stages), "stages"),
            )
        later = self.stages[self.stages.index(start) :]
        if "annotate" in later and self.annotation is not None:
            (self.annotation.folder / FIGURES).unlink(missing_ok=True)
        if "release" in later and self.corpus is not None:
            (self.corpus.folder / POINTER).unlink(missing_ok=True)
        for stage, run in (("evolve-corpus", self.own()), ("evolve-benchmark", self.evolving)):
            if stage in later and run is not None:
                begin(run, fresh=True)
        if "train" in later:
            (self.folder / TRAIN).unlink(missing_ok=True)
        summary = self.folder / SUMMARY
        if summary.is_file():  # kept: what is made now is compared with it
            summary.replace(self.folder / PREVIOUS)

    def asked_to_train(self) -> dict[str, Any] | None:
        """The run of a deployment that was asked for on this release; None when none was."""
        try:
            data: dict[str, Any] = json.loads((self.folder / TRAIN).read_bytes())
        except (OSError, ValueError):
            return None
        if self.corpus is None or self.annotation is None:
            return None
        now = released_now(self.corpus, self.annotation)
        return data if now is not None and data["release"] == now.manifest.version else None


def plan_lifecycle(
    project: Project,
    name: str,
    *,
    artifacts: Path | None = None,
    corpus: CorpusPlan | None = None,
    awaiting: bool = False,
) -> Lifecycle:
    """Read a profile and all that it names; writes nothing.

    Parameters
    ----------
    project
        Where everything is looked up.
    name
        Of the profile, or its path.
    artifacts
        Folder of what runs produce; the project's when left out.
    corpus
        What is collected, where it was planned before.
    awaiting
        Plan also where files of events are not there yet: for a forecast.

    Raises
    ------
    InputError
        At the first file that is wrong; names file, line, field and remedy.
    """
    file = find_profile(project, name)
    blocks = load_profile(file)
    awaited = tuple(each for each in blocks.events if not _there(project, each))
    if awaited and not awaiting:
        raise _not_there(file, awaited)
    evolving = None if awaited else plan(project, name, artifacts=artifacts)
    profile, wrong = read_lifecycle(file)
    if wrong:
        raise wrong[0]
    place = artifacts or project.artifacts_path
    if corpus is None and blocks.corpus is not None:
        corpus = plan_corpus(project, name, artifacts=artifacts)
    annotation = None
    if blocks.annotate is not None:
        annotation = plan_annotation(project, name, artifacts=artifacts)
    return Lifecycle(
        file.stem, file, profile, project, place, evolving, corpus, annotation, awaited
    )


def _there(project: Project, events: str) -> bool:
    try:
        find_events(project, events)
    except InputError:
        return False
    return True


def _not_there(file: Path, awaited: tuple[str, ...]) -> SettingError:
    return SettingError(
        f"no such file of events: {', '.join(awaited)}",
        where=Where(str(file), field="events"),
        remedy="the comments of the profile say how it is made; it belongs into data/",
    )
