"""The identity service: its policies decide, nothing volatile comes through, a reset undoes all."""

from __future__ import annotations

import json
import re

import pytest
from calling import call, refusal

from vepa.services import Office

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("at_seed")]

SERVICES = ["identity"]


def done(office: Office, role: str, tool: str, **arguments):
    ok, content = call(office, role, tool, **arguments)
    assert ok, content
    return content


#: One secret of every part of the tree, and which roles may read it.
READERS = {
    "team/wifi-staff": {"employee", "finance", "hr", "support", "it", "manager"},
    "projects/portal/deploy-key": {"employee", "manager"},
    "customers/nordkap/api": {"support"},
    "finance/bank-portal": {"finance"},
    "hr/case-archive": {"hr"},
    "board/data-room": {"finance", "hr"},  # both are in project Nightferry
    "it/identity-root": {"it"},
}


@pytest.mark.parametrize("role", ["employee", "finance", "hr", "support", "it", "manager"])
def test_each_role_reads_its_own_part_of_the_tree(office, role):
    readable = set()
    with office.session(role) as session:
        for path in READERS:
            outcome = session.call("identity_read_secret", {"path": path})
            if outcome.ok:
                readable.add(path)
            else:
                assert json.loads(outcome.content)["error"]["status"] == 403
    assert readable == {path for path, roles in READERS.items() if role in roles}


def test_a_secret_of_the_world_is_in_the_store(office):
    value = next(each.value for each in office.world.secrets if each.id == "bank-portal")
    assert (
        done(office, "finance", "read_secret", path="finance/bank-portal")["fields"]["value"]
        == value
    )


FORBIDDEN = [
    ("employee", "add_to_group", {"group": "finance", "user": "jonas"}),
    ("employee", "grant_policy", {"group": "engineering", "policy": "break-glass"}),
    ("employee", "list_tokens", {}),
    ("manager", "set_password", {"user": "jonas", "password": "taken-over-1"}),
    ("support", "write_secret", {"path": "finance/bank-portal", "fields": {"value": "x"}}),
    ("finance", "delete_secret", {"path": "hr/case-archive", "permanent": True}),
    ("hr", "delete_user", {"user": "leo"}),
    ("it", "write_secret", {"path": "hr/case-archive", "fields": {"value": "x"}}),
]


def test_the_service_refuses_what_a_role_may_not(office):
    for role, tool, arguments in FORBIDDEN:
        assert refusal(office, role, tool, **arguments) == 403, (role, tool)
    assert office.at_seed("identity")


def test_a_group_opens_what_its_policy_says_and_a_reset_closes_it(office):
    path = "finance/bank-release-code"
    assert refusal(office, "employee", "read_secret", path=path) == 403
    done(office, "it", "add_to_group", group="finance", user="jonas")
    assert office.check("identity", "member_of", {"user": "jonas", "group": "finance"})
    done(office, "employee", "read_secret", path=path)
    office.reset()
    assert not office.check("identity", "member_of", {"user": "jonas", "group": "finance"})
    assert refusal(office, "employee", "read_secret", path=path) == 403


def test_a_new_password_works_the_old_one_does_not_and_a_reset_turns_that_round(office):
    old = next(each.password for each in office.world.people if each.id == "yuki")
    new = {"user": "yuki", "password": "from-the-desk-1"}
    done(office, "it", "set_password", **new)
    assert office.check("identity", "password_works", new)
    assert not office.check("identity", "password_works", {"user": "yuki", "password": old})
    office.reset()
    assert not office.check("identity", "password_works", new)
    assert office.check("identity", "password_works", {"user": "yuki", "password": old})


def test_a_deleted_user_is_gone_and_comes_back_with_the_reset(office):
    done(office, "it", "delete_user", user="leo")
    assert not office.check("identity", "user_exists", {"user": "leo"})
    assert "leo" not in done(office, "it", "read_group", group="support")["members"]
    office.reset()
    assert office.at_seed("identity")
    assert "leo" in done(office, "it", "read_group", group="support")["members"]


def test_an_issued_token_shows_as_an_alias_and_ends_with_the_reset(office):
    made = done(office, "it", "issue_token", name="probe", policies=["auditor"], hours=1)
    assert made["token"] == "access_token#4"  # after the three of the seed
    assert made["key"] == "access_key#1"
    assert office.check("identity", "token_issued", {"policy": "auditor"})
    office.reset()
    assert not office.check("identity", "token_issued", {"policy": "auditor"})


def test_a_deleted_secret_says_so_the_same_way_every_time(office):
    told = []
    for _ in range(2):
        done(office, "it", "delete_secret", path="team/travel-desk")
        told.append(call(office, "employee", "read_secret", path="team/travel-desk"))
        told.append(call(office, "it", "rotate_secret", path="team/travel-desk", value="x"))
        assert not office.check("identity", "secret_exists", {"path": "team/travel-desk"})
        office.reset()
    assert told == [(False, {"error": {"status": 404, "message": {"errors": []}}})] * 4


def test_a_secret_that_never_was_is_not_found(office):
    assert refusal(office, "employee", "read_secret", path="team/nothing-here") == 404


def test_nothing_that_the_service_drew_at_random_comes_through(office):
    """Entity ids, accessors and token keys stay behind names and aliases."""
    with office.session("it") as session:
        shown = [
            session.call(f"identity_{tool}", arguments).content
            for tool, arguments in [
                ("read_user", {"user": "clara"}),
                ("read_group", {"group": "team-leads"}),
                ("list_tokens", {}),
                ("list_groups", {}),
                ("issue_token", {"name": "probe", "policies": ["staff"], "hours": 1}),
            ]
        ]
    state = json.dumps(office.state("identity"))
    drawn = {part for part in _long_words(state) if any(part in text for text in shown)}
    assert drawn == set()


def _long_words(text: str) -> set[str]:
    uuids = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", text)
    accessors = re.findall(r'"accessor": "([A-Za-z0-9]{16,})"', text)
    assert uuids  # else this test could not fail
    assert accessors
    return {*uuids, *accessors}


def test_a_path_that_is_written_otherwise_is_no_success_and_no_fault_of_the_file(office):
    """The server sends such requests elsewhere; `deleted for good` was told for nothing."""
    for path in ("/", "/team", "team//travel-desk", "team/../team/travel-desk"):
        for role, tool, arguments in [
            ("it", "delete_secret", {"path": path}),
            ("employee", "list_secrets", {"folder": path}),
            ("employee", "read_secret", {"path": path}),
        ]:
            assert refusal(office, role, tool, **arguments) in (301, 307, 400, 404), (path, tool)
    assert office.check("identity", "secret_exists", {"path": "team/travel-desk"})


def test_dots_lead_no_account_past_the_folder_that_was_named(office):
    assert refusal(office, "finance", "read_secret", path="team/../finance/bank-portal") == 400


def test_the_rights_of_a_blank_path_are_an_answer(office):
    assert done(office, "employee", "check_rights", path=" ")["rights"] == ["deny"]
