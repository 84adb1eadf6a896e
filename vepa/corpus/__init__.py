"""The records that all halves share, and tables of typed events."""

from vepa.corpus.events import EventRecord, EventTable, read_events

__all__ = ["EventRecord", "EventTable", "read_events"]
