"""What a run annotates, and whether that is done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vepa import __version__
from vepa.annotate.arbitration.desk import SETTLED, VERDICTS
from vepa.annotate.arbitration.queue import QUEUE_FILE, ArbitrationQueue
from vepa.annotate.panel import Panel, Rules, load_panel
from vepa.annotate.runs.profile import AnnotationProfile, read_annotation
from vepa.annotate.shape import TEMPLATE
from vepa.bench.runs.profile import find_profile
from vepa.errors import RunError, SettingError
from vepa.files import canonical_json, sha256_of
from vepa.llm.prompts import load_prompt
from vepa.llm.recorded import folder_of
from vepa.project import Project

__all__ = ["EVENTS", "FIGURES", "AnnotationPlan", "plan_annotation"]

#: In the folder of labels: figures of all of it, and the events with the labels that stand.
FIGURES, EVENTS = "annotation.json", "events.step.jsonl"


@dataclass(frozen=True)
class AnnotationPlan:
    """An annotation with its inputs settled; nothing is asked.

    Attributes
    ----------
    name, file, profile
        The profile: what it is called, where it lies, its block.
    corpus
        Folder of the corpus.
    panel, rules
        Who judges, by what.
    project
        Where panel, prompts and recordings were looked up.
    """

    name: str
    file: Path
    profile: AnnotationProfile
    corpus: Path
    panel: Panel
    rules: Rules
    project: Project

    @property
    def folder(self) -> Path:
        """Where labels, queue and figures lie."""
        return self.corpus / "labels"

    @property
    def trajectories(self) -> Path:
        """What is judged."""
        return self.corpus / "trajectories.jsonl"

    @property
    def queue_file(self) -> Path:
        """What is disputed."""
        return self.folder / QUEUE_FILE

    @cached_property
    def inputs(self) -> str:
        """Hash over all that labels and figures depend on, but for people's verdicts.

        Raises
        ------
        RunError
            When the corpus has no trajectories yet.
        """
        try:
            trajectories = sha256_of(self.trajectories.read_bytes())
        except OSError as error:
            raise RunError(f"{self.trajectories} cannot be read: {error.strerror}") from None
        return sha256_of(
            canonical_json(
                {
                    "vepa": __version__,
                    "profile": self.profile.model_dump(mode="json"),
                    "trajectories": trajectories,
                    "panel": self.panel.model_dump(mode="json"),
                    "rules": self.rules.sha256,
                    "prompt": load_prompt(self.project, TEMPLATE).sha256,
                    "recordings": self._recordings(),
                }
            )
        )

    def provenance(self) -> dict[str, Any]:
        """By whose word and by which rules labels are given: names, versions and hashes."""
        prompt, taxonomy = load_prompt(self.project, TEMPLATE), self.rules.taxonomy
        return {
            "readers": {
                seat.name: {"vendor": seat.vendor, "model": seat.model, "otherwise": seat.otherwise}
                for seat in self.panel.seats
            },
            "template": {"id": prompt.id, "version": prompt.version, "sha256": prompt.sha256},
            "taxonomy": {
                "id": taxonomy.id, "version": taxonomy.version, "sha256": taxonomy.sha256,
            },
            "codebook_sha256": sha256_of(self.rules.codebook),
            "recordings": self._recordings(),
        }  # fmt: skip

    def figures(self) -> dict[str, Any] | None:
        """Figures of what was annotated last; None without readable ones."""
        try:
            data: dict[str, Any] = json.loads((self.folder / FIGURES).read_bytes())
        except (OSError, ValueError):
            return None
        return data

    @property
    def judged(self) -> bool:
        """Whether all of the corpus was judged as it is now."""
        known = self.figures()
        return (
            known is not None
            and self.trajectories.is_file()
            and known.get("inputs") == self.inputs
            # Without its queue nobody's verdict would stand: a new one is filled and settled.
            and all(
                (self.folder / name).is_file() for name in (SETTLED, VERDICTS, EVENTS, QUEUE_FILE)
            )
        )

    @property
    def settled(self) -> bool:
        """Whether every verdict of the queue is in the settled labels."""
        known = self.figures()
        if known is None or not self.queue_file.is_file():
            return False
        with self.queue() as queue:
            return bool(known["verdicts"] == verdicts_hash(queue))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.judged and self.settled

    def queue(self) -> ArbitrationQueue:
        """The queue, open."""
        return ArbitrationQueue(self.queue_file, self.rules.taxonomy)

    def _recordings(self) -> dict[str, str]:
        """Hash of what every recording of the panel holds."""
        found = {}
        for seat in self.panel.seats:
            if seat.model.startswith("recorded/"):
                folder = folder_of(seat.model, None)
                found[seat.model] = sha256_of((folder / "answers.jsonl").read_bytes())
        return found


def verdicts_hash(queue: ArbitrationQueue) -> str:
    """Tells two states of a queue's verdicts apart."""
    given = [(each.number, each.undone) for each in queue.given()]
    return sha256_of(canonical_json(given))


def plan_annotation(
    project: Project, name: str, *, artifacts: Path | None = None
) -> AnnotationPlan | None:
    """Read a profile's block `annotate` and all that it names; None when it has none.

    Parameters
    ----------
    project
        Where the profile and the panel are looked up.
    name
        Of the profile, or its path.
    artifacts
        Folder of what runs produce; the project's when left out.

    Raises
    ------
    SettingError
        At the first file that is wrong; names file, line, field and remedy.
    """
    file = find_profile(project, name)
    profile, wrong = read_annotation(file)
    if wrong:
        raise wrong[0]
    if profile is None:
        return None
    panel, rules = load_panel(project, profile.panel)
    if profile.arbiter and panel.arbiter is None:
        raise SettingError(
            f"{profile.panel} has no arbiter, and the profile wants one",
            remedy="write `arbiter: false` into the block `annotate`, or give the panel one",
        )
    corpus = (artifacts or project.artifacts_path) / "corpus" / file.stem
    return AnnotationPlan(file.stem, file, profile, corpus, panel, rules, project)
