"""The records that all halves share, and tables of typed events."""

from vepa.corpus.events import EventRecord, EventTable, read_events
from vepa.corpus.tools import ToolEvent, ToolMetadata
from vepa.corpus.trajectory import (
    Call,
    Premises,
    Result,
    Step,
    Trajectory,
    stream_trajectories,
    write_trajectories,
)

__all__ = [
    "Call",
    "EventRecord",
    "EventTable",
    "Premises",
    "Result",
    "Step",
    "ToolEvent",
    "ToolMetadata",
    "Trajectory",
    "read_events",
    "stream_trajectories",
    "write_trajectories",
]
