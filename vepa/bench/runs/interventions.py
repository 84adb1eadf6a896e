"""A person in the loop: edited policies that a run goes on from.

What was adopted stands in one file, in the folder of the run as it began (`POINTER`). Planning the
run reads it and leads to a run of its own, with another id, so results of the unedited run are
never mixed up with it. Until that file is written, nothing is adopted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.errors import RunError
from vepa.evolution import rebuild
from vepa.files import canonical_json, sha256_of, write_atomic

if TYPE_CHECKING:
    from vepa.bench.runs.run import Run
    from vepa.policy.policy import Policy

__all__ = [
    "POINTER",
    "Intervention",
    "adopted",
    "base_folder",
    "edit_products",
    "from_inputs",
    "latest",
    "left_behind",
    "point",
    "with_interventions",
]

#: In the folder of a run as it began: what it goes on from, if a person stepped in.
POINTER = "interventions.json"


@dataclass(frozen=True)
class Intervention:
    """A policy that a person edited between two rounds.

    Attributes
    ----------
    number
        From 1, in the order of adoption.
    record
        `after` (the round), `by`, `reason`, `when`, `file` (SHA-256 of what was handed in),
        `parent` and `policy` (policy hashes), `document` (hash of the adopted policy), `accepted`
        and `standing` as in the record of an update, `remarks`.
    """

    number: int
    record: Mapping[str, Any]

    @property
    def after(self) -> int:
        """The round after which the policy was edited."""
        return int(self.record["after"])

    @property
    def stage(self) -> str:
        """The stage that writes its products."""
        return f"edit-{self.number:03}"

    @property
    def file(self) -> str:
        """Where the adopted policy lies within the run's folder."""
        return f"interventions/{self.number:03}.yaml"

    @property
    def told(self) -> dict[str, Any]:
        """Who, when, why and how much, for displays."""
        operations = [edit["operation"] for patch in self.record["accepted"]
                      for edit in patch["edits"]]  # fmt: skip
        return {
            **{name: self.record[name] for name in ("after", "by", "reason", "when")},
            "edits": {name: operations.count(name) for name in dict.fromkeys(operations)},
        }


def from_inputs(records: Sequence[Mapping[str, Any]]) -> tuple[Intervention, ...]:
    """Interventions from what stands in a manifest or in the pointer."""
    return tuple(Intervention(at, record) for at, record in enumerate(records, 1))


def with_interventions(run: Run, found: Sequence[Intervention]) -> Run:
    """The run that goes on from edited policies; without any, the run as it began."""
    inputs = {key: value for key, value in run.inputs.items() if key != "interventions"}
    if found:
        inputs["interventions"] = [dict(each.record) for each in found]
    word = run.folder.name.rpartition("-")[0]
    folder = run.folder.parent / f"{word}-{sha256_of(canonical_json(inputs))[:12]}"
    return replace(run, inputs=inputs, folder=folder, interventions=tuple(found))


def base_folder(run: Run) -> Path:
    """The folder of the run as it began."""
    return with_interventions(run, ()).folder


def adopted(folder: Path) -> tuple[Intervention, ...]:
    """What was adopted in a run that began in this folder.

    Raises
    ------
    RunError
        When the file that says so is damaged.
    """
    file = folder / POINTER
    try:
        return from_inputs(json.loads(file.read_bytes())["interventions"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError):
        raise RunError(
            f"{file} cannot be read\n  remedy: restore it; or remove it, and the run goes on as if "
            "no policy had been edited"
        ) from None


def latest(run: Run) -> Run:
    """The run that goes on from all that was adopted."""
    return with_interventions(run, adopted(base_folder(run)))


def left_behind(run: Run) -> list[str]:
    """Runs of the same name whose policies a person edited, when this one begins without edits.

    Another code, setting or event makes another run; an edit does not move there by itself.
    """
    if run.interventions or any(run.done(stage) for stage in run.needs):
        return []
    word = run.folder.name.rpartition("-")[0]
    edited = sorted(run.folder.parent.glob(f"{word}-{'?' * 12}/{POINTER}"))
    return [file.parent.name for file in edited]


def point(run: Run) -> None:
    """Let whoever plans the run find this one; from here on its edits are adopted."""
    file = base_folder(run) / POINTER
    if not run.interventions:
        file.unlink(missing_ok=True)
        return
    told = {"run": run.id, "interventions": [dict(each.record) for each in run.interventions]}
    write_atomic(file, json.dumps(told, indent=1) + "\n")


def edit_products(found: Intervention, parent: Policy) -> dict[str, str | bytes]:
    """The files of an intervention: its record, and the policy that is rebuilt from it.

    Raises
    ------
    RunError
        When the policy that was edited is not the one that stands there now.
    """
    record = found.record
    fits = record["parent"] == parent.policy_hash
    policy = rebuild(parent, record) if fits else None
    if policy is None or policy.document_hash != record["document"]:
        raise RunError(
            f"{record['by']} edited another policy after round {found.after} than the one that "
            "stands there now\n  remedy: `vepa policy withdraw RUN`, then edit the policy again"
        )
    return {
        found.file: policy.to_yaml(),
        found.file.replace(".yaml", ".json"): json.dumps(dict(record), indent=1) + "\n",
    }
