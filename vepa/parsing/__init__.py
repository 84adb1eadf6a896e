"""Trace to event: what happened, in the fields of the schema."""

from vepa.parsing.directives import Lexicon, bundled_lexicon
from vepa.parsing.instrumented import (
    INSTRUMENTED,
    InstrumentedParser,
    parse_call,
    parse_step,
    parse_trajectory,
)

__all__ = [
    "INSTRUMENTED",
    "InstrumentedParser",
    "Lexicon",
    "bundled_lexicon",
    "parse_call",
    "parse_step",
    "parse_trajectory",
]
