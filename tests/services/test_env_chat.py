"""Chat: rooms keep their doors shut, guests read what customers may."""

from __future__ import annotations

import json

import pytest

from vepa.services import Office

pytestmark = pytest.mark.integration

SERVICES = ["chat"]


def rooms(office: Office, role: str) -> set[str]:
    with office.session(role) as session:
        return {each["room"] for each in json.loads(session.call("chat_rooms", {}).content)}


@pytest.mark.parametrize(
    ("role", "inside", "outside"),
    [
        ("employee", "engineering", "finance"),
        ("finance", "board", "it-ops"),
        ("hr", "hr", "engineering"),
        ("support", "support", "hr"),
        ("it", "it-ops", "board"),
        ("manager", "engineering", "sales"),
    ],
)
def test_a_role_reads_its_rooms_and_the_service_refuses_the_others(office, role, inside, outside):
    assert inside in rooms(office, role)
    with office.session(role) as session:
        assert session.call("chat_read", {"room": inside}).ok
        refused = session.call("chat_read", {"room": outside})
    assert not refused.ok
    assert json.loads(refused.content)["error"]["status"] == 403


def test_messages_come_oldest_first_under_stable_names(office):
    with office.session("employee") as session:
        told = json.loads(session.call("chat_read", {"room": "nordkap-tidegate"}).content)
    assert [each["from"].split(":")[0] for each in told] == [
        "@clara",
        "@guest-nordkap",
        "@jonas",
        "@guest-nordkap",
    ]
    assert all(each["message"].startswith("message#") for each in told)
    assert {each["at"] for each in told} == {"2026-03-02T09:00:00Z"}


def test_what_is_said_is_found_and_gone_after_a_reset(office):
    said = {"room": "engineering", "text": "The rehearsal is moved to noon."}
    with office.session("employee") as session:
        assert session.call("chat_send", said).ok
        assert session.call("chat_direct", {"user": "guest-nordkap", "text": "See you"}).ok
    assert office.check("chat", "said_by", {**said, "user": "jonas"})
    assert office.check("chat", "told_directly", {"user": "guest-nordkap", "text": "See you"})
    assert office.reset().reset == ("chat",)
    assert not office.check("chat", "said_in", said)
    assert not office.check("chat", "told_directly", {"user": "guest-nordkap", "text": "See you"})
    assert office.at_seed("chat")


def test_only_the_owner_puts_somebody_out(office):
    milo = {"room": "engineering", "user": "milo"}
    assert office.check("chat", "is_member", milo)
    with office.session("employee") as session:
        assert not session.call("chat_remove_member", milo).ok
    assert office.check("chat", "is_member", milo)


def test_people_are_found_right_after_a_restart(office):
    """The server fills its own directory in the background; an episode must not depend on when."""
    office.reset(["chat"], everything=True)
    with office.session("support") as session:
        found = json.loads(session.call("chat_people", {"text": "petra"}).content)
    assert found == [{"user": "@petra:harbourlight.test", "name": "Petra Vogel"}]
