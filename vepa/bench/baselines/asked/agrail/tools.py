"""What the executor may call: look-ups in the event itself, without any effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["TOOLS", "value_in"]

#: Names of the tools; the prompt `agrail-execute` says what they do.
TOOLS = ("value_in",)


def value_in(
    event: Mapping[str, str],
    domains: Mapping[str, Sequence[str]],
    field: str,
    values: Sequence[str],
) -> bool | None:
    """Whether the event has one of some values in a field.

    Parameters
    ----------
    event
        Field -> value, the visible fields alone.
    domains
        Field -> its values.
    field, values
        What is asked.

    Returns
    -------
    bool or None
        None when it cannot be looked up: no value is named, or one that the field cannot have.
    """
    known = domains.get(field, ())
    if not values or any(value not in known for value in values):
        return None
    return event[field] in values
