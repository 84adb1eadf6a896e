"""Calendar events as plain data, and plain data as calendar events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from icalendar import Calendar, Event, vCalAddress, vText

__all__ = ["Unwritable", "busy", "changed", "period", "read", "written"]

_STAMP = "%Y%m%dT%H%M%SZ"
_VISIBILITY = ("public", "private", "confidential")
_STATUS = ("confirmed", "tentative", "cancelled")
_TEXTS = {"title": "SUMMARY", "location": "LOCATION", "description": "DESCRIPTION"}


class Unwritable(ValueError):  # noqa: N818 - what the event is
    """Fields that no calendar can hold."""


def period(since: str | None, until: str | None, days: int | None = None) -> tuple[str, str]:
    """Start and end as calendars write them; a whole day where a day is given."""
    start = _moment(since) if since else datetime(1970, 1, 2, tzinfo=UTC)
    if until is None and days is not None:
        end = start + timedelta(days=days)
    else:
        end = _moment(until) if until else datetime(2100, 1, 1, tzinfo=UTC)
    if until and len(until) == len("2026-03-02"):
        end += timedelta(days=1)
    if end <= start:
        raise Unwritable("the period ends before it begins")
    return start.strftime(_STAMP), end.strftime(_STAMP)


def read(text: str, calendar: str) -> dict[str, Any]:
    """One event of an iCalendar text."""
    event = _event(Calendar.from_ical(text))
    attendees = event.get("ATTENDEE", [])
    listed = attendees if isinstance(attendees, list) else [attendees]
    return {
        "id": str(event["UID"]),
        "calendar": calendar,
        "title": str(event.get("SUMMARY", "")),
        "start": _shown(event["DTSTART"].dt),
        "end": _shown(event["DTEND"].dt) if "DTEND" in event else _shown(event["DTSTART"].dt),
        "location": str(event.get("LOCATION", "")),
        "description": str(event.get("DESCRIPTION", "")),
        "organizer": _address(event.get("ORGANIZER", "")),
        "attendees": sorted(_address(each) for each in listed),
        "visibility": str(event.get("CLASS", "PUBLIC")).lower(),
        "status": str(event.get("STATUS", "CONFIRMED")).lower(),
    }


def written(key: str, fields: Mapping[str, Any], time: str) -> str:
    """An iCalendar text of a new event."""
    for name in ("title", "start", "end"):
        if not fields.get(name):
            raise Unwritable(f"an event needs a {name}")
    calendar = Calendar()
    calendar.add("PRODID", "-//VEPA//office//EN")
    calendar.add("VERSION", "2.0")
    event = Event()
    event.add("UID", key)
    event.add("DTSTAMP", _moment(time))
    _set(event, fields)
    calendar.add_component(event)
    return _text(calendar)


def changed(old: str, fields: Mapping[str, Any], time: str) -> str:
    """The iCalendar text of an event with some fields set anew."""
    calendar = Calendar.from_ical(old)
    event = _event(calendar)
    _put(event, "DTSTAMP", _moment(time))
    _set(event, fields)
    return _text(calendar)


def busy(text: str) -> list[dict[str, str]]:
    """The busy periods of a free-busy answer, in order."""
    parts = [part.get("FREEBUSY", []) for part in Calendar.from_ical(text).walk("VFREEBUSY")]
    found = [
        {"start": _shown(entry.start), "end": _shown(entry.end)}
        for entries in parts
        for entry in (entries if isinstance(entries, list) else [entries])
    ]
    return sorted(found, key=lambda each: (each["start"], each["end"]))


def _set(event: Event, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if name in _TEXTS:
            _put(event, _TEXTS[name], str(value))
        elif name in ("start", "end"):
            _put(event, f"DT{name.upper()}", _when(str(value)))
        elif name == "organizer":
            _put(event, "ORGANIZER", vCalAddress(f"mailto:{value}"))
        elif name == "attendees":
            _put(event, "ATTENDEE", *(_attendee(str(each)) for each in dict.fromkeys(value)))
        elif name == "visibility":
            _put(event, "CLASS", _one_of(str(value), _VISIBILITY).upper())
        elif name == "status":
            _put(event, "STATUS", _one_of(str(value), _STATUS).upper())
        else:
            raise Unwritable(f"events have no field {name!r}")
    start, end = event["DTSTART"].dt, event["DTEND"].dt
    if isinstance(start, datetime) != isinstance(end, datetime):
        raise Unwritable("start and end are both moments, or both days")
    if end <= start:
        raise Unwritable("the event ends before it begins")


def _put(event: Event, name: str, *values: Any) -> None:
    event.pop(name, None)
    for value in values:
        event.add(name, value)


def _attendee(address: str) -> vCalAddress:
    if address.count("@") != 1 or any(sign.isspace() or sign in "<>," for sign in address):
        raise Unwritable(f"{address!r} is no mail address")
    attendee = vCalAddress(f"mailto:{address}")
    attendee.params["PARTSTAT"] = vText("NEEDS-ACTION")
    return attendee


def _one_of(word: str, words: tuple[str, ...]) -> str:
    if word not in words:
        raise Unwritable(f"{word!r} is none of {', '.join(words)}")
    return word


def _event(calendar: Any) -> Event:
    for event in calendar.walk("VEVENT"):
        return event
    raise Unwritable("this is no event")


def _address(value: Any) -> str:
    return str(value).removeprefix("mailto:")


def _when(text: str) -> date:
    if len(text) == len("2026-03-02"):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    return _moment(text)


def _moment(text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise Unwritable(
            f"{text!r} is no time; write it like 2026-03-02T14:00:00Z or 2026-03-02"
        ) from None
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


def _shown(when: date) -> str:
    if isinstance(when, datetime):
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return when.isoformat()


def _text(calendar: Calendar) -> str:
    return str(calendar.to_ical(), "utf-8")
