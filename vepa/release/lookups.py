"""How far one gets without reading: look-ups and bags of words against the settled decision.

Everything is learned on train and scored on validation and test. A look-up answers the majority of
train among the steps with the same value; for a value that train does not hold, or holds as often
with one label as with the other, the majority of all of train.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vepa.errors import MissingExtraError
from vepa.policy.matching import ALLOW, REFUSE
from vepa.policy.schema import bundled_schema
from vepa.release.records import SPLITS, Split
from vepa.release.scoring import Guess, Labels, area_under, figures_on, together

if TYPE_CHECKING:
    import polars as pl

    Frames = Mapping[tuple[str, Split], pl.DataFrame]

__all__ = ["CONTEXT", "TELL_TALES", "lookups_of"]

#: What a guard may know beside the event; `call` is tool and arguments word for word.
CONTEXT = ("tool", "environment", "call", "persona", "step")
#: What tells how an episode was made or judged; no guard knows it.
TELL_TALES = (
    "model", "model_and_tool", "seed", "meant", "tripped", "succeeded", "ending", "labelled_by",
    "label_origin",
)  # fmt: skip
_HELD_OUT: tuple[Split, ...] = ("validation", "test")


@dataclass(frozen=True)
class Steps:
    """Labelled step events of a split.

    Attributes
    ----------
    labels
        Shape (steps,), int8.
    columns
        Name -> one value a step.
    """

    labels: Labels
    columns: Mapping[str, Sequence[Hashable]]

    @property
    def groups(self) -> Sequence[Hashable]:
        """What share nothing with each other: the units that chance draws."""
        return self.columns["group"]


def lookups_of(frames: Frames) -> dict[str, Any]:
    """Figures of every baseline, as JSON data.

    Parameters
    ----------
    frames
        By table and split; of `trajectories`, `steps` and `events_step`.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    """
    steps = {split: _steps(frames, split) for split in SPLITS}
    train, held = steps["train"], {split: steps[split] for split in _HELD_OUT}
    found: dict[str, Any] = {
        "predicts": "the settled decision of step events",
        "learned_on": "train",
        "events": {split: _counted(frames, steps[split], split) for split in SPLITS},
    }
    if not len(train.labels):
        return found
    base = {split: _constant(train, data) for split, data in held.items()}

    def scored(guesses: Mapping[Split, Guess]) -> dict[str, Any]:
        return _scored(held, guesses, base)

    def looked_up(name: str) -> dict[str, Any]:
        return scored(_look_up(train, held, name))

    fields = bundled_schema().names
    known = {name: _told_of(train, name) for name in fields}
    return found | {
        "majority": scored(base),
        "best_field": max(fields, key=lambda name: (known[name], name)),
        "fields": {name: looked_up(name) for name in fields},
        "context": {name: looked_up(name) for name in CONTEXT},
        "tell_tales": {name: looked_up(name) for name in TELL_TALES},
        "words": {
            name: scored(guesses)
            for name in ("request", "own_words")
            if (guesses := _words(train, held, name)) is not None
        },
    }


def _steps(frames: Frames, split: Split) -> Steps:
    events = frames["events_step", split].drop_nulls("label")
    rows = {(row["trajectory"], row["step"]): row for row in frames["steps", split].to_dicts()}
    episodes = {row["id"]: row for row in frames["trajectories", split].to_dicts()}
    requests: dict[str, str] = {}
    for (name, _), row in sorted(rows.items()):
        if row["kind"] == "user":
            requests.setdefault(name, row["text"] or "")
    names = (*bundled_schema().names, *CONTEXT, *TELL_TALES, "request", "own_words", "group")
    columns: dict[str, list[Hashable]] = {name: [] for name in names}
    for event in events.to_dicts():
        row = rows.get((event["episode"], event["step"]), {})
        episode = episodes.get(event["episode"], {})
        known = {**episode, **row, **event}
        known["tripped"] = "+".join(episode.get("tripped") or ())
        known["model_and_tool"] = (event["model"], event["tool"])
        known["call"] = json.dumps([row.get("tool"), row.get("arguments")])
        known["request"] = requests.get(event["episode"], "")
        own = (row.get("tool"), row.get("arguments"), row.get("text"))
        known["own_words"] = " ".join(part for part in own if part)
        for name in names:
            columns[name].append(known.get(name))
    labels = [REFUSE if label == "refuse" else ALLOW for label in events["label"]]
    return Steps(np.array(labels, np.int8), columns)


def _counted(frames: Frames, steps: Steps, split: Split) -> dict[str, int]:
    labelled = len(steps.labels)
    return {
        "labelled": labelled,
        "refuse": int((steps.labels == REFUSE).sum()),
        "without_label": frames["events_step", split].height - labelled,
    }


def _most(labels: Labels) -> int:
    """The more frequent label; `refuse` when both are as frequent."""
    return ALLOW if 2 * int((labels == REFUSE).sum()) < len(labels) else REFUSE


def _constant(train: Steps, data: Steps) -> Guess:
    shape = data.labels.shape
    return Guess(np.full(shape, _most(train.labels), np.int8), np.zeros(shape))


def _look_up(train: Steps, held: Mapping[Split, Steps], name: str) -> dict[Split, Guess]:
    """Majority by value; the score is the share of refusals, drawn to that of all of train."""
    counts: dict[Hashable, list[int]] = {}
    for value, refused in zip(train.columns[name], (train.labels == REFUSE).tolist(), strict=True):
        counts.setdefault(value, [0, 0])[refused] += 1
    most, rate = _most(train.labels), float((train.labels == REFUSE).mean())
    found = {}
    for split, data in held.items():
        known = [counts.get(value, (0, 0)) for value in data.columns[name]]
        allow, refuse = np.array(known, np.int64).reshape(-1, 2).T
        verdicts = np.where(allow == refuse, most, np.where(refuse > allow, REFUSE, ALLOW))
        scores = (refuse + rate) / (allow + refuse + 1)
        unseen = int((allow + refuse == 0).sum())
        found[split] = Guess(verdicts.astype(np.int8), scores, unseen)
    return found


def _told_of(train: Steps, name: str) -> float:
    """How much a look-up tells of the very steps that it was learned on."""
    scores = _look_up(train, {"train": train}, name)["train"].scores
    return area_under(train.labels, scores, train.groups)[0]


def _words(train: Steps, held: Mapping[Split, Steps], name: str) -> dict[Split, Guess] | None:
    """Logistic regression on which words occur; None where train gives nothing to learn."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtraError("scikit-learn", "pipeline") from None
    texts = [str(text) for text in train.columns[name]]
    if len(set(train.labels.tolist())) < 2 or not any(text.strip() for text in texts):
        return None
    # One-letter words are words too, and a pattern of its own needs no list of stop words.
    bag = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)  # noqa: S106
    model = LogisticRegression(C=10.0, max_iter=2000, solver="liblinear", random_state=0)
    model.fit(bag.fit_transform(texts), train.labels)
    found: dict[Split, Guess] = {}
    for split, data in held.items():
        if not len(data.labels):
            found[split] = Guess(data.labels, np.zeros(0))
            continue
        rows = bag.transform([str(text) for text in data.columns[name]])
        scores = model.decision_function(rows)
        found[split] = Guess(np.where(scores > 0, REFUSE, ALLOW).astype(np.int8), scores)
    return found


def _scored(
    held: Mapping[Split, Steps], guesses: Mapping[Split, Guess], base: Mapping[Split, Guess]
) -> dict[str, Any]:
    """Figures of validation, of test, and of both together as `held_out`."""
    found: dict[str, Any] = {
        split: figures_on(data.labels, guesses[split], base[split], data.groups)
        for split, data in held.items()
    }
    labels = np.concatenate([data.labels for data in held.values()])
    whole, plain = together(guesses.values()), together(base.values())
    groups = [group for data in held.values() for group in data.groups]
    found["held_out"] = figures_on(labels, whole, plain, groups)
    return found
