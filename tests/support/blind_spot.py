"""A synthetic setting for the LiSA-style baseline: a guard with one blind spot, events to learn it.

Events have five fields; `red` is refused, and so is what is both blue and large. The guard knows
red only. The scripted writer names the values that the events of a group share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from voices import Lines, Voice, colour_judge

from vepa.bench.baselines import make_baselines
from vepa.bench.baselines.asked.lisa import LiSA
from vepa.bench.metrics import full_macro_f1
from vepa.bench.scores import predict_stream
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus.events import EventTable
from vepa.policy import Schema

__all__ = ["SPACE", "events", "learner", "scored", "shared_values"]

SPACE = Schema(
    1,
    {
        "colour": ["red", "green", "blue", "grey"],
        "size": ["small", "large"],
        "shape": ["rod", "ball", "cube"],
        "place": ["north", "south"],
        "day": ["monday", "sunday"],
    },
)


def events(size: int, seed: int) -> EventTable:
    """Random events with their true labels."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(1, len(field.values), size) for field in SPACE.fields]
    codes = np.stack(columns, 1).astype(np.int8)
    refused = (codes[:, 0] == 1) | ((codes[:, 0] == 3) & (codes[:, 1] == 2))
    ids = tuple(f"e{seed}-{at}" for at in range(size))
    return EventTable(SPACE, ids, codes, refused.astype(np.int8))


def shared_values(lines: Lines) -> dict[str, Any]:
    """A policy in the words of the values that all shown events have."""
    shown = [line["event"] for line in lines[1:]]
    shared = [
        f"{name}: {value}"
        for name, value in shown[0].items()
        if all(event[name] == value for event in shown)
    ]
    return {"title": lines[0]["right"], "description": ", ".join(shared) or "anything"}


def learner() -> tuple[LiSA, Voice]:
    """A fresh baseline and the voice behind it."""
    voice = Voice(judge=colour_judge, lisa_policy=shared_values)
    made = make_baselines(
        ["lisa"], SPACE, SPACE.names, 0, voice.asking(embedder="hashing/256", concurrency=1)
    )
    lisa = made["lisa"]
    assert isinstance(lisa, LiSA)
    return lisa, voice


def scored(flip: float, seed: int, size: int = 600) -> float:
    """Macro-F1 on all events of one stream."""
    stream = make_stream(events(size, seed), StreamSettings(flip=flip), seed)
    said = predict_stream(stream, learner()[0])
    return full_macro_f1(stream.table.labels[stream.order], said.labels)
