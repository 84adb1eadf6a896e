"""Calendars and address books: CalDAV and CardDAV, through the caldav package.

Settings (`drivers: {caldav: ...}`)::

    port: http                      # name of a port

Request: `{do: VERB, ...}`, see `VERBS`. A collection (a calendar or an address book) is named
`HOME/NAME`, an event or a contact by its UID.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from caldav.davclient import DAVClient
from caldav.lib import error as dav_errors

from vepa.errors import InputError, Where
from vepa.services.drivers import caldav_cards as cards
from vepa.services.drivers import caldav_events as events
from vepa.services.drivers import caldav_xml as xml
from vepa.services.drivers.base import (
    Answer,
    Caller,
    Deadline,
    Endpoint,
    Parcel,
    Unreachable,
    validated,
)
from vepa.services.drivers.caldav_requests import Request
from vepa.services.drivers.dav_transport import BoundedSession

__all__ = ["VERBS", "CaldavDriver", "Settings"]

# The package takes a contact for a calendar that went wrong, and says so for every one.
logging.getLogger("caldav").setLevel(logging.ERROR)

_COLLECTION = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


class Settings(Parcel):
    """Settings of the driver (the module's head shows them)."""

    port: str = "http"


class _Refused(Exception):  # noqa: N818 - what the server says
    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.answer = Answer(ok=False, status=status, text=text)


class CaldavDriver:
    """Speaks CalDAV and CardDAV to one service; one client an account."""

    def __init__(self, settings: Mapping[str, Any], endpoint: Endpoint):
        wanted = validated(Settings, settings, "drivers.caldav")
        port = endpoint.ports.get(wanted.port)
        if port is None:
            raise InputError(
                f"drivers.caldav: the service has no port {wanted.port!r}",
                where=Where(field="port"),
            )
        self._base = f"http://{endpoint.host}:{port}"
        self._clients: dict[str, tuple[DAVClient, BoundedSession]] = {}

    def request(self, request: Any, caller: Caller, deadline: Deadline) -> Answer:
        """See `Driver.request`."""
        wanted = validated(Request, request, "caldav")
        try:
            data = VERBS[wanted.do](self, wanted, caller, deadline)
        except _Refused as refused:
            return refused.answer
        except events.Unwritable as fault:
            return Answer(ok=False, status=400, text=str(fault))
        return Answer(ok=True, status=200, data=data)

    def close(self) -> None:
        """See `Driver.close`."""
        for _, session in self._clients.values():
            session.close()
        self._clients.clear()

    # Verbs

    def _collections(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        found = self._of_homes(wanted, caller, deadline)
        return [{key: each[key] for key in ("name", "kind", "title")} for each in found]

    def _prints(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        """Every item below the homes with its ETag, a hash of its content.

        A collection's own ETag depends on the order of its files on the disk, so that it does not
        tell of a difference; but two that have the same one hold the same, as many empty ones do.
        """
        seen: dict[str, dict[str, str]] = {}
        found = {}
        for each in self._of_homes(wanted, caller, deadline):
            items = seen.get(each["etag"])
            if items is None:
                said = self._send(
                    "PROPFIND", _place(each["name"]), caller, deadline,
                    xml.WHICH_ITEMS, {"Depth": "1"},
                )  # fmt: skip
                items = xml.etags(said)
                if each["etag"]:
                    seen[each["etag"]] = items
            found[each["name"]] = {"kind": each["kind"], "title": each["title"], "items": items}
        return found

    def _events(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        found = []
        query = xml.events_between(*events.period(wanted.since, wanted.until, wanted.days))
        for name in wanted.collections:
            said = self._send("REPORT", _place(name), caller, deadline, query, {"Depth": "1"})
            found += [events.read(text, name) for text in xml.contents(said, "calendar-data")]
        found = [each for each in found if _has(each, wanted.text)]
        found.sort(key=lambda each: (each["start"], each["calendar"], each["id"]))
        return found[: wanted.limit]

    def _event(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        return events.read(self._get(wanted, ".ics", caller, deadline), str(wanted.collection))

    def _put_event(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        key = wanted.id or uuid.uuid4().hex
        text = events.written(key, wanted.fields, str(wanted.time))
        self._put(str(wanted.collection), key, text, caller, deadline, new=True)
        return events.read(text, str(wanted.collection))

    def _change_event(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        old = self._get(wanted, ".ics", caller, deadline)
        text = events.changed(old, wanted.fields, str(wanted.time))
        self._put(str(wanted.collection), str(wanted.id), text, caller, deadline)
        return events.read(text, str(wanted.collection))

    def _copy_event(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        text = self._get(wanted, ".ics", caller, deadline)
        self._put(str(wanted.target), str(wanted.id), text, caller, deadline)
        return {"id": wanted.id, "calendar": wanted.target}

    def _busy(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        start, end = events.period(wanted.since, wanted.until)
        found = []
        for name in wanted.collections:
            said = self._send(
                "REPORT", _place(name), caller, deadline, xml.busy_between(start, end),
                {"Depth": "1"},
            )  # fmt: skip
            found.append({"calendar": name, "busy": events.busy(xml.text(said))})
        return found

    def _cards(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        found = []
        for name in wanted.collections:
            said = self._send(
                "REPORT", _place(name), caller, deadline, xml.ALL_CARDS, {"Depth": "1"}
            )
            found += [cards.read(text, name) for text in xml.contents(said, "address-data")]
        found = [each for each in found if _has(each, wanted.text)]
        found.sort(key=lambda each: (each["name"], each["book"], each["id"]))
        return found[: wanted.limit]

    def _card(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        return cards.read(self._get(wanted, ".vcf", caller, deadline), str(wanted.collection))

    def _put_card(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        key = wanted.id or uuid.uuid4().hex
        text = cards.written({"id": key, **wanted.fields})
        self._put(str(wanted.collection), key, text, caller, deadline, ".vcf", new=True)
        return cards.read(text, str(wanted.collection))

    def _change_card(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        old = cards.read(self._get(wanted, ".vcf", caller, deadline), str(wanted.collection))
        text = cards.written({**old, **wanted.fields})
        self._put(str(wanted.collection), str(wanted.id), text, caller, deadline, ".vcf")
        return cards.read(text, str(wanted.collection))

    def _delete(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        place = _place(str(wanted.collection)) + _file(str(wanted.id), str(wanted.suffix))
        self._send("DELETE", place, caller, deadline)
        return {"deleted": wanted.id, "from": wanted.collection}

    def _make(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        title = wanted.title or str(wanted.collection).partition("/")[2]
        body = xml.make_collection(str(wanted.kind), title)
        name = str(wanted.collection)
        place = _place(name) if wanted.kind else f"/{quote(name)}/"
        self._send("MKCOL", place, caller, deadline, body)
        return {"made": name}

    # What the verbs share

    def _of_homes(
        self, wanted: Request, caller: Caller, deadline: Deadline
    ) -> list[dict[str, str]]:
        found = []
        for home in wanted.homes:
            said = self._send(
                "PROPFIND", f"/{quote(home)}/", caller, deadline,
                xml.WHICH_COLLECTIONS, {"Depth": "1"}, also=(403, 404),
            )  # fmt: skip
            found += [
                {"name": unquote(each["path"]).strip("/"), **each} for each in xml.collections(said)
            ]
        return sorted(found, key=lambda each: each["name"])

    def _get(self, wanted: Request, suffix: str, caller: Caller, deadline: Deadline) -> str:
        place = _place(str(wanted.collection)) + _file(str(wanted.id), suffix)
        return xml.text(self._send("GET", place, caller, deadline))

    def _put(
        self,
        collection: str,
        key: str,
        text: str,
        caller: Caller,
        deadline: Deadline,
        suffix: str = ".ics",
        *,
        new: bool = False,
    ) -> None:
        kind = "text/calendar" if suffix == ".ics" else "text/vcard"
        headers = {"Content-Type": f"{kind}; charset=utf-8"}
        if new:
            headers["If-None-Match"] = "*"
        place = _place(collection) + _file(key, suffix)
        self._send("PUT", place, caller, deadline, text, headers)

    def _send(
        self,
        method: str,
        path: str,
        caller: Caller,
        deadline: Deadline,
        body: str = "",
        headers: Mapping[str, str] | None = None,
        also: tuple[int, ...] = (),
    ) -> Any:
        """One exchange; `also` names refusals that the verb can live with."""
        client, session = self._client(caller)
        session.transport.deadline = deadline
        try:
            said = client.request(self._base + path, method, body, dict(headers or {}))
        except dav_errors.AuthorizationError as refused:
            if 403 in also:
                return None
            why = str(getattr(refused, "reason", "") or "forbidden")
            raise _Refused(403, f"{path.rpartition('/')[0]}: {why}") from None
        except dav_errors.DAVError as fault:
            raise Unreachable(f"no answer: {fault}") from None
        except Unreachable:
            self.close()
            raise
        if said.status >= 300 and said.status not in also:  # a redirect is no answer either
            raise _Refused(said.status, xml.text(said).strip() or said.reason or path)
        return said if said.status < 300 else None

    def _client(self, caller: Caller) -> tuple[DAVClient, BoundedSession]:
        known = self._clients.get(caller.role)
        if known is None:
            client = DAVClient(
                self._base,
                username=caller.user,
                password=caller.password,
                auth_type="basic",
                enable_rfc6764=False,
                rate_limit_handle=False,
            )
            client.session.close()
            session = BoundedSession()
            client.session = session  # type: ignore[assignment]  # it takes httpx's answers too
            known = self._clients[caller.role] = client, session
        return known


Verb = Callable[[CaldavDriver, Request, Caller, Deadline], Any]

#: What a request may `do`.
VERBS: dict[str, Verb] = {
    "collections": CaldavDriver._collections,
    "events": CaldavDriver._events,
    "event": CaldavDriver._event,
    "put_event": CaldavDriver._put_event,
    "change_event": CaldavDriver._change_event,
    "copy_event": CaldavDriver._copy_event,
    "busy": CaldavDriver._busy,
    "cards": CaldavDriver._cards,
    "card": CaldavDriver._card,
    "put_card": CaldavDriver._put_card,
    "change_card": CaldavDriver._change_card,
    "delete": CaldavDriver._delete,
    "make": CaldavDriver._make,
    "prints": CaldavDriver._prints,
}


def _place(collection: str) -> str:
    if not _COLLECTION.fullmatch(collection) or ".." in collection:
        raise _Refused(404, f"there is no calendar or address book {collection!r}")
    return f"/{collection}/"


def _file(key: str, suffix: str) -> str:
    if not key or key.startswith(".") or not key.isprintable():
        raise _Refused(404, f"there is nothing with the id {key!r}")
    return quote(key, safe="@") + suffix


def _has(entry: Mapping[str, Any], text: str | None) -> bool:
    hay = " ".join(str(value) for value in entry.values())
    return text is None or text.casefold() in hay.casefold()
