"""Views: what a method may see of an event. Fields outside a view are `unknown`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vepa.bench.streams import Stream, StreamSettings, arrange, make_stream, mask_generator
from vepa.corpus.events import EventTable
from vepa.errors import SettingError, Where
from vepa.policy.schema import Schema, nearest

__all__ = ["VIEWS", "View", "apply_view", "mask_unknown", "stream_in_view", "view_of"]

#: Events masked at once.
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class View:
    """Fields that stay visible, given by naming them or by naming the hidden ones.

    Attributes
    ----------
    only
        The visible fields; empty: all but the hidden ones.
    hidden
        The fields that are blanked.
    """

    only: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def fields(self, schema: Schema, name: str = "view") -> tuple[str, ...]:
        """The visible fields over a schema, in its order.

        Raises
        ------
        SettingError
            When the view names a field that the schema does not have.
        """
        for field in (*self.only, *self.hidden):
            if field not in schema:
                raise SettingError(
                    f"the view {name!r} names the field {field!r}, which this schema does not have",
                    where=Where(field="view"),
                    remedy="use the view `full`, the only one that fits every schema",
                )
        visible = self.only or schema.names
        return tuple(f for f in schema.names if f in visible and f not in self.hidden)


#: METHOD section 8. `observable` drops what only a judge can say; `instrumented` keeps what
#: instruments at the tool boundary can know without a model.
VIEWS: Mapping[str, View] = {
    "full": View(),
    "observable": View(
        hidden=(
            "authorization",
            "confirmation",
            "scope",
            "verification",
            "disclosure",
            "harm_domain",
        )
    ),
    "instrumented": View(
        only=(
            "agent_outcome",
            "action_kind",
            "resource",
            "sensitivity",
            "instruction_origin",
            "injection",
            "recipient",
            "reversibility",
            "tool_trust",
        )
    ),
}


def view_of(name: str) -> View:
    """The view of a name; raises `SettingError` for an unknown one."""
    if name not in VIEWS:
        raise SettingError(
            f"{name!r} is not a view",
            where=Where(field="view"),
            remedy=nearest(name, tuple(VIEWS), "views"),
        )
    return VIEWS[name]


def apply_view(table: EventTable, name: str) -> EventTable:
    """The events with every field outside the view `unknown`."""
    visible = view_of(name).fields(table.schema, name)
    hidden = [at for at, field in enumerate(table.schema.names) if field not in visible]
    if not hidden:
        return table
    codes = table.codes.copy()
    codes[:, hidden] = 0
    return table.with_codes(codes)


def mask_unknown(table: EventTable, share: float, seed: int, part: int = 0) -> EventTable:
    """The events with each cell `unknown` with probability `share`; a higher share masks more.

    Parameters
    ----------
    table
        Events of one part of a stream, as `vepa.bench.streams.arrange` orders them.
    share
        Probability of a blank.
    seed
        Of the stream.
    part
        Position of the part in the stream, so that no two parts lose the same cells.

    Raises
    ------
    SettingError
        When the share is no probability.
    """
    if not 0.0 <= share <= 1.0:
        raise SettingError(
            f"{share} is no share of cells",
            where=Where(field="mask_unknown"),
            remedy="a number from 0 to 1",
        )
    if share == 0.0:
        return table
    random, codes = mask_generator(seed, part), table.codes.copy()
    for first in range(0, len(codes), _CHUNK):  # draws go row by row: chunks change none of them
        rows = codes[first : first + _CHUNK]
        rows[random.random(rows.shape) < share] = 0
    return table.with_codes(codes)


def stream_in_view(
    tables: Sequence[EventTable],
    settings: StreamSettings,
    seed: int,
    *,
    view: str,
    masked: float = 0.0,
) -> Stream:
    """The stream of labelled events as a method sees them; where tables enter a trial or a run.

    Parameters
    ----------
    tables
        Labelled events in any order.
    settings, seed
        As in `make_stream`.
    view
        Name of the view.
    masked
        Share of cells that are blanked at random.

    Raises
    ------
    InputError
        As `apply_view`, `mask_unknown` and `make_stream` raise it.
    """
    seen = [
        mask_unknown(apply_view(table, view), masked, seed, part)
        for part, table in enumerate(arrange(tables, settings))
    ]
    return make_stream(seen, settings, seed)
