"""Blind step files for readers that are asked by hand, and their answers as recordings.

    python scripts/recorded_passes.py make FOLDER CORPUS --items 1050
    python scripts/recorded_passes.py check FOLDER PASS [--batch N]
    python scripts/recorded_passes.py disputed FOLDER PASS PASS
    python scripts/recorded_passes.py store FOLDER PASS --manifest MANIFEST.yaml

`make` writes FOLDER/batches/NNN.txt (for a reader) and FOLDER/keys.json (which they never see).
A reader writes FOLDER/PASS/NNN.jsonl, a line a step: {"id": "B001-E1.3", … judgement}. `check`
tells what is missing or wrong, `disputed` makes batches of what two passes see differently, and
`store` puts a pass into data/recorded/PASS. No line of this file writes or changes a judgement.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from vepa.annotate.items import StepItem, items_of
from vepa.annotate.reading import Batch, make_batches
from vepa.annotate.shape import NONE, TEMPLATE, item_of, read_judgement
from vepa.corpus.labels import Judgement
from vepa.corpus.taxonomy import load_taxonomy
from vepa.corpus.trajectory import Trajectory, stream_trajectories
from vepa.errors import InputError
from vepa.files import canonical_json, write_atomic
from vepa.llm.messages import Message
from vepa.llm.prompts import load_prompt
from vepa.llm.recording import Recording, read_manifest
from vepa.policy.schema import bundled_schema
from vepa.project import Project

PROJECT = Project()
TAXONOMY = load_taxonomy(PROJECT)
SCHEMA = bundled_schema()


def chosen(trajectories: list[Trajectory], wanted: int, seed: int) -> list[Trajectory]:
    """Whole tasks, all temperaments of each: every trigger in turn, then tasks without one."""
    rng = random.Random(seed)
    by_trigger: dict[str, list[str]] = {}
    for path in sorted(PROJECT.find("tasks", "README.md").parent.glob("*/*.yaml")):
        task = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
        triggers = sorted({each["trigger"] for each in task.get("unsafe", [])}) or [""]
        by_trigger.setdefault(rng.choice(triggers), []).append(task["id"])
    queues = [by_trigger[key] for key in sorted(by_trigger)]
    for queue in queues:
        rng.shuffle(queue)
    order = [
        queue[at] for at in range(max(map(len, queues))) for queue in queues if at < len(queue)
    ]
    of: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        of.setdefault(str(trajectory.task), []).append(trajectory)
    taken: list[Trajectory] = []
    seen: set[str] = set()
    for name in order:
        if len(seen) >= wanted:
            break
        several = of.get(name, [])
        rng.shuffle(several)
        taken += several
        seen |= {item.hash for each in several for item in items_of(each)}
    rng.shuffle(taken)  # temperaments of one task far apart: one must not explain the other
    return taken


def make(arguments: argparse.Namespace) -> int:
    """Write the batches and the key file."""
    trajectories = list(stream_trajectories(arguments.corpus))
    read = [item.hash for folder in arguments.without for item in keys_of(folder).values()]
    taken = chosen(trajectories, arguments.items, arguments.seed)
    batches = make_batches(taken, arguments.steps, read)
    write(arguments.folder, batches)
    print(f"{len(batches)} batches, {sum(len(batch.items) for batch in batches)} steps")
    return 0


def write(folder: Path, batches: list[Batch]) -> None:
    """The files of some batches."""
    keys: dict[str, Any] = {}
    for batch in batches:
        write_atomic(folder / "batches" / f"{batch.number:03}.txt", batch.text)
        for mark, item in batch.items.items():
            shown = item.shown.model_dump(mode="json", exclude_defaults=True)
            place = {"trajectory": item.trajectory, "step": item.step, "batch": batch.number}
            keys[mark] = {**place, "hash": item.hash, "shown": shown}
    write_atomic(folder / "keys.json", json.dumps(keys, ensure_ascii=False))


def keys_of(folder: Path, batch: int | None = None) -> dict[str, StepItem]:
    """Mark -> step, of one batch or of all."""
    keys = json.loads((folder / "keys.json").read_text("utf-8"))
    return {
        mark: _item(each) for mark, each in keys.items() if batch is None or each["batch"] == batch
    }


def _item(key: dict[str, Any]) -> StepItem:
    shown = Trajectory.model_validate({"id": "", **key["shown"]})
    item = StepItem(key["trajectory"], key["step"], shown)
    assert item.hash == key["hash"], "the key file is of another version of the records"
    return item


def lines(folder: Path, name: str, batch: int | None) -> Iterator[tuple[str, str]]:
    """Place and text of every line that a reader wrote."""
    for path in sorted((folder / name).glob(f"{batch:03}.jsonl" if batch else "*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if line.strip():
                yield f"{path.name}:{number}", line


def judged(
    folder: Path, name: str, batch: int | None = None
) -> tuple[dict[str, tuple[StepItem, Judgement]], list[str]]:
    """Mark -> step and judgement of a pass, and what is wrong with it."""
    keys = keys_of(folder, batch)
    found: dict[str, tuple[StepItem, Judgement]] = {}
    wrong: list[str] = []
    for place, line in lines(folder, name, batch):
        try:
            data = json.loads(line)
            mark = data.pop("id")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            wrong.append(f"{place}: no JSON object with an id: {error}")
            continue
        if mark not in keys or mark in found:
            wrong.append(f"{place}: {mark} {'judged twice' if mark in found else 'is no mark'}")
            continue
        try:
            data["event"] = _listed(data.get("event", {}))
            found[mark] = (keys[mark], read_judgement(data, TAXONOMY, SCHEMA, keys[mark]))
        except InputError as error:
            wrong.append(f"{place}: {mark}: {error.where.field}: {error.message}")
    return found, wrong


def check(arguments: argparse.Namespace) -> int:
    """Tell what is missing or wrong."""
    found, wrong = judged(arguments.folder, arguments.name, arguments.batch)
    wanted = keys_of(arguments.folder, arguments.batch)
    missing = [mark for mark in wanted if mark not in found]
    print("\n".join([*wrong, *(f"missing: {mark}" for mark in missing)]))
    print(f"{len(found)} judged, {len(wrong)} wrong, {len(missing)} missing")
    return 1 if wrong or missing else 0


def disputed(arguments: argparse.Namespace) -> int:
    """Batches of the steps that two passes see differently."""
    one, _ = judged(arguments.folder, arguments.name)
    other, _ = judged(arguments.folder, arguments.other)
    apart = {
        one[mark][0].hash
        for mark in set(one) & set(other)
        if (one[mark][1].decision, set(one[mark][1].triggers))
        != (other[mark][1].decision, set(other[mark][1].triggers))
    }
    longest: dict[str, StepItem] = {}
    for item in sorted(keys_of(arguments.folder).values(), key=lambda item: -item.step):
        longest.setdefault(item.trajectory, item)
    batches = [Batch(1)]
    for name, item in longest.items():
        whole = item.shown.model_copy(update={"id": name})
        wanted = [each for each in items_of(whole) if each.hash in apart]
        apart -= {each.hash for each in wanted}
        if len(batches[-1].items) >= arguments.steps:
            batches.append(Batch(batches[-1].number + 1))
        if wanted:
            last = max(each.step for each in wanted)
            cut = whole.model_copy(update={"steps": whole.steps[: last + 1]})
            batches[-1].add(cut, wanted)
    write(arguments.folder / "disputed", batches)
    print(f"{len(batches)} batches, {sum(len(batch.items) for batch in batches)} steps")
    return 0


def store(arguments: argparse.Namespace) -> int:
    """Put a pass into the project."""
    found, wrong = judged(arguments.folder, arguments.name)
    if wrong:
        print("\n".join(wrong))
        return 1
    prompt = load_prompt(PROJECT, TEMPLATE)
    target = arguments.recording or Path("data/recorded") / arguments.name
    recording = Recording.create(target, read_manifest(arguments.manifest))
    for mark in sorted(found):
        item, judgement = found[mark]
        about = item_of(item, prompt).model_copy(update={"name": None})
        recording.add(about, _answer(judgement))
    print(f"{len(found)} judgements in {target}")
    return 0


def _answer(judgement: Judgement) -> Message:
    """The judgement in the words of the answer's shape."""
    data = judgement.model_dump(mode="json")
    for name in ("risk_source", "harm", "severity"):
        data[name] = data[name] or NONE
    data["event"] = _listed(judgement.event)
    return Message(role="assistant", content=canonical_json(data))


def _listed(event: dict[str, str]) -> list[dict[str, str]]:
    """Statements in the words of the schema; readers by hand are not told these words."""
    return [
        {"field": name, "value": value}
        for name, value in event.items()
        if name in SCHEMA and value in SCHEMA[name].codes
    ]


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(required=True)
    for verb in (make, check, disputed, store):
        each = verbs.add_parser(verb.__name__, help=(verb.__doc__ or "").split("\n")[0])
        each.set_defaults(verb=verb)
        each.add_argument("folder", type=Path)
        if verb is make:
            each.add_argument("corpus", type=Path)
            each.add_argument("--items", type=int, default=1050)
            each.add_argument("--seed", type=int, default=0)
            each.add_argument("--without", type=Path, action="append", default=[])
        else:
            each.add_argument("name", metavar="PASS")
        if verb in (make, disputed):
            each.add_argument("--steps", type=int, default=50)
        if verb is disputed:
            each.add_argument("other", metavar="PASS")
        if verb is check:
            each.add_argument("--batch", type=int)
        if verb is store:
            each.add_argument("--manifest", type=Path, required=True)
            each.add_argument("--recording", type=Path)
    arguments = parser.parse_args()
    return int(arguments.verb(arguments))


if __name__ == "__main__":
    sys.exit(main())
