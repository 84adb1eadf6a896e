"""What the splits of a release share, and how evenly they are divided: counted from its tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vepa.corpus.trajectory import Step
from vepa.release.duplicates import (
    SHINGLE,
    THRESHOLD,
    Sets,
    near_duplicates,
    own_words,
    requested,
    shingles,
)
from vepa.release.records import SPLITS, Split
from vepa.release.splits import ENOUGH, SHARES

if TYPE_CHECKING:
    import polars as pl

    Frames = Mapping[tuple[str, Split], pl.DataFrame]

__all__ = ["balance_of", "overlap_of"]

_EXAMPLES = 5
#: A step this early has little before it; openings of different episodes can be alike.
_OPENING = 1


def balance_of(frames: Frames) -> dict[str, Any]:
    """How the steps, the refusals and the triggers are divided.

    Parameters
    ----------
    frames
        By table and split; of `trajectories` and `settled`.
    """
    total = sum(frames["settled", split].height for split in SPLITS)
    steps: Counter[str] = Counter()
    groups: dict[str, dict[Split, set[str]]] = {}
    members: dict[str, list[tuple[str, str]]] = {}
    divided: dict[str, Any] = {}
    for split in SPLITS:
        settled, trajectories = frames["settled", split], frames["trajectories", split]
        group_of = dict(trajectories.select("id", "group").iter_rows())
        for name, task, group in trajectories.select("id", "task", "group").iter_rows():
            members.setdefault(group, []).append((name, task))
        for name, triggers in settled.select("trajectory", "triggers").iter_rows():
            group = group_of.get(name, name)
            steps[group] += 1
            for key in triggers:
                groups.setdefault(key, {}).setdefault(split, set()).add(group)
        refuse = int((settled["decision"] == "refuse").sum())
        divided[split] = {
            "episodes": trajectories.height,
            "scripted": int(trajectories["scripted"].sum()),
            "groups": trajectories["group"].n_unique(),
            "steps": settled.height,
            "share": _ratio(settled.height, total),
            "wanted": SHARES[split],
            "refuse_share": _ratio(refuse, settled.height),
        }
    triggers = {
        key: {split: len(found.get(split, ())) for split in SPLITS}
        for key, found in sorted(groups.items())
    }
    return {
        "divided": divided,
        "triggers": triggers,
        "missing": [
            key
            for key, counts in triggers.items()
            if sum(counts.values()) >= ENOUGH and not all(counts.values())
        ],
        "largest_group": _largest(members, steps, total),
    }


def overlap_of(frames: Frames) -> dict[str, Any]:
    """What stands in more than one split; the first four have to be nothing.

    Parameters
    ----------
    frames
        By table and split; of `trajectories`, `steps` and `settled`.
    """
    return {
        "tasks": _shared(_column(frames, "trajectories", "task")),
        "groups": _shared(_column(frames, "trajectories", "group")),
        "planted": _shared(
            {
                split: [
                    text
                    for texts in frames["trajectories", split]["planted_sha256"]
                    for text in texts
                ]
                for split in SPLITS
            }
        ),
        **_twins(frames),
        "items": _items(frames),
        "calls": _calls(frames),
        "expected": {
            name: _known(_column(frames, "steps", column))
            for name, column in (
                ("personas", "persona"),
                ("models", "model"),
                ("environments", "environment"),
                ("tools", "tool"),
            )
        },
    }


def _largest(
    members: Mapping[str, Sequence[tuple[str, str]]], steps: Counter[str], total: int
) -> dict[str, Any] | None:
    if not members:
        return None
    name = max(members, key=lambda group: (steps[group], group))
    return {
        "group": name,
        "tasks": len({task for _, task in members[name]}),
        "episodes": len(members[name]),
        "steps": steps[name],
        "share": _ratio(steps[name], total),
    }


def _column(frames: Frames, table: str, column: str) -> dict[Split, list[Any]]:
    return {
        split: [value for value in frames[table, split][column] if value is not None]
        for split in SPLITS
    }


def _where(values: Mapping[Split, Iterable[Hashable]]) -> dict[Any, list[Split]]:
    """Value -> splits that it stands in, in the order of values."""
    found: dict[Any, list[Split]] = {}
    for split in SPLITS:
        for value in set(values[split]):
            found.setdefault(value, []).append(split)
    return dict(sorted(found.items()))


def _shared(values: Mapping[Split, Iterable[Hashable]]) -> dict[str, Any]:
    found = _where(values)
    shared = {value: splits for value, splits in found.items() if len(splits) > 1}
    examples = [
        {"value": value, "splits": splits} for value, splits in list(shared.items())[:_EXAMPLES]
    ]
    return {"shared": len(shared), "of": len(found), "examples": examples}


def _known(values: Mapping[Split, Iterable[Hashable]]) -> dict[str, Any]:
    """What is meant to be shared: how much, and what train lacks."""
    found = _where(values)
    return {
        "shared": sum(len(splits) > 1 for splits in found.values()),
        "of": len(found),
        "not_in_train": [value for value, splits in found.items() if "train" not in splits],
    }


def _twins(frames: Frames) -> dict[str, Any]:
    """Near-duplicates across splits: of whole episodes, and of their requests alone."""
    names: list[str] = []
    sets_of: list[Split] = []
    own, asked = [], []
    for split in SPLITS:
        for name, text in frames["trajectories", split].select("id", "trajectory").iter_rows():
            steps = [Step.model_validate(step) for step in json.loads(text).get("steps", ())]
            names.append(name)
            sets_of.append(split)
            own.append(shingles(own_words(steps)))
            asked.append(shingles(requested(steps)))
    found = {}
    for kind, texts in (("near_duplicates", own), ("near_duplicate_requests", asked)):
        sets = Sets(len(texts))
        for at, split in enumerate(sets_of):
            sets.join(sets_of.index(split), at)
        pairs = near_duplicates(texts, sets, join=False)
        found[kind] = {
            "pairs": len(pairs),
            "words_in_a_row": SHINGLE,
            "threshold": THRESHOLD,
            "examples": [
                {
                    "first": names[pair.first],
                    "second": names[pair.second],
                    "similarity": round(pair.similarity, 4),
                }
                for pair in pairs[:_EXAMPLES]
            ],
        }
    return found


def _items(frames: Frames) -> dict[str, Any]:
    """Judged contents of validation and test that train holds too, word for word."""
    columns = ("item", "step", "decision")
    known: dict[str, set[str]] = {}
    for item, _, decision in frames["settled", "train"].select(columns).iter_rows():
        known.setdefault(item, set()).add(decision)
    held = [row for split in SPLITS[1:] for row in frames["settled", split].select(columns).rows()]
    shared = [row for row in held if row[0] in known]
    return {
        "shared": len({item for item, _, _ in shared}),
        "steps": len(shared),
        "of": len(held),
        "openings": sum(step <= _OPENING for _, step, _ in shared),
        "same_decision": sum(decision in known[item] for item, _, decision in shared),
    }


def _calls(frames: Frames) -> dict[str, Any]:
    """Calls of validation and test that train holds too: the same tool, the same arguments."""
    columns = ("tool", "arguments")
    calls = {
        split: frames["steps", split].drop_nulls("tool").select(columns).rows() for split in SPLITS
    }
    known = set(calls["train"])
    held = calls["validation"] + calls["test"]
    shared = [call for call in held if call in known]
    return {"shared": len(set(shared)), "steps": len(shared), "of": len(held)}


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
