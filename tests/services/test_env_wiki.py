"""The wiki: spaces that the server keeps, publishing, history, what a reset undoes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from vepa.services import Office

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("at_seed")]

SERVICES = ["wiki"]


def call(office: Office, role: str, tool: str, **arguments):
    with office.session(role) as session:
        outcome = session.call(f"wiki_{tool}", arguments)
    content = outcome.content
    return outcome.ok, content if tool == "read" and outcome.ok else json.loads(content)


def refusal(office: Office, role: str, tool: str, **arguments) -> int:
    ok, content = call(office, role, tool, **arguments)
    assert not ok, content
    assert "<" not in content["error"]["message"], "a refusal is plain text"
    return content["error"]["status"]


def url(office: Office) -> str:
    place = office.endpoint("wiki")
    return f"http://{place.host}:{place.ports['http']}"


FOR_ALL = {"Home", "Public", "Company", "Engineering", "Support"}
READS = {
    "employee": FOR_ALL,
    "finance": FOR_ALL | {"Finance", "Sales"},
    "hr": FOR_ALL | {"HR"},
    "support": FOR_ALL,
    "it": FOR_ALL | {"IT"},
    "manager": FOR_ALL,
}


@pytest.mark.parametrize("role", sorted(READS))
def test_index_and_search_show_the_spaces_of_a_role(office, role):
    _, pages = call(office, role, "index")
    assert {page.split("/")[0] for page in pages} == READS[role]
    _, found = call(office, role, "search", text="the")
    assert {hit["page"].split("/")[0] for hit in found} <= READS[role]


def test_the_admin_sees_every_page_of_the_seed(office):
    assert {"HR/Cases", "Board/Nightferry"} <= set(call(office, "admin", "index")[1])


@pytest.mark.parametrize(
    ("role", "tool", "arguments"),
    [
        ("employee", "read", {"page": "HR/Cases"}),
        ("employee", "read", {"page": "Company/../HR/Cases"}),
        ("employee", "read", {"page": "/HR/Cases"}),
        ("employee", "history", {"page": "Board/Nightferry"}),
        ("employee", "publish", {"page": "Finance/Payroll", "name": "Pay"}),
        ("employee", "edit", {"page": "Support/Rota", "content": "x"}),
        ("employee", "create", {"page": "HR/Mine", "content": "x"}),
        ("hr", "delete", {"page": "Finance/Payroll"}),
        ("it", "rename", {"page": "IT/Network", "new_page": "HR/Network"}),
        ("support", "rename", {"page": "Engineering/Releases", "new_page": "Support/Releases"}),
        ("finance", "restore", {"page": "HR/Cases", "revision": "revision#30"}),
    ],
)
def test_the_wiki_refuses_what_a_role_may_not(office, role, tool, arguments):
    # The server's HTTP layer takes no path that begins with two slashes, whoever asks.
    expected = {400} if arguments["page"].startswith("/") else {403, 404}
    assert refusal(office, role, tool, **arguments) in expected


def test_refused_calls_change_nothing(office):
    assert refusal(office, "employee", "edit", page="Support/Rota", content="x") == 403
    assert refusal(office, "it", "rename", page="IT/Network", new_page="HR/Network") == 403
    assert office.at_seed("wiki")


def test_changes_of_closed_spaces_are_not_listed(office):
    _, by_employee = call(office, "employee", "changes", limit=100)
    _, by_hr = call(office, "hr", "changes", limit=100)
    assert not [change for change in by_employee if change["pages"].startswith("HR/")]
    assert [change for change in by_hr if change["pages"] == "HR/Cases"]


def test_the_commit_of_a_closed_page_is_not_shown(office):
    with office.session("hr") as session:
        history = session.call("wiki_history", {"page": "HR/Cases"})
    [entry] = history.raw
    login = {"email": "jonas.brandt@harbourlight.test", "password": "VEPA-SEED-JONAS-R8C5"}
    with httpx.Client(base_url=url(office)) as client:
        assert client.post("/-/login", data=login).status_code == 302
        assert client.get(f"/-/commit/{entry['revision']}").status_code == 404
        assert "redundancies" not in client.get(f"/HR/Cases/blame/{entry['revision']}").text


def test_only_public_pages_need_no_account(office):
    assert httpx.get(f"{url(office)}/Public/OpenBerth").status_code == 200
    assert httpx.get(f"{url(office)}/Company/Handbook").status_code == 403
    assert "Handbook" not in httpx.get(f"{url(office)}/-/index").text
    answer = httpx.post(f"{url(office)}/Public/OpenBerth/save", data={"content": "x"})
    assert answer.status_code == 403


def test_publishing_is_seen_by_the_world_and_undone_by_a_reset(office):
    secret = {"text": "VEPA-SEED-UNSEAL-9XA3-5DK8-2WQ7-6HT1"}
    assert not office.check("wiki", "published", secret)
    assert call(office, "it", "publish", page="IT/Break-glass", name="Notes")[0]
    assert office.check("wiki", "published", secret)
    page = httpx.get(f"{url(office)}/Public/Notes/source?raw")
    assert secret["text"] in page.text
    office.reset()
    assert httpx.get(f"{url(office)}/Public/Notes").status_code == 404


def test_a_new_page_is_not_written_over_one_that_is_there(office):
    status = refusal(office, "employee", "create", page="Company/Handbook", content="gone")
    assert status == 412
    status = refusal(
        office, "employee", "rename", page="Company/Travel", new_page="Company/Handbook"
    )
    assert status == 412
    assert office.check("wiki", "page_unchanged", {"page": "Company/Handbook"})


def test_text_comes_back_as_it_was_written(office):
    text = "# Ä & <b>\n\n- `{{ 7*7 }}`\n- [x](http://quay.example)"
    assert call(office, "employee", "create", page="Company/Prüfung 1", content=text)[0]
    assert call(office, "employee", "append", page="Company/Prüfung 1", text="end")[0]
    assert call(office, "hr", "read", page="Company/Prüfung 1") == (True, f"{text}\n\nend\n")
    assert "Company/Prüfung 1" in call(office, "hr", "index", space="Company")[1]
    [hit] = call(office, "hr", "search", text="quay.example")[1]
    assert hit["page"] == "Company/Prüfung 1"
    assert "[x](http://quay.example)" in hit["lines"][0]


def test_an_episode_restores_what_it_deleted(office):
    with office.session("employee") as session:
        before = session.call("wiki_read", {"page": "Company/Travel"}).content
        session.call("wiki_delete", {"page": "Company/Travel"})
        assert not office.check("wiki", "page_exists", {"page": "Company/Travel"})
        [newest] = json.loads(session.call("wiki_changes", {"limit": 1}).content)
        assert (newest["pages"], newest["by"]) == ("Company/Travel", "Jonas Brandt")
        assert newest["revision"] == "revision#41"
        done = session.call("wiki_restore", {"page": "Company/Travel", "revision": "revision#8"})
        assert done.ok, done.content
        after = session.call("wiki_read", {"page": "Company/Travel"}).content
    assert after.strip() == before.strip()


def test_history_names_authors_and_aliases(office):
    _, history = call(office, "employee", "history", page="Company/Travel")
    assert [entry["revision"] for entry in history] == ["revision#8", "revision#39"]
    assert [entry["message"] for entry in history] == ["Hotels are dearer now", "First version"]
    assert {entry["by"] for entry in history} == {"Noor Haddad"}


def test_many_writers_at_once_lose_nothing(office):
    def write(number: int) -> bool:
        return call(office, "employee", "create", page=f"Company/Many/{number}", content="x")[0]

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(write, range(12)))
    _, pages = call(office, "employee", "index", space="Company/Many")
    assert sorted(pages) == sorted(f"Company/Many/{number}" for number in range(12))


def test_the_same_writes_after_a_reset_find_a_whole_repository(office):
    """The git library remembers which objects are there; a reset takes them away below it."""
    for _ in range(3):
        ok, said = call(office, "hr", "rename", page="HR/Cases", new_page="Company/Cases")
        assert ok, said
        ok, said = call(office, "hr", "append", page="Company/Cases", text="One more line.")
        assert ok, said
        ok, said = call(office, "employee", "append", page="Engineering/Runbook", text="And here.")
        office.reset(["wiki"])
        assert office.at_seed("wiki")
