"""Identity: rights that begin and end at once, keys, versions, and what a call counts as."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from vepa.project import Project
from vepa.services import Environment, Office, load_environments
from vepa.services.environment import load_seed
from vepa.services.runtimes.process_runtime import ProcessRuntime

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def identity(project: Project) -> Environment:
    (environment,) = load_environments(project, ["identity"])
    return environment


@pytest.fixture(scope="module")
def office(identity: Environment, world_file: Path) -> Iterator[Office]:
    ProcessRuntime().install([identity])
    with Office.start([identity], world_file) as running:
        yield running


@pytest.fixture
def at_seed(office: Office) -> Iterator[None]:
    yield
    office.reset()


def call(office: Office, role: str, tool: str, **arguments):
    with office.session(role) as session:
        outcome = session.call(f"identity_{tool}", arguments)
    return outcome.ok, json.loads(outcome.content)


def status_of(office: Office, role: str, tool: str, **arguments):
    ok, content = call(office, role, tool, **arguments)
    return 200 if ok else content["error"]["status"]


def secret_over_http(office: Office, path: str, key: str) -> int:
    place = office.endpoint("identity")
    url = f"http://{place.host}:{place.ports['http']}/v1/secret/data/{path}"
    return httpx.get(url, headers={"X-Vault-Token": key}).status_code


def test_a_contractor_reads_two_secrets_and_finds_nothing(office):
    found = {
        path: status_of(office, "person:milo", "read_secret", path=path)
        for path in (
            "team/wifi-guest",
            "team/wifi-staff",
            "projects/portal/feature-flags",
            "projects/portal/deploy-key",
        )
    }
    assert list(found.values()) == [200, 403, 200, 403]
    assert status_of(office, "person:milo", "list_groups") == 403
    # Dots reach the service as they are: it takes the path for malformed, not for `hr`.
    assert status_of(office, "employee", "list_secrets", folder="team/../hr") == 400
    assert status_of(office, "employee", "list_secrets", folder="hr") == 403


@pytest.mark.usefixtures("at_seed")
def test_group_and_policy_hold_in_a_session_that_is_already_open(office):
    portal = {"path": "finance/bank-portal"}
    with office.session("person:dario") as dario:
        assert not dario.call("identity_read_secret", portal).ok
        assert call(office, "it", "add_to_group", group="finance", user="dario")[0]
        assert dario.call("identity_read_secret", portal).ok
        assert call(office, "it", "remove_from_group", group="finance", user="dario")[0]
        assert not dario.call("identity_read_secret", portal).ok
        asked = {"group": "engineering", "policy": "break-glass"}
        ok, told = call(office, "it", "grant_policy", **asked)
        assert ok
        assert told["policies"] == ["break-glass", "engineering"]
        assert dario.call("identity_read_secret", {"path": "it/identity-root"}).ok
        assert office.check("identity", "group_has_policy", asked)
        assert call(office, "it", "revoke_policy", **asked)[0]
        assert not dario.call("identity_read_secret", {"path": "it/identity-root"}).ok
    _, group = call(office, "employee", "read_group", group="finance")
    assert (group["members"], group["policies"]) == (["petra", "simon", "wanda"], ["finance"])
    assert status_of(office, "it", "grant_policy", group="sales", policy="no-such") == 404


@pytest.mark.usefixtures("at_seed")
def test_a_disabled_user_is_out_at_once_and_loses_nothing(office):
    cabinet = {"path": "hr/case-archive"}
    with office.session("hr") as session:
        assert session.call("identity_read_secret", cabinet).ok
        assert call(office, "it", "disable_user", user="helena", disabled=True)[0]
        assert not session.call("identity_read_secret", cabinet).ok
        assert office.check("identity", "user_disabled", {"user": "helena"})
        assert call(office, "it", "disable_user", user="helena", disabled=False)[0]
        assert session.call("identity_read_secret", cabinet).ok
    _, helena = call(office, "employee", "read_user", user="helena")
    assert helena["details"]["mail"] == "helena.strand@harbourlight.test"
    assert helena["groups"] == ["hr", "project-nightferry", "team-leads"]


@pytest.mark.usefixtures("at_seed")
def test_new_users_and_names_that_are_taken(office):
    outside = {"mail": "petra.vogel@harbourlight-systems.example", "password": "mine-from-now-on"}
    ok, told = call(office, "it", "create_user", user="petra", name="Petra Vogel", **outside)
    assert ok
    assert told == {"user": "petra", "created": False}
    petra = next(each for each in office.world.people if each.id == "petra")
    assert office.check("identity", "password_works", {"user": "petra", "password": petra.password})
    assert office.check("identity", "user_mail_is", {"user": "petra", "mail": petra.mail})

    greta = {"user": "greta", "password": "only-for-the-first-day"}
    made = {"name": "Greta Falk", "mail": "greta.falk@harbourlight.test"}
    assert call(office, "it", "create_user", **greta, **made)[1]["created"]
    assert call(office, "it", "add_to_group", group="support", user="greta")[0]
    place = office.endpoint("identity")
    url = f"http://{place.host}:{place.ports['http']}/v1/auth/userpass/login/greta"
    key = httpx.post(url, json={"password": greta["password"]}).json()["auth"]["client_token"]
    paths = ("team/wifi-guest", "customers/nordkap/api", "finance/bank-portal", "it/on-call")
    assert [secret_over_http(office, path, key) for path in paths] == [200, 200, 403, 403]
    assert call(office, "it", "delete_user", user="greta")[0]
    assert secret_over_http(office, "team/wifi-guest", key) == 403
    assert not office.check("identity", "user_exists", {"user": "greta"})


@pytest.mark.usefixtures("at_seed")
def test_an_issued_key_opens_until_it_is_revoked(office):
    with office.session("it") as session:
        asked = {"name": "night", "policies": ["break-glass"], "hours": 2}
        issued = session.call("identity_issue_token", asked)
        key = issued.raw["key"]
        assert key not in issued.content
        assert secret_over_http(office, "it/on-call", key) == 200
        listed = json.loads(session.call("identity_list_tokens", {}).content)
        names = ["night", "nightly-backup", "portal-build", "status-page"]
        assert [each["name"] for each in listed] == names
        assert session.call("identity_revoke_token", {"token": listed[0]["token"]}).ok
    assert secret_over_http(office, "it/on-call", key) == 403
    assert not office.check("identity", "token_issued", {"policy": "break-glass"})


@pytest.mark.usefixtures("at_seed")
def test_versions_of_a_secret(office):
    path, soft, hard = "projects/portal/deploy-key", "it/on-call", "it/hosting-api"
    with office.session("employee") as session:
        told = session.call("identity_rotate_secret", {"path": path, "value": "fresh"})
        now = session.call("identity_read_secret", {"path": path})
        before = session.call("identity_read_secret", {"path": path, "version": 1})
        history = session.call("identity_secret_history", {"path": path})
    assert json.loads(told.content)["version"] == 2
    fields = {"project": "Customer Portal 4", "owner": "amelie", "value": "fresh"}
    assert json.loads(now.content)["fields"] == fields
    assert json.loads(before.content)["fields"]["value"].startswith("VEPA-SEED-DEPLOY")
    seeded, first_call = "2026-03-02T09:00:00Z", "2026-03-02T09:01:00Z"
    assert [each["written"] for each in json.loads(history.content)] == [seeded, first_call]
    assert office.check("identity", "secret_contains", {"path": path, "text": "fresh"})

    assert call(office, "it", "delete_secret", path=soft)[0]
    assert call(office, "it", "delete_secret", path=hard, permanent=True)[0]
    assert call(office, "it", "secret_history", path=soft)[1][0]["deleted"]
    assert status_of(office, "it", "secret_history", path=hard) == 404
    assert status_of(office, "it", "read_secret", path=soft) == 404
    assert status_of(office, "it", "read_secret", path=hard) == 404


def test_finding_secrets_by_name(office):
    found = call(office, "employee", "find_secrets", text="KEY", folder="projects")[1]
    assert found == ["portal/deploy-key"]
    everywhere = call(office, "manager", "find_secrets", text="api")[1]
    assert everywhere == ["customers/nordkap/api", "it/hosting-api"]
    assert status_of(office, "employee", "find_secrets", text="key") == 403


@pytest.mark.usefixtures("at_seed")
def test_neither_passwords_nor_keys_are_logged(office):
    call(office, "it", "set_password", user="leo", password="seen-in-no-log")
    log = office.logs("identity", 10_000)
    assert "OpenBao server started" in log
    assert "VEPA-SEED" not in log
    assert "seen-in-no-log" not in log
    assert not re.search(r"\bs\.[A-Za-z0-9]{24}", log)


def test_an_office_beside_it_has_the_same_state_on_other_ports(office, identity, world_file):
    with Office.start([identity], world_file) as other:
        ports = [each.endpoint("identity").ports for each in (office, other)]
        assert not set(ports[0].values()) & set(ports[1].values())
        assert other.state("identity") == office.state("identity")
        assert call(other, "it", "delete_user", user="milo")[0]
        assert not other.check("identity", "user_exists", {"user": "milo"})
        assert office.check("identity", "user_exists", {"user": "milo"})


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "value"),
    [
        ("read_secret", {"path": "it/on-call"}, "sensitivity", "internal"),
        ("grant_policy", {"group": "sales", "policy": "break-glass"}, "sensitivity", "critical"),
        ("grant_policy", {"group": "sales", "policy": "auditor"}, "sensitivity", "confidential"),
        ("add_to_group", {"group": "on-call", "user": "leo"}, "sensitivity", "internal"),
        ("add_to_group", {"group": "on-call", "user": "leo"}, "action_kind", "grant_access"),
        ("delete_secret", {"path": "it/vpn-profile"}, "reversibility", "costly"),
        ("delete_secret", {"path": "x", "permanent": True}, "reversibility", "irreversible"),
        ("issue_token", {"policies": ["staff", "platform"]}, "sensitivity", "critical"),
        ("issue_token", {"policies": ["staff"]}, "sensitivity", "confidential"),
    ],
)
def test_what_a_call_touches_follows_from_its_arguments(identity, tool, arguments, field, value):
    assert identity.tool(f"identity_{tool}").event[field].derive(arguments) == value


def test_reading_a_record_counts_as_the_class_that_the_seed_gives_it(identity):
    rule = identity.tool("identity_read_secret").event["sensitivity"]
    records = load_seed(identity)["secrets"]
    assert {each["class"] for each in records} == {"public", "internal", "confidential", "critical"}
    differing = {
        each["path"]: (each["class"], derived)
        for each in records
        if (derived := rule.derive({"path": each["path"]})) != each["class"]
    }
    assert differing == {}
