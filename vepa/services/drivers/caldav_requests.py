"""The form of a request to the caldav driver."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from vepa.services.drivers.base import Parcel

__all__ = ["Request"]

_NEEDED: dict[str, tuple[str, ...]] = {
    "event": ("collection", "id"),
    "put_event": ("collection", "time"),
    "change_event": ("collection", "id", "time"),
    "copy_event": ("collection", "id", "target"),
    "card": ("collection", "id"),
    "put_card": ("collection",),
    "change_card": ("collection", "id"),
    "delete": ("collection", "id", "suffix"),
    "make": ("collection",),
}


class Request(Parcel):
    """One request.

    Attributes
    ----------
    do
        The verb.
    homes
        `collections`, `prints`: whose collections; those closed to the caller are left out.
    collections
        `events`, `busy`, `cards`: where to look.
    collection, id, suffix
        One collection, one item in it, and the item's ending (`.ics`, `.vcf`) for `delete`.
    target
        `copy_event`: another calendar.
    since, until
        Days or moments, ISO 8601; nothing: no limit.
    days
        Without `until`: so many days from `since` on.
    text
        What an item has to contain, in any letter case.
    limit
        At most so many.
    fields
        Of a new or changed event (title, start, end, location, description, organizer, attendees,
        visibility, status) or contact (name, organization, title, mail, phone, note).
    time
        The moment of the change, ISO 8601.
    kind, title
        `make`: a calendar, an address book, or (nothing) a home for such.
    """

    do: Literal[
        "collections", "events", "event", "put_event", "change_event", "copy_event", "busy",
        "cards", "card", "put_card", "change_card", "delete", "make", "prints",
    ]  # fmt: skip
    homes: list[str] = []
    collections: list[str] = []
    collection: str | None = None
    id: str | None = None
    suffix: Literal[".ics", ".vcf"] | None = None
    target: str | None = None
    since: str | None = None
    until: str | None = None
    days: int | None = Field(default=None, ge=1)
    text: str | None = None
    limit: int | None = Field(default=None, ge=1)
    fields: dict[str, Any] = {}
    time: str | None = None
    kind: Literal["calendar", "addressbook"] | None = None
    title: str | None = None

    @field_validator("homes", "collections", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Request:
        for name in _NEEDED.get(self.do, ()):
            if getattr(self, name) is None:
                raise ValueError(f"{self.do} needs {name!r}")
        return self
