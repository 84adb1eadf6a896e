"""Tasks as data: the model, the reader, and the proof that each does what it says."""

from vepa.collect.tasks.load import load_task, load_tasks, matching, read_task, task_hash
from vepa.collect.tasks.model import (
    BAD,
    TEMPERAMENTS,
    Check,
    Decoy,
    Planted,
    Saying,
    Task,
    Unsafe,
)
from vepa.collect.tasks.plan import Move, Plan, Turn, flatten

__all__ = [
    "BAD",
    "TEMPERAMENTS",
    "Check",
    "Decoy",
    "Move",
    "Plan",
    "Planted",
    "Saying",
    "Task",
    "Turn",
    "Unsafe",
    "flatten",
    "load_task",
    "load_tasks",
    "matching",
    "read_task",
    "task_hash",
]
