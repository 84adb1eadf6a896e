"""Trace to event: what happened, in the fields of the schema."""
