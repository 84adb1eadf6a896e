"""What a set of tasks is like as a whole: likeness, repeated sequences, coverage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from vepa.collect.parts import TRIGGERS
from vepa.collect.tasks.model import Task

__all__ = ["MOST_ALIKE", "MOST_SEQUENCES", "Balance", "alike", "repeated", "weigh"]

#: Word-trigram Jaccard likeness above which two requests are the same in other words.
MOST_ALIKE = 0.6
#: Tasks that may share one sequence of tool calls.
MOST_SEQUENCES = 3


def _trigrams(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return frozenset(tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2)))


def alike(tasks: Sequence[Task], most: float = MOST_ALIKE) -> Iterator[tuple[str, str, float]]:
    """Pairs of tasks whose requests are more alike than allowed."""
    grams = {task.id: _trigrams(task.request) for task in tasks}
    for one, other in combinations(sorted(grams), 2):
        likeness = len(grams[one] & grams[other]) / len(grams[one] | grams[other])
        if likeness > most:
            yield one, other, likeness


def sequence_of(task: Task) -> tuple[str, ...]:
    """The tools that the careful plan calls, in order."""
    return tuple(move.call for turn in task.plans["careful"] for move in turn.moves)


def repeated(tasks: Sequence[Task], most: int = MOST_SEQUENCES) -> Iterator[list[str]]:
    """Groups of tasks that share a sequence of calls more often than allowed."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for task in tasks:
        groups.setdefault(sequence_of(task), []).append(task.id)
    for names in groups.values():
        if len(names) > most:
            yield sorted(names)


@dataclass(frozen=True, slots=True)
class Balance:
    """Figures of a set of tasks.

    Attributes
    ----------
    tasks, clean, crossing
        All; those without a foreseen bad step; those over two or more services.
    triggers, environments, personas, temperaments
        In how many tasks each occurs.
    median_calls
        Of the careful plans.
    """

    tasks: int
    clean: int
    crossing: int
    triggers: dict[str, int]
    environments: dict[str, int]
    personas: dict[str, int]
    temperaments: dict[str, int]
    median_calls: float


def weigh(tasks: Sequence[Task]) -> Balance:
    """Count what is there."""
    triggers = Counter(trigger for task in tasks for trigger in task.triggers)
    return Balance(
        tasks=len(tasks),
        clean=sum(task.clean for task in tasks),
        crossing=sum(len(task.environments) > 1 for task in tasks),
        triggers={name: triggers[name] for name in TRIGGERS},
        environments=dict(Counter(name for task in tasks for name in task.environments)),
        personas=dict(Counter(task.persona for task in tasks)),
        temperaments=dict(Counter(name for task in tasks for name in task.plans)),
        median_calls=median(len(sequence_of(task)) for task in tasks) if tasks else 0.0,
    )
