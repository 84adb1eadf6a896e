"""The XML of CalDAV and CardDAV: what is asked, and what the answers hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

__all__ = [
    "ALL_CARDS",
    "WHICH_COLLECTIONS",
    "WHICH_ITEMS",
    "busy_between",
    "collections",
    "contents",
    "etags",
    "events_between",
    "make_collection",
    "text",
]

_DAV = "{DAV:}"
_CALENDAR = "{urn:ietf:params:xml:ns:caldav}"
_CARDS = "{urn:ietf:params:xml:ns:carddav}"
_NAMES = (
    'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" '
    'xmlns:A="urn:ietf:params:xml:ns:carddav"'
)
_HEAD = '<?xml version="1.0" encoding="utf-8"?>'

WHICH_COLLECTIONS = (
    f"{_HEAD}<D:propfind {_NAMES}><D:prop><D:resourcetype/><D:displayname/><D:getetag/>"
    "</D:prop></D:propfind>"
)
WHICH_ITEMS = f"{_HEAD}<D:propfind {_NAMES}><D:prop><D:getetag/></D:prop></D:propfind>"
ALL_CARDS = (
    f"{_HEAD}<A:addressbook-query {_NAMES}><D:prop><A:address-data/></D:prop>"
    "<A:filter/></A:addressbook-query>"
)


def events_between(start: str, end: str) -> str:
    """A query for the events that touch a period (`YYYYMMDDTHHMMSSZ`)."""
    return (
        f"{_HEAD}<C:calendar-query {_NAMES}><D:prop><C:calendar-data/></D:prop><C:filter>"
        f'<C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">'
        f'<C:time-range start="{start}" end="{end}"/>'
        "</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"
    )


def busy_between(start: str, end: str) -> str:
    """A query for the busy times of a period."""
    return (
        f'{_HEAD}<C:free-busy-query {_NAMES}><C:time-range start="{start}" end="{end}"/>'
        "</C:free-busy-query>"
    )


def make_collection(kind: str, title: str) -> str:
    """What MKCOL needs for a calendar, an address book, or a plain folder."""
    inner = {"calendar": "<C:calendar/>", "addressbook": "<A:addressbook/>"}.get(kind, "")
    return (
        f"{_HEAD}<D:mkcol {_NAMES}><D:set><D:prop><D:resourcetype><D:collection/>{inner}"
        f"</D:resourcetype><D:displayname>{escape(title)}</D:displayname></D:prop></D:set></D:mkcol>"
    )


def collections(said: Any) -> list[dict[str, str]]:
    """Path, kind, title and ETag of the calendars and address books in an answer."""
    found = []
    for response in _responses(said):
        kinds = {
            f"{_CALENDAR}calendar": "calendar",
            f"{_CARDS}addressbook": "address book",
        }
        kind = next((word for tag, word in kinds.items() if _find(response, tag) is not None), None)
        if kind is not None:
            title, etag = (_find(response, _DAV + name) for name in ("displayname", "getetag"))
            found.append(
                {
                    "path": _href(response),
                    "kind": kind,
                    "title": (title.text or "") if title is not None else "",
                    "etag": (etag.text or "") if etag is not None else "",
                }
            )
    return found


def contents(said: Any, name: str) -> list[str]:
    """Texts of all elements `calendar-data` or `address-data` of an answer."""
    space = _CALENDAR if name == "calendar-data" else _CARDS
    found = (_find(response, space + name) for response in _responses(said))
    return [element.text or "" for element in found if element is not None]


def etags(said: Any) -> dict[str, str]:
    """File name -> ETag of the items of a collection."""
    found = {}
    for response in _responses(said):
        element = _find(response, f"{_DAV}getetag")
        path = _href(response)
        if element is not None and element.text and not path.endswith("/"):
            found[path.rpartition("/")[2]] = str(element.text)
    return dict(sorted(found.items()))


def text(said: Any) -> str:
    """The body of an answer as text."""
    raw = said._raw_body
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw or "")


def _responses(said: Any) -> Iterator[Any]:
    if said is not None and said.tree is not None:
        yield from said.tree.iter(f"{_DAV}response")


def _find(response: Any, tag: str) -> Any:
    return next(response.iter(tag), None)


def _href(response: Any) -> str:
    return str(_find(response, f"{_DAV}href").text)
