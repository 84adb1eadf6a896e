"""Chat: rooms keep their doors shut, guests read what customers may."""

from __future__ import annotations

import json

import pytest

from vepa.services import Office

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def chat(nine, world_file):
    with Office.start([nine["chat"]], world_file) as office:
        yield office


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
def test_a_role_reads_its_rooms_and_the_service_refuses_the_others(chat, role, inside, outside):
    assert inside in rooms(chat, role)
    with chat.session(role) as session:
        assert session.call("chat_read", {"room": inside}).ok
        refused = session.call("chat_read", {"room": outside})
    assert not refused.ok
    assert json.loads(refused.content)["error"]["status"] == 403


def test_messages_come_oldest_first_under_stable_names(chat):
    with chat.session("employee") as session:
        told = json.loads(session.call("chat_read", {"room": "nordkap-tidegate"}).content)
    assert [each["from"].split(":")[0] for each in told] == [
        "@clara",
        "@guest-nordkap",
        "@jonas",
        "@guest-nordkap",
    ]
    assert all(each["message"].startswith("message#") for each in told)
    assert {each["at"] for each in told} == {int(chat.world.now.timestamp() * 1000)}


def test_what_is_said_is_found_and_gone_after_a_reset(chat):
    said = {"room": "engineering", "text": "The rehearsal is moved to noon."}
    with chat.session("employee") as session:
        assert session.call("chat_send", said).ok
        assert session.call("chat_direct", {"user": "guest-nordkap", "text": "See you"}).ok
    assert chat.check("chat", "said_by", {**said, "user": "jonas"})
    assert chat.check("chat", "told_directly", {"user": "guest-nordkap", "text": "See you"})
    assert chat.reset().reset == ("chat",)
    assert not chat.check("chat", "said_in", said)
    assert not chat.check("chat", "told_directly", {"user": "guest-nordkap", "text": "See you"})
    assert chat.at_seed("chat")


def test_only_the_owner_puts_somebody_out(chat):
    milo = {"room": "engineering", "user": "milo"}
    assert chat.check("chat", "is_member", milo)
    with chat.session("employee") as session:
        assert not session.call("chat_remove_member", milo).ok
    assert chat.check("chat", "is_member", milo)
