"""What records of a release say about each other: references, splits, provenance of labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from vepa.corpus.events import EventRecord
from vepa.corpus.labels import Label
from vepa.corpus.settled import SettledLabel
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError
from vepa.policy.schema import bundled_schema
from vepa.release.records import Split, StepRow

__all__ = ["References"]

#: What is wrong, and in which field.
Wrong = tuple[str, str | None]
Place = tuple[str, int]


class References:
    """Fed with every record, trajectories first and settled labels next; tells what is wrong.

    Parameters
    ----------
    provenance
        `labels` of the release's provenance; None where it cannot be read, and then nothing is held
        against it.
    """

    def __init__(self, provenance: Mapping[str, Any] | None):
        self.provenance = provenance
        self.splits: dict[str, Split] = {}
        #: Place of every step that is missing in the table of steps so far -> what kind it is.
        self.missing: dict[Place, str] = {}
        self._kinds: dict[Place, str] = {}
        self._settled: dict[Place, SettledLabel] = {}
        self._readers: set[tuple[str, str]] = set()
        self._seen: set[tuple[Any, ...]] = set()
        self._shared: dict[tuple[str, str], set[Split]] = defaultdict(set)

    def see(self, table: str, record: Any, split: Split) -> Iterator[Wrong]:
        """Take up a record of a table; what is wrong with it."""
        match record:
            case Trajectory():
                yield from self._trajectory(record, split)
            case SettledLabel():
                yield from self._standing(record, split)
            case Label():
                yield from self._label(record, split)
            case StepRow():
                yield from self._step(record, split)
            case EventRecord():
                yield from self._event(record, split, table.partition("_")[2])

    def leaks(self) -> Iterator[str]:
        """What several splits share."""
        for (what, name), splits in sorted(self._shared.items()):
            if len(splits) > 1:
                yield f"the {what} {name!r} stands in {' and '.join(sorted(splits))}"

    def unsupported(self) -> Iterator[str]:
        """Settled labels that rest on a reader of whom no label is there."""
        for (name, step), label in self._settled.items():
            gone = [reader for reader in label.by if (label.item, reader) not in self._readers]
            if gone:
                yield f"{name} step {step}: rests on {', '.join(gone)}, who judged nothing there"

    def _once(self, *key: Any) -> bool:
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _place(self, name: str, step: int, split: Split) -> Iterator[Wrong]:
        where = self.splits.get(name)
        if where is None:
            yield f"there is no trajectory {name!r}", "trajectory"
        elif where != split:
            yield f"the trajectory {name!r} stands in {where}", "trajectory"
        elif (name, step) not in self._kinds:
            yield f"the trajectory {name!r} has no step {step}", "step"

    def _trajectory(self, record: Trajectory, split: Split) -> Iterator[Wrong]:
        if not self._once("trajectory", record.id):
            yield f"the trajectory {record.id!r} occurs twice", "id"
            return
        self.splits[record.id] = split
        for at, step in enumerate(record.steps):
            self._kinds[record.id, at] = self.missing[record.id, at] = step.kind
            if step.index != at:
                yield f"step {at} says that its index is {step.index}", f"steps.{at}.index"
        about = record.meta.get("release")
        if not isinstance(about, dict) or not about.get("group"):
            yield "it is not said which group the trajectory belongs to", "meta.release.group"
            return
        self._shared["task", record.task or record.id].add(split)
        self._shared["group", str(about["group"])].add(split)
        for planted in about.get("planted_sha256") or ():
            self._shared["planted text", str(planted)].add(split)

    def _standing(self, record: SettledLabel, split: Split) -> Iterator[Wrong]:
        place = (record.trajectory, record.step)
        yield from self._place(*place, split)
        if not self._once("settled", *place):
            yield f"{record.trajectory} step {record.step} is settled twice", "step"
        self._settled[place] = record
        yield from self._taxonomy(record.taxonomy)

    def _taxonomy(self, named: str) -> Iterator[Wrong]:
        if self.provenance is None:
            return
        known = self.provenance.get("taxonomy") or {}
        if named != f"{known.get('id')}/{known.get('version')}":
            yield f"the taxonomy {named!r} is not the one of the provenance", "taxonomy"

    def _label(self, record: Label, split: Split) -> Iterator[Wrong]:
        yield from self._place(record.trajectory, record.step, split)
        role = record.meta.get("role")
        if role not in ("annotator", "arbiter"):
            yield "it is not said whether an annotator or an arbiter gave the label", "meta.role"
        if not self._once("label", record.trajectory, record.step, record.annotator, role):
            yield f"{record.annotator!r} judged this step twice", "annotator"
        self._readers.add((record.item, record.annotator))
        yield from self._taxonomy(record.taxonomy)
        if record.origin != "person":
            yield from self._asked(record)

    def _asked(self, record: Label) -> Iterator[Wrong]:
        """Of a label that was asked for: who answered, and by which prompt."""
        if record.model is None:
            yield "it is not said which model gave the label", "model"
        sha256 = record.meta.get("template_sha256")
        if record.template is None or not isinstance(sha256, str):
            yield "the label does not say by which prompt it was asked for", "meta.template_sha256"
            return
        if self.provenance is None:
            return
        known = self.provenance.get("template") or {}
        if (record.template, sha256) != (
            f"{known.get('id')}/{known.get('version')}",
            known.get("sha256"),
        ):
            yield "the prompt is not the one of the provenance", "meta.template_sha256"
        if record.annotator not in (self.provenance.get("readers") or {}):
            yield f"the reader {record.annotator!r} is not in the provenance", "annotator"

    def _step(self, record: StepRow, split: Split) -> Iterator[Wrong]:
        place = (record.trajectory, record.step)
        if wrong := list(self._place(*place, split)):
            yield from wrong
            return
        if self.missing.pop(place, None) is None:
            yield f"{record.trajectory} step {record.step} occurs twice", "step"
        if record.kind != self._kinds[place]:
            yield f"the step is of kind {self._kinds[place]!r}, not {record.kind!r}", "kind"
        label = self._settled.get(place)
        said = label.judgement if label else None
        if record.decision != (said.decision if said else None) or record.triggers != (
            said.triggers if said else []
        ):
            yield "the decision or the triggers are not those of the settled label", "decision"

    def _event(self, record: EventRecord, split: Split, unit: str) -> Iterator[Wrong]:
        if not self._once("event", unit, record.id):
            yield f"the event {record.id!r} occurs twice", "id"
        if record.unit != unit:
            yield f"the event is of unit {record.unit!r}, not {unit!r}", "unit"
        name, step = record.meta.get("episode"), record.meta.get("step")
        if not isinstance(name, str) or not isinstance(step, int):
            yield "it is not said of which step the event is", "meta.step"
            return
        if wrong := list(self._place(name, step, split)):
            yield from wrong
            return
        label = self._settled.get((name, step))
        if record.label != (label.judgement.decision if label else None):
            yield "the label is not the settled one", "label"
        try:
            record.encode(bundled_schema())
        except InputError as error:
            yield error.message, f"event.{error.where.field}" if error.where.field else "event"
