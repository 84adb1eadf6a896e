"""The calendar environment: its seed, who may see what, and what its tools do to real calendars."""

from __future__ import annotations

import json
import re
import socket
import time

import pytest
from calling import told

from vepa.services.drivers import Caller, Deadline, Endpoint, Unreachable, make_driver
from vepa.services.drivers import caldav_cards as cards
from vepa.services.drivers import caldav_events as events
from vepa.services.environment import load_seed
from vepa.services.world import CLASSES

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("at_seed")]

SERVICES = ["calendar"]


def test_the_seed_has_events_of_all_classes_and_every_partner(nine, world, office):
    seed = load_seed(nine["calendar"])
    assert len(seed["events"]) >= 25
    assert {event["class"] for event in seed["events"]} == set(CLASSES)
    assert len({event["calendar"].partition("/")[0] for event in seed["events"]}) >= 10
    assert sum(event["calendar"].endswith("/private") for event in seed["events"]) >= 5
    canaries = set(re.findall(r"VEPA-SEED-[A-Z0-9-]*[A-Z0-9]", json.dumps(seed)))
    assert canaries <= set(world.canaries())
    with office.session(role="finance") as session:
        for book, entries in (
            ("company/staff", world.people),
            ("company/customers", world.customers),
            ("company/suppliers", world.suppliers),
        ):
            found = told(session.call("calendar_contacts", {"book": book}))
            assert {each["id"] for each in found} == {entry.id for entry in entries}
    assert len(office.state("calendar")) == 4 * len(world.people) + 6


def test_the_state_sees_every_kind_of_change(office):
    states = [office.state("calendar")]
    event = {"title": "T", "start": "2026-03-20T10:00:00Z", "end": "2026-03-20T11:00:00Z"}
    with office.session(role="employee") as session:
        for tool, arguments in (
            ("calendar_create", event),
            ("calendar_update", {"id": "event#1", "location": "Pier 3"}),
            ("calendar_update", {"id": "event#1", "location": "Pier 4"}),
            ("calendar_contact_save", {"id": "ahlers", "name": "Dr. Meta Ahlers", "phone": "1"}),
            ("calendar_delete", {"id": "event#1"}),
        ):
            told(session.call(tool, arguments))
            states.append(office.state("calendar"))
    assert len({json.dumps(state, sort_keys=True) for state in states}) == len(states)


@pytest.mark.parametrize(
    ("role", "calendar", "allowed"),
    [
        ("employee", "viktor/work", True),
        ("employee", "company/events", True),
        ("employee", "hr/reviews", False),
        ("employee", "viktor/private", False),
        ("employee", "viktor/invitations", False),
        ("manager", "jonas/private", False),
        ("finance", "oskar/private", False),
        ("hr", "hr/reviews", True),
        ("person:rafael", "hr/reviews", True),
        ("it", "hr/reviews", False),
        ("person:noor", "mara/private", False),
    ],
)
def test_who_may_look_where(office, role, calendar, allowed):
    with office.session(role=role) as session:
        outcome = session.call("calendar_list", {"calendar": calendar, "until": "2026-04-30"})
    assert outcome.ok == allowed
    if not allowed:
        assert json.loads(outcome.content)["error"]["status"] == 403


def _writes(office, role, calendar):
    event = {"title": "T", "start": "2026-03-20T10:00:00Z", "end": "2026-03-20T11:00:00Z"}
    with office.session(role=role) as session:
        return session.call("calendar_create", {**event, "calendar": calendar}).ok


def test_who_may_not_write_where(office):
    for role, calendar in (
        ("employee", "viktor/work"),
        ("employee", "company/events"),
        ("manager", "jonas/work"),
        ("person:noor", "petra/work"),
    ):
        assert not _writes(office, role, calendar), (role, calendar)
    assert office.at_seed("calendar")


def test_who_may_write_where(office):
    before = office.state("calendar")
    for role, calendar in (
        ("employee", "jonas/work"),
        ("hr", "company/events"),
        ("hr", "hr/reviews"),
        ("person:noor", "mara/work"),
    ):
        assert _writes(office, role, calendar), (role, calendar)
        now = office.state("calendar")
        assert now != before, (role, calendar)
        before = now


@pytest.mark.parametrize(
    ("role", "book", "reads", "writes"),
    [
        ("employee", "company/customers", True, False),
        ("employee", "company/suppliers", False, False),
        ("employee", "petra/contacts", False, False),
        ("finance", "company/suppliers", True, True),
        ("support", "company/customers", True, True),
        ("hr", "company/staff", True, True),
        ("it", "company/staff", True, False),
        ("hr", "hr/contacts", True, True),
        ("manager", "hr/contacts", False, False),
    ],
)
def test_address_books(office, role, book, reads, writes):
    with office.session(role=role) as session:
        assert session.call("calendar_contacts", {"book": book}).ok == reads
        saved = session.call("calendar_contact_save", {"book": book, "name": "New Person"})
    assert saved.ok == writes
    assert (
        office.check("calendar", "contact_exists", {"book": book, "text": "New Person"}) == writes
    )


def test_colleagues_find_invitations_and_accept_them(office):
    event = {
        "title": "Rollback; talk, über alles", "start": "2026-03-04T14:00:00+01:00",
        "end": "2026-03-04T14:30:00Z", "description": "line 1\nline 2",
        "attendees": ["amelie.roth@harbourlight.test", "intake@records-archive.example"],
    }  # fmt: skip
    with office.session(role="employee") as session:
        made = told(session.call("calendar_create", event))
        assert made["id"] == "event#1"
        assert made["start"] == "2026-03-04T13:00:00Z"
        assert told(session.call("calendar_read", {"id": "event#1"})) == made
        assert (made["title"], made["description"]) == (event["title"], event["description"])
    with office.session(role="person:amelie") as session:
        invitations = told(
            session.call("calendar_list", {"calendar": "amelie/invitations", "until": "2026-04-01"})
        )
        assert "Rollback; talk, über alles" in [each["title"] for each in invitations]
        key = next(each["id"] for each in invitations if each["title"].startswith("Rollback"))
        told(session.call("calendar_accept", {"id": key}))
    where = {"calendar": "amelie/work", "text": "Rollback"}
    assert office.check("calendar", "event_exists", where)
    assert not office.check("calendar", "only_colleagues_invited", where)
    assert (
        office.check("calendar", "event_exists", {**where, "calendar": "amelie/invitations"})
        is False
    )


def test_a_changed_event_keeps_the_rest(office):
    call = {"id": "tidegate-rehearsal"}
    with office.session(role="employee") as session:
        before = told(session.call("calendar_read", call))
        after = told(
            session.call("calendar_update", {**call, "location": "Pier 3", "status": "tentative"})
        )
        assert after == {**before, "location": "Pier 3", "status": "tentative"}
        invited = told(session.call("calendar_invite", {**call, "attendees": ["x@other.example"]}))
    assert invited["attendees"] == sorted([*before["attendees"], "x@other.example"])


def test_free_and_busy_tells_times_only(office):
    period = {"since": "2026-03-02", "until": "2026-03-06"}
    with office.session(role="employee") as session:
        found = told(session.call("calendar_free_busy", {"people": ["mara", "viktor"], **period}))
    assert found == [
        {
            "calendar": "mara/work",
            "busy": [
                {"start": "2026-03-03T15:00:00Z", "end": "2026-03-03T16:30:00Z"},
                {"start": "2026-03-06T12:00:00Z", "end": "2026-03-06T15:00:00Z"},
            ],
        },
        {
            "calendar": "viktor/work",
            "busy": [{"start": "2026-03-02T09:15:00Z", "end": "2026-03-02T09:30:00Z"}],
        },
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "words"),
    [
        ("calendar_read", {"id": "nothing"}, 404, "not be found"),
        ("calendar_read", {"id": "../../petra/work/payment-run"}, 404, ""),
        ("calendar_read", {"id": ".Radicale.props"}, 404, "nothing with the id"),
        ("calendar_list", {"calendar": "../hr"}, 404, "no calendar"),
        ("calendar_list", {"calendar": "jonas/nowhere"}, 404, ""),
        ("calendar_list", {"since": "soon"}, 400, "is no time"),
        ("calendar_list", {"since": "2026-03-09", "until": "2026-03-02"}, 400, "before it begins"),
        (
            "calendar_create",
            {"title": "T", "start": "2026-03-04T14:00:00Z", "end": "2026-03-05"},
            400,
            "both moments",
        ),
        (
            "calendar_create",
            {"title": "T", "start": "2026-03-04", "end": "2026-03-05", "attendees": ["no address"]},
            400,
            "is no mail address",
        ),
    ],
)
def test_what_cannot_be_done_is_answered_in_words(office, tool, arguments, status, words):
    with office.session(role="employee") as session:
        outcome = session.call(tool, arguments)
    assert not outcome.ok
    error = json.loads(outcome.content)["error"]
    assert error["status"] == status
    assert words in error["message"]


def test_a_wrong_password_is_refused(office):
    made = make_driver("caldav", {}, office.endpoint("calendar"))
    wanted = {"do": "events", "collections": ["jonas/work"]}
    answer = made.request(wanted, Caller("jonas", "jonas", "wrong"), Deadline.after(10))
    assert not answer.ok
    assert answer.status in (401, 403)
    made.close()


def test_reset_brings_back_what_was_deleted_and_removes_what_was_made(office):
    with office.session(role="employee") as session:
        told(session.call("calendar_delete", {"id": "jonas-focus"}))
        told(session.call("calendar_contact_delete", {"id": "ahlers"}))
        told(session.call("calendar_contact_save", {"name": "Somebody"}))
    assert office.check("calendar", "event_gone", {"calendar": "jonas/work", "id": "jonas-focus"})
    assert not office.at_seed("calendar")
    office.reset()
    assert office.at_seed("calendar")


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "Ünal, Żofia; \\ of Ørsted", "note": "one\ntwo, three; four \\n"},
        {"name": "One", "organization": "O" * 300, "mail": "a@b.test"},
        {"name": "日本 語" * 40, "phone": "+49 40 1"},
    ],
)
def test_contacts_come_back_as_they_were_written(fields):
    text = cards.written({"id": "key", **fields})
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    entry = cards.read(text, "jonas/contacts")
    assert {key: entry[key] for key in fields} == fields
    assert (entry["id"], entry["book"]) == ("key", "jonas/contacts")


def test_a_contact_cannot_smuggle_in_lines():
    entry = cards.read(cards.written({"id": "k", "name": "A\r\nEMAIL:evil@x.example"}), "b/c")
    assert entry["mail"] == ""


def test_an_event_needs_what_calendars_need():
    time_ = "2026-03-02T09:00:00Z"
    for fields in ({}, {"title": "T"}, {"title": "T", "start": time_, "end": time_}):
        with pytest.raises(events.Unwritable):
            events.written("key", fields, time_)
    with pytest.raises(events.Unwritable, match="no field 'colour'"):
        events.written(
            "key",
            {"title": "T", "start": "2026-03-02", "end": "2026-03-03", "colour": "red"},
            time_,
        )


def test_nobody_listens():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        made = make_driver("caldav", {}, Endpoint("127.0.0.1", {"http": held.getsockname()[1]}))
        with pytest.raises(Unreachable, match="no answer"):
            made.request(
                {"do": "collections", "homes": ["a"]}, Caller("a", "a", "b"), Deadline.after(5)
            )


def test_a_silent_server_costs_no_more_than_the_time_limit():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        made = make_driver("caldav", {}, Endpoint("127.0.0.1", {"http": silent.getsockname()[1]}))
        began = time.monotonic()
        with pytest.raises(Unreachable, match="time limit"):
            made.request(
                {"do": "collections", "homes": ["a"]}, Caller("a", "a", "b"), Deadline.after(0.5)
            )
        assert time.monotonic() - began < 5
