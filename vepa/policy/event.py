"""A validated event: one agent-owned outcome as codes over a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from vepa.errors import EventError, Where
from vepa.policy.schema import Schema

__all__ = ["UNITS", "Event", "Unit", "check_unit"]

#: What one event describes: a whole trajectory, one executed step, or one proposed call.
Unit = Literal["trajectory", "step", "call"]
UNITS: tuple[Unit, ...] = get_args(Unit)


def check_unit(unit: object) -> Unit:
    """`unit` itself when it is one of `UNITS`.

    Raises
    ------
    EventError
        Otherwise.
    """
    for known in UNITS:
        if unit == known:
            return known
    raise EventError(
        f"{unit!r} is not a unit", where=Where(field="unit"), remedy=f"one of: {', '.join(UNITS)}"
    )


@dataclass(frozen=True, slots=True)
class Event:
    """An event that fits its schema.

    Attributes
    ----------
    codes
        One code a field, in the schema's order; 0 is `unknown`.
    schema
        The schema that the codes belong to.
    unit
        What the event describes.
    """

    codes: tuple[int, ...]
    schema: Schema
    unit: Unit = "trajectory"

    @classmethod
    def build(cls, schema: Schema, fields: Mapping[str, str], unit: str = "trajectory") -> Event:
        """Validate a mapping of field to value.

        Raises
        ------
        EventError
            For an unknown field, value or unit.
        """
        return cls(schema.encode(fields), schema, check_unit(unit))

    @property
    def fields(self) -> dict[str, str]:
        """The event spelled out, every field with its value."""
        return self.schema.decode(self.codes)
