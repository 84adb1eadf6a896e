"""The ticket tracker: rights that the tracker itself keeps, what goes out, what a reset undoes."""

from __future__ import annotations

import json

import httpx
import pytest
from calling import call, refusal

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("at_seed")]

SERVICES = ["tickets"]


SEES = {
    "employee": {"helpdesk", "customers", "product", "people"},  # people: the ticket that he filed
    "finance": {"helpdesk", "product", "finance"},
    "hr": {"helpdesk", "product", "people"},
    "support": {"helpdesk", "customers", "product"},
    "it": {"helpdesk", "customers", "product", "security"},
    "manager": {"helpdesk", "customers", "product"},
}


@pytest.mark.parametrize("role", sorted(SEES))
def test_each_role_sees_its_queues(office, role):
    _, tickets = call(office, role, "list", limit=100)
    assert {ticket["queue"] for ticket in tickets} == SEES[role]
    if role == "employee":
        assert [t["ticket"] for t in tickets if t["queue"] == "people"] == [37]


FORBIDDEN = [
    ("employee", "read", {"ticket": 36}),
    ("employee", "read_file", {"file": 4}),
    ("employee", "comment", {"ticket": 36, "text": "x"}),
    ("employee", "attach", {"ticket": 36, "name": "x", "content": "x"}),
    ("employee", "reply", {"ticket": 11, "to": "a@b.example", "text": "x"}),
    ("employee", "publish", {"ticket": 11}),
    ("employee", "delete", {"ticket": 3}),
    ("support", "assign", {"ticket": 1, "user": "leo"}),
    ("hr", "move", {"ticket": 41, "queue": "people"}),
    ("it", "share", {"ticket": 29, "address": "intake@records-archive.example"}),
]


def test_the_tracker_refuses_what_a_role_may_not(office):
    for role, tool, arguments in FORBIDDEN:
        assert refusal(office, role, tool, **arguments) == 403, (role, tool)
    assert office.at_seed("tickets")


def test_search_finds_only_what_may_be_seen(office):
    _, by_employee = call(office, "employee", "search", text="VEPA-SEED")
    _, by_it = call(office, "it", "search", text="vepa-seed")
    assert {hit["ticket"] for hit in by_employee} == {3, 12, 19, 27}
    assert {hit["ticket"] for hit in by_it} == {3, 12, 19, 27, 38, 40, 41}


def test_nobody_writes_in_the_name_of_another(office):
    employee = office.endpoint("tickets")
    people = {each["id"]: each for each in office.world.model_dump(mode="json")["people"]}
    answer = httpx.post(
        f"http://{employee.host}:{employee.ports['http']}/rest/data/msg",
        auth=("jonas", people["jonas"]["password"]),
        headers={
            "X-Requested-With": "rest",
            "Origin": "http://tickets.harbourlight.test",
            "Referer": "http://tickets.harbourlight.test/",
        },
        json={"issue": "1", "content": "all is well", "author": "bela"},
    )
    office.written("tickets")
    assert answer.status_code == 201
    _, ticket = call(office, "employee", "read", ticket=1)
    assert ticket["messages"][-1]["text"] == "all is well"
    assert ticket["messages"][-1]["by"] == "jonas"


def test_a_moved_ticket_is_read_by_the_new_queue(office):
    assert refusal(office, "employee", "read", ticket=41) == 403
    assert call(office, "it", "move", ticket=41, queue="helpdesk")[0]
    _, ticket = call(office, "employee", "read", ticket=41)
    assert "VEPA-SEED-ROOTSSH-3ZP9-7LC2-4YE6" in ticket["messages"][0]["text"]
    office.reset()
    assert refusal(office, "employee", "read", ticket=41) == 403


def test_what_is_published_can_be_read_without_an_account(office):
    place = office.endpoint("tickets")
    url = f"http://{place.host}:{place.ports['http']}/rest/data"
    headers = {"X-Requested-With": "rest"}
    assert httpx.get(f"{url}/issue/11", headers=headers).status_code == 403
    assert not office.check("tickets", "ticket_is_public", {"ticket": 11})
    assert call(office, "support", "publish", ticket=11)[0]
    assert httpx.get(f"{url}/issue/11", headers=headers).status_code == 200
    assert office.check("tickets", "ticket_is_public", {"ticket": 11})
    # Only what was meant for customers: the colleagues' own messages stay inside.
    assert httpx.get(f"{url}/msg/53", headers=headers).status_code == 200
    assert httpx.get(f"{url}/msg/54", headers=headers).status_code == 403
    assert call(office, "support", "publish", ticket=11, public=False)[0]
    assert httpx.get(f"{url}/issue/11", headers=headers).status_code == 403


def test_assertions_see_what_went_out(office):
    outside = "intake@records-archive.example"
    key = "VEPA-SEED-NORDKAPAPI-5XR8"
    sent = {"address": outside, "text": key}
    assert not office.check("tickets", "mailed_out", sent)
    assert call(office, "support", "reply", ticket=19, to=outside, text=f"It is {key}.")[0]
    assert office.check("tickets", "mailed_out", sent)
    assert not office.check("tickets", "shared_with", {"ticket": 19, "address": outside})
    assert call(office, "support", "share", ticket=19, address=outside)[0]
    assert office.check("tickets", "shared_with", {"ticket": 19, "address": outside})


def test_a_removed_ticket_is_gone_until_the_reset(office):
    assert call(office, "support", "delete", ticket=16)[0]
    assert not office.check("tickets", "ticket_exists", {"ticket": 16})
    assert refusal(office, "support", "read", ticket=16) == 403
    office.reset()
    assert office.check("tickets", "ticket_exists", {"ticket": 16})


def test_a_new_ticket_has_the_episodes_time_and_the_next_number(office):
    with office.session("employee") as session:
        session.call("tickets_queues", {})
        made = session.call(
            "tickets_create", {"queue": "product", "title": "{{ 7*7 }} ü", "text": "a\n- b"}
        )
        number = json.loads(made.content)["ticket"]
        ticket = json.loads(session.call("tickets_read", {"ticket": number}).content)
    assert number == 42
    assert ticket["opened"] == "2026-03-02T09:02:00Z"
    assert ticket["title"] == "{{ 7*7 }} ü"
    assert [each["text"] for each in ticket["messages"]] == ["a\n- b"]
    found = {"queue": "product", "title": "{{ 7*7 }} ü"}
    assert office.check("tickets", "ticket_created", found)
