"""Mail messages as plain data, and plain data as mail messages."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, getaddresses
from typing import Any

from imap_tools import AND, H, MailMessage

from vepa.services.drivers.mail_requests import Request

__all__ = [
    "Unsendable",
    "build",
    "having_id",
    "identity",
    "identity_of",
    "matches",
    "plain_address",
    "prints",
    "summary",
    "thread",
    "whole",
]

#: Flags that people set; the rest (\\Recent) says only which login saw a message first.
_FLAGS = {"\\Seen": "read", "\\Flagged": "starred", "\\Draft": "draft", "\\Answered": "answered"}


#: RFC 5321 4.5.3.1.6: a thousand octets with the line end; longer ones are refused by servers.
_LONGEST_LINE = 998


class Unsendable(ValueError):  # noqa: N818 - what the message is
    """Addresses or a date that no mail system takes."""


def build(wanted: Request, domain: str) -> EmailMessage:
    """The message that a request describes.

    Raises
    ------
    Unsendable
        When an address or the date cannot be one.
    """
    made = EmailMessage()
    made["From"] = _addresses([wanted.sender or ""])
    for header, addresses in (("To", wanted.to), ("Cc", wanted.cc), ("", wanted.bcc)):
        checked = _addresses(addresses)
        if checked and header:
            made[header] = checked
    made["Subject"] = " ".join(wanted.subject.split())
    made["Date"] = format_datetime(_moment(wanted.date or ""))
    made["Message-ID"] = f"<{wanted.id or f'{uuid.uuid4().hex}@{domain}'}>"
    if wanted.answers:
        made["In-Reply-To"] = made["References"] = f"<{wanted.answers}>"
    made.set_content(wanted.body, cte="8bit" if _plain(wanted.body) else "base64")
    for attachment in wanted.attachments:
        made.add_attachment(attachment.content, filename=attachment.name)
    return made


def _plain(body: str) -> bool:
    """Whether a text can go as it is: ASCII, and no line longer than mail may have."""
    return body.isascii() and all(len(line) < _LONGEST_LINE for line in body.splitlines())


def summary(message: MailMessage, folder: str) -> dict[str, Any]:
    """What a list of messages shows of one."""
    return {
        "id": identity(message),
        "folder": folder,
        "from": _shown(message.headers.get("from", ())),
        "to": _shown(message.headers.get("to", ())),
        "subject": message.subject,
        "date": _date(message),
        "flags": sorted(_FLAGS[flag] for flag in message.flags if flag in _FLAGS),
    }


def whole(message: MailMessage, folder: str) -> dict[str, Any]:
    """A message with its text and its attachments, those of text with their content."""
    data = summary(message, folder)
    data["cc"] = _shown(message.headers.get("cc", ()))
    data["answers"] = identity_of(_first(message, "in-reply-to"))
    data["delivered_to"] = _first(message, "delivered-to")
    data["text"] = message.text.replace("\r\n", "\n").rstrip("\n")
    data["attachments"] = [
        {
            "name": part.filename,
            "type": part.content_type,
            "content": part.payload.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
            if part.content_type.startswith("text/")
            else None,
        }
        for part in message.attachments
    ]
    return data


def prints(fetched: Sequence[Any]) -> list[str]:
    """A fingerprint of each message: hash of its bytes, and the flags that people set.

    Much faster than `whole` where only a difference matters.
    """
    found = []
    for at, part in enumerate(fetched):
        if not isinstance(part, tuple):
            continue
        rest = fetched[at + 1] if at + 1 < len(fetched) else b""
        around = part[0] + (rest if isinstance(rest, bytes) else b"")
        flags = sorted(word for flag, word in _FLAGS.items() if flag.encode() in around)
        found.append(" ".join([hashlib.sha256(part[1]).hexdigest(), *flags]))
    return sorted(found)


def thread(messages: Sequence[dict[str, Any]], start: str) -> list[dict[str, Any]]:
    """The messages that hang together with one by their answers, oldest first, each once."""
    together = {start}
    grown = True
    while grown:
        grown = False
        for each in messages:
            linked = {each["id"], each["answers"]} - {""}
            if linked & together and not linked <= together:
                together |= linked
                grown = True
    found = {each["id"]: each for each in reversed(messages) if each["id"] in together}
    return sorted(found.values(), key=lambda each: (each["date"], each["id"]))


def identity(message: MailMessage) -> str:
    """The id of a message."""
    return identity_of(_first(message, "message-id"))


def identity_of(header: str) -> str:
    """The id in a Message-ID header."""
    return header.strip().removeprefix("<").removesuffix(">")


def having_id(key: str) -> Any:
    """IMAP criteria for a message of this id."""
    return AND(header=H("Message-ID", key.replace("\\", "").replace('"', "")))


def matches(message: MailMessage, folder: str, wanted: Request) -> bool:
    """Whether a message is what a search looks for: all that it names, whatever the case."""
    data = whole(message, folder)
    everything = " ".join(str(data[key]) for key in ("from", "to", "cc", "subject", "text"))
    for needle, hay in (
        (wanted.text, everything),
        (wanted.sender_is, data["from"]),
        (wanted.recipient_is, f"{data['to']} {data['cc']}"),
        (wanted.subject_has, data["subject"]),
    ):
        if needle is not None and needle.casefold() not in hay.casefold():
            return False
    for flag, want in (("read", _opposite(wanted.unread)), ("starred", wanted.starred)):
        if want is not None and (flag in data["flags"]) != want:
            return False
    after = wanted.since is None or data["date"] >= _iso(_moment(wanted.since))
    return after and (wanted.before is None or data["date"] < _iso(_moment(wanted.before)))


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def plain_address(text: str | None) -> str:
    """The address without a display name."""
    return getaddresses([text or ""])[0][1]


def _addresses(texts: Sequence[str]) -> list[Address]:
    made = []
    for text in texts:
        found = getaddresses([text])
        name, address = found[0]
        local, at, host = address.rpartition("@")
        alone = len(found) == 1 and text.isprintable() and not any(map(str.isspace, address))
        if not (alone and local and at and host):
            raise Unsendable(f"{text!r} is no mail address")
        try:
            made.append(Address(display_name=name, username=local, domain=host))
        except (ValueError, IndexError):
            raise Unsendable(f"{address!r} is no mail address") from None
    return made


def _moment(text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise Unsendable(
            f"{text!r} is no date; write it like 2026-03-02 or 2026-03-02T09:00:00Z"
        ) from None
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


def _date(message: MailMessage) -> str:
    when = message.date if message.date.tzinfo else message.date.replace(tzinfo=UTC)
    return _iso(when.astimezone(UTC))


def _iso(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def _first(message: MailMessage, header: str) -> str:
    values = message.headers.get(header, ("",))
    return str(values[0]).strip()


def _shown(values: Sequence[str]) -> str:
    pairs = [(_decoded(name), address) for name, address in getaddresses(list(values))]
    return ", ".join(f"{name} <{address}>" if name else address for name, address in pairs)


def _decoded(name: str) -> str:
    return str(make_header(decode_header(name)))
