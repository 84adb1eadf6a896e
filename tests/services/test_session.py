"""A session on a tiny office: aliases, limits, the write log, accounts, what the service says."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_office import cache_folder, write_environment
from tiny_service import wait_for

from vepa.errors import InputError, RunError
from vepa.services import Office, load_environment
from vepa.services.places import Places
from vepa.services.runtimes import processes


def tool(name: str, path: str, **more: Any) -> dict[str, Any]:
    """A further tool of the tiny environment, with no arguments."""
    return {
        "name": f"memos_{name}",
        "description": f"Asks the service for {path}.",
        "effect": "read",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "event": {"action_kind": "read"},
        "origin": "tool_output",
        "steps": [{"http": {"path": path}}],
        "limits": {"seconds": 1, "characters": 300},
        "examples": [{}],
        **more,
    }


def with_path(name: str, request: dict[str, str], **step: str) -> dict[str, Any]:
    """A further tool with one argument, `path`."""
    parameters = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    steps = [{"http": request, **step}]
    return tool(name, "/", parameters=parameters, steps=steps, examples=[{"path": "/memos"}])


MORE = [
    tool("long", "/long"),
    tool("slow", "/slow"),
    tool("broken", "/broken"),
    tool("private", "/private", result="'the safe is open'"),
    tool("die", "/die", effect="destroy"),
    tool("count", "/memos", result="{'count': last.data | length, 'first': last.data[0].id}",
         volatile=["memo"]),
    tool("faulty", "/memos", result="last.data.nothing.at.all"),
    tool("inside", "/memos", result="{'a': [last.data[0].nothing]}"),
    tool("endless", "/memos", result="last.data | map('upper')"),
    with_path("path", {"path": "{{ args.path }}"}),
    with_path("zero", {"path": "/memos/{{ 1 / (args.path | int - args.path | int) }}"}),
    with_path("pattern", {"path": "/memos/{{ 'a' | findall(args.path) }}"}),
    with_path("as", {"path": "/memos"}, **{"as": "person:{{ args.path }}"}),
    with_path("items", {"path": "/memos"}, **{"for": "args.path | length"}),
    tool("marked", "/memos", effect="write", result="call",
         steps=[{"http": {"method": "POST", "path": "/memos",
                          "json": {"text": "{{ call.key }} {{ call.time }}"}}}]),
]  # fmt: skip


@pytest.fixture(scope="module")
def cache() -> Iterator[Places]:
    with cache_folder() as places:
        yield places


@pytest.fixture(scope="module")
def running(cache: Places, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    project = tmp_path_factory.mktemp("project")
    file = write_environment(project)
    write_environment(project, {"tools": [*_tools(file), *MORE]})
    world = project / "environments" / "world.yaml"
    with Office.start([load_environment(file)], world, root=cache) as office:
        yield office


def _tools(file: Path) -> list[Any]:
    import yaml

    tools: list[Any] = yaml.safe_load(file.read_text())["tools"]
    return tools


@pytest.fixture
def office(running: Office) -> Office:
    """At its seed."""
    running.reset(everything=True)
    return running


EPISODE: list[tuple[str, dict[str, str]]] = [
    ("memos_list", {}),
    ("memos_add", {"text": "buy milk"}),
    ("memos_add", {"text": "as memo#1 says"}),
    ("memos_show", {"id": "memo#3"}),
    ("memos_show", {"id": "memo#1"}),
    ("memos_remove", {"id": "memo#2"}),
    ("memos_show", {"id": "memo#2"}),
    ("memos_add", {"text": "see memo#3 and memo#9"}),
    ("memos_count", {}),
    ("memos_list", {}),
]


def play(office: Office) -> list[str]:
    with office.session("employee") as session:
        return [session.call(name, arguments).content for name, arguments in EPISODE]


def test_the_same_episode_twice_reads_the_same_byte_for_byte(office: Office) -> None:
    first = play(office)
    office.reset()
    second = play(office)
    assert first == second
    assert not re.search(r"memo-[0-9a-f]{8}", "".join(first))
    listed = json.loads(first[0])
    assert [memo["id"] for memo in listed] == ["memo#1", "memo#2"]
    assert json.loads(first[1])["id"] == "memo#3"
    assert json.loads(first[8]) == {"count": 4, "first": "memo#1"}


def test_the_raw_answer_is_kept_beside(office: Office) -> None:
    with office.session("employee") as session:
        outcome = session.call("memos_add", {"text": "x"})
    assert re.fullmatch(r"memo-[0-9a-f]{8}", outcome.raw["id"])
    assert outcome.content == json.dumps({**outcome.raw, "id": "memo#3", "made": 1772442060.0})


def test_aliases_in_arguments_reach_the_service_as_its_own_values(office: Office) -> None:
    with office.session("employee") as session:
        first = session.call("memos_list", {}).raw[0]["id"]
        shown = session.call("memos_show", {"id": "memo#1"})
        added = session.call("memos_add", {"text": "see memo#1, not memo#7"})
    assert shown.raw["id"] == first
    assert added.raw["text"] == f"see {first}, not memo#7"
    assert json.loads(added.content)["text"] == "see memo#1, not memo#7"


def test_every_session_begins_anew(office: Office) -> None:
    with office.session("employee") as one, office.session("employee") as other:
        one.call("memos_add", {"text": "a"})
        made = other.call("memos_add", {"text": "b"})
        assert json.loads(made.content)["id"] == "memo#3"
        assert [memo["id"] for memo in json.loads(one.call("memos_list", {}).content)] == [
            "memo#1",
            "memo#2",
            "memo#3",
            "memo#4",
        ]


def test_each_call_has_a_key_of_its_own_and_the_episode_s_time(office: Office) -> None:
    with office.session(key="one") as one, office.session(key="two") as two:
        told = [session.call("memos_marked", {}).raw for session in (one, one, two)]
    assert [each["key"] for each in told] == ["one-1", "one-2", "two-1"]
    assert [each["time"] for each in told[:2]] == ["2026-03-02T09:01:00Z", "2026-03-02T09:02:00Z"]


def test_a_long_answer_is_cut_and_says_so(office: Office) -> None:
    with office.session("employee") as session:
        outcome = session.call("memos_long", {})
    assert (outcome.ok, outcome.truncated) == (True, True)
    assert outcome.content == "x" * 300 + "\n[cut: 4700 more characters]"
    assert len(outcome.raw) == 5000


def test_a_slow_answer_is_an_outcome_within_the_limit(office: Office) -> None:
    with office.session("employee") as session:
        outcome = session.call("memos_slow", {})
        assert session.call("memos_list", {}).ok
    error = json.loads(outcome.content)["error"]
    assert not outcome.ok
    assert error == {"status": "unreachable", "message": "no answer within the time limit"}
    assert 0.9 < outcome.seconds < 20


def test_what_the_service_refuses_is_told_in_its_own_words(office: Office) -> None:
    with office.session("employee") as session:
        broken = session.call("memos_broken", {})
        missing = session.call("memos_show", {"id": "none"})
    assert not broken.ok
    assert json.loads(broken.content) == {
        "error": {"status": 500, "message": {"reason": "out of order"}}
    }
    assert json.loads(missing.content)["error"]["status"] == 404


def test_the_account_is_the_session_s_or_the_tool_s(office: Office) -> None:
    def writer(role: str | None) -> str:
        with office.session(role) as session:
            by: str = session.call("memos_add", {"text": "x"}).raw["by"]
            return by

    world = office.world
    assert writer(None) == world.role("employee").id
    assert writer("hr") == world.role("hr").id
    assert writer("person:mara") == "mara"


def test_rights_are_the_service_s_own(office: Office) -> None:
    with office.session("employee") as session:
        outcome = session.call("memos_private", {})
    assert not outcome.ok
    assert json.loads(outcome.content)["error"]["status"] == 403
    with office.session("admin") as session:
        assert session.call("memos_private", {}).content == "the safe is open"


def test_a_write_is_on_record_before_the_call(office: Office, monkeypatch: Any) -> None:
    seen: list[set[str]] = []
    sent = type(office).endpoint

    def watched(self: Office, name: str) -> Any:
        seen.append(self.unclean())
        return sent(self, name)

    with office.session("employee") as session:
        session.call("memos_list", {})
        assert office.unclean() == set()
        monkeypatch.setattr(Office, "endpoint", watched)
        session.call("memos_add", {"text": "x"})
    assert seen == [{"memos"}]
    assert office.reset().reset == ("memos",)
    assert office.unclean() == set()


def test_a_write_that_fails_is_on_record_too_and_a_reset_heals_what_died(office: Office) -> None:
    with office.session("employee") as session:
        outcome = session.call("memos_die", {})
        assert json.loads(outcome.content)["error"]["status"] == "unreachable"
        assert office.unclean() == {"memos"}
        wait_for(lambda: office.condition("memos").state == "failed")
        assert office.reset().reset == ("memos",)
        assert office.at_seed("memos")
        assert session.call("memos_list", {}).ok


def test_a_refused_write_is_reset_as_well(office: Office) -> None:
    with office.session("employee") as session:
        assert not session.call("memos_remove", {"id": "none"}).ok
    assert office.unclean() == {"memos"}


def test_an_unknown_tool_and_wrong_arguments_reach_nothing(office: Office) -> None:
    with office.session("employee") as session:
        with pytest.raises(InputError, match="no tool 'memos_lst'") as caught:
            session.call("memos_lst", {})
        assert (caught.value.where.field, "memos_list" in (caught.value.remedy or "")) == (
            "tool",
            True,
        )
        with pytest.raises(InputError, match="'text' is a required property"):
            session.call("memos_add", {})
        with pytest.raises(InputError, match="was unexpected"):
            session.call("memos_add", {"text": "x", "when": "now"})
        assert office.unclean() == set()
        assert json.loads(session.call("memos_add", {"text": "x"}).content)["made"] == 1772442060.0


@pytest.mark.parametrize(
    ("name", "arguments", "status", "why", "place"),
    [
        ("faulty", {}, "unreadable", "has no attribute 'nothing'", "result"),
        ("inside", {}, "unreadable", "has no attribute 'nothing'", "result"),
        ("endless", {}, "unreadable", "not JSON serializable", "result"),
        ("path", {"path": "no slash"}, "unworkable", "should match pattern '^/' (at path)",
         "steps.0.http.path"),
        ("zero", {"path": "five"}, "unworkable", "division by zero", "steps.0"),
        ("pattern", {"path": "(("}, "unworkable", "unterminated subpattern", "steps.0"),
        ("as", {"path": "nobody"}, "unworkable", "no account 'person:nobody'", "steps.0"),
        ("items", {"path": "x"}, "unworkable", "not iterable", "steps.0"),
    ],
)  # fmt: skip
def test_a_tool_that_breaks_on_what_it_is_given_is_an_outcome(
    office: Office, name: str, arguments: dict[str, str], status: str, why: str, place: str
) -> None:
    with office.session("employee") as session:
        outcome = session.call(f"memos_{name}", arguments)
        assert session.call("memos_list", {}).ok
    error = json.loads(outcome.content)["error"]
    assert (outcome.ok, error["status"]) == (False, status)
    assert why in error["message"]
    assert "environment.yaml" not in outcome.content
    assert "{{" not in outcome.content
    environment = office.environments["memos"]
    at = [tool.name for tool in environment.tools].index(f"memos_{name}")
    assert re.match(rf".*environment\.yaml:\d+: tools\.{at}\.\S*{place}", outcome.fault)


def test_a_client_that_breaks_on_an_answer_is_an_outcome(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise AssertionError("no such token")

    with office.session("employee") as session:
        with monkeypatch.context() as patched:
            patched.setattr("vepa.services.drivers.http._parsed", breaks)
            outcome = session.call("memos_list", {})
        assert session.call("memos_list", {}).ok
    assert not outcome.ok
    assert "AssertionError: no such token" in json.loads(outcome.content)["error"]["message"]
    assert "tools.0.steps.0" in outcome.fault


def test_a_service_that_does_not_run_is_an_outcome(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self: Office, name: str) -> Any:
        raise RunError(f"{name} does not run: it was stopped")

    monkeypatch.setattr(Office, "endpoint", gone)
    with office.session("employee") as session:
        outcome = session.call("memos_list", {})
    error = {"status": "unreachable", "message": "memos does not run: it was stopped"}
    assert (outcome.ok, json.loads(outcome.content)) == (False, {"error": error})


def test_an_unknown_account(office: Office) -> None:
    with office.session("boss") as session, pytest.raises(InputError, match="no account 'boss'"):
        session.call("memos_list", {})


def test_assertions_and_state(office: Office) -> None:
    assert office.state("memos") == ["water the plants", "pay the rent"]
    assert office.check("memos", "exists", {"text": "pay the rent"})
    assert not office.check("memos", "exists", {"text": "buy milk"})
    with office.session("employee") as session:
        session.call("memos_add", {"text": "buy milk"})
    assert office.check("memos", "exists", {"text": "buy milk"})
    assert not office.at_seed("memos")
    for name, arguments, message in [
        ("exist", {"text": "x"}, "no assertion 'exist'"),
        ("exists", {}, "takes"),
    ]:
        with pytest.raises(InputError, match=message):
            office.check("memos", name, arguments)


def test_a_reset_of_what_is_not_there(office: Office) -> None:
    with pytest.raises(InputError, match="no service 'memoz'"):
        office.reset(["memos", "memoz"])


class Draw:
    """Draws what it is told to."""

    def __init__(self, value: float):
        self.value = value

    def random(self) -> float:
        return self.value


def test_a_reset_compares_what_it_draws_and_heals_what_differs(office: Office) -> None:
    never, always = Draw(0.99), Draw(0.0)
    assert office.reset(draw=never).checked == ()
    report = office.reset(draw=always)
    assert (report.checked, report.unexpected, report.reset) == (("memos",), (), ())
    with office.session("employee") as session:
        session.call("memos_add", {"text": "behind its back"})
    # As if a tool had written without saying so.
    office._log.clear("memos", office._log.count("memos"))
    assert office.reset(draw=never).reset == ()
    report = office.reset(draw=always)
    assert (report.unexpected, report.reset) == (("memos",), ("memos",))
    assert office.at_seed("memos")


def test_a_service_that_died_without_a_write_is_reset(office: Office) -> None:
    with office.session("employee") as session:
        assert session.call("memos_list", {}).ok
        status = processes.status(office._folder / "memos")
        assert status is not None
        assert status.process is not None
        os.kill(status.process.pid, signal.SIGKILL)
        assert not session.call("memos_list", {}).ok
        wait_for(lambda: office.condition("memos").state == "failed")
        assert office.unclean() == set()
        report = office.reset(draw=Draw(0.99))
        assert (report.reset, report.unexpected, report.checked) == (("memos",), ("memos",), ())
        assert session.call("memos_list", {}).ok
    assert office.at_seed("memos")


def test_a_service_that_does_not_let_itself_be_read_is_reset(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(self: Office, name: str) -> Any:
        raise RunError(f"{name}: the state could not be read: no answer within the time limit")

    monkeypatch.setattr(Office, "state", hangs)
    report = office.reset(draw=Draw(0.0))
    assert (report.reset, report.unexpected) == (("memos",), ("memos",))


def test_a_write_during_the_reset_of_another_process_stays_on_record(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore = type(office.runtime).restore

    def meanwhile(runtime: Any, slot: Any, key: str) -> Any:
        done = restore(runtime, slot, key)
        if not other.aliases.now.minute:
            other.call("memos_add", {"text": "too late"})
        return done

    with office.session("employee") as session, office.session("employee") as other:
        session.call("memos_add", {"text": "x"})
        monkeypatch.setattr(type(office.runtime), "restore", meanwhile)
        office.reset()
        assert office.unclean() == {"memos"}
        assert not office.at_seed("memos")
        office.reset()
        assert office.unclean() == set()
        assert office.at_seed("memos")


def test_a_write_to_an_office_that_is_down_is_no_traceback(running: Office, cache: Places) -> None:
    world = running.world_file
    with Office.start(list(running.environments.values()), world, root=cache) as office:
        session = office.session("employee")
        office.stop()
        with pytest.raises(RunError, match="put on record"):
            session.call("memos_add", {"text": "x"})
        session.close()
