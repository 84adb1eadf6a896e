"""Other people's traces as trajectories: formats, streaming, and a report of every record."""

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import Format, GroupedFormat
from vepa.corpus.importing.formats import AUTO, FORMATS, format_of
from vepa.corpus.importing.reading import Import, read_traces
from vepa.corpus.importing.report import ImportReport, Notes, Skipped

__all__ = [
    "AUTO",
    "FORMATS",
    "Draft",
    "Format",
    "GroupedFormat",
    "Import",
    "ImportReport",
    "Notes",
    "Skipped",
    "format_of",
    "read_traces",
]
