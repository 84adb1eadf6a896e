"""The form of a request to the mail driver."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from vepa.services.drivers.base import Parcel

__all__ = ["Attachment", "Request"]

_NEEDED: dict[str, tuple[str, ...]] = {
    "read": ("id",),
    "thread": ("id",),
    "send": ("sender", "date"),
    "append": ("sender", "date"),
    "move": ("id", "target"),
    "delete": ("id",),
    "mark": ("id",),
    "make_folder": ("folder",),
    "drop_folder": ("folder",),
}


class Attachment(Parcel):
    """A text file that goes with a message."""

    name: str = Field(min_length=1)
    content: str


class Request(Parcel):
    """One request.

    Attributes
    ----------
    do
        The verb.
    id
        Message-ID without angle brackets: read, thread, move, delete, mark.
    folder
        Where to look, or to put a message; all folders (`INBOX` for `append`) when left out.
    target
        Folder that a message moves to.
    text, sender_is, recipient_is, subject_has, since, before, unread, starred, limit
        What `search` looks for; `since` and `before` are days or moments, ISO 8601.
    sender, to, cc, bcc, subject, body, date, id, answers, attachments
        Of a new message; `date` ISO 8601, `answers` the id of the message that it replies to.
        Without an id it gets a random one.
    keep
        `send`: the sender's folder that gets a copy; none when left out.
    flags
        `append`: IMAP flags.
    seen, flagged
        `mark`: what to set or clear.
    """

    do: Literal[
        "folders", "search", "read", "thread", "dump", "prints", "send", "append",
        "move", "delete", "mark", "make_folder", "drop_folder",
    ]  # fmt: skip
    id: str | None = None
    folder: str | None = None
    target: str | None = None
    text: str | None = None
    sender_is: str | None = None
    recipient_is: str | None = None
    subject_has: str | None = None
    since: str | None = None
    before: str | None = None
    unread: bool | None = None
    starred: bool | None = None
    limit: int | None = Field(default=None, ge=1)
    sender: str | None = None
    to: list[str] = []
    cc: list[str] = []
    bcc: list[str] = []
    subject: str = ""
    body: str = ""
    date: str | None = None
    answers: str | None = None
    attachments: list[Attachment] = []
    keep: str | None = None
    flags: list[str] = []
    seen: bool | None = None
    flagged: bool | None = None

    @field_validator("to", "cc", "bcc", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Request:
        for name in _NEEDED.get(self.do, ()):
            if getattr(self, name) is None:
                raise ValueError(f"{self.do} needs {name!r}")
        return self
