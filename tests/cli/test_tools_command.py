"""`vepa tools …`: what is listed, and calls on a running office."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_office import cache_folder, write_environment

from vepa.corpus.tools import ToolMetadata
from vepa.services import Office, load_environment


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_environment(folder)
    return folder


@pytest.fixture(scope="module")
def running(project: Path) -> Iterator[Office]:
    environment = load_environment(project / "environments" / "memos" / "environment.yaml")
    world = project / "environments" / "world.yaml"
    with cache_folder() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VEPA_CACHE", str(cache.root))
        with Office.start([environment], world, root=cache, office_id="mine") as office:
            yield office


@pytest.fixture
def office(running: Office) -> Office:
    running.reset()
    return running


def test_the_list_for_machines(vepa: Any, project: Path) -> None:
    ran = vepa("tools", "list", "--env", "memos", "--project", project, "--json")
    assert ran.code == 0, ran.err
    assert set(ran.json) == {"tools", "metadata"}
    tools, metadata = ran.json["tools"], ran.json["metadata"]
    assert [tool["function"]["name"] for tool in tools] == [each["name"] for each in metadata]
    assert tools[2] == {
        "type": "function",
        "function": {
            "name": "memos_add",
            "description": "Does add with the memos of the office.",
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    }
    for each in metadata:
        assert ToolMetadata.model_validate(each).environment == "memos"
    assert [each["effect"] for each in metadata] == ["read", "read", "write", "destroy"]


def test_the_list_for_people(vepa: Any, project: Path) -> None:
    ran = vepa("tools", "list", "--env", "memos", "--project", project)
    assert ran.code == 0
    for word in ("memos_remove", "destroy", "employee", "Does remove with the memos"):
        assert word in ran.out
    assert "4 tools" in ran.err


def test_an_unknown_environment(vepa: Any, project: Path) -> None:
    ran = vepa("tools", "list", "--env", "memoz", "--project", project, "--json")
    assert ran.code == 2
    assert ran.json["error"]["field"] == "--env"
    assert ran.json["error"]["remedy"].startswith("did you mean 'memos'?")


def test_a_call_prints_what_a_model_sees(vepa: Any, office: Office) -> None:
    ran = vepa("tools", "call", "memos_show", "--args", '{"id": "memo#1"}')
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["id"] == "memo#1"
    assert ran.err.startswith("ok in ")


def test_a_call_as_json_keeps_the_raw_answer_too(vepa: Any, office: Office) -> None:
    ran = vepa("tools", "call", "memos_add", "--args", '{"text": "see memo#2"}', "--as", "hr",
               "--office", "mine", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    document = ran.json
    assert set(document) == {"tool", "ok", "content", "truncated", "fault", "seconds", "raw"}
    assert (document["tool"], document["ok"], document["truncated"]) == ("memos_add", True, False)
    assert document["raw"]["by"] == office.world.role("hr").id
    assert document["raw"]["text"].startswith("see memo-")
    assert json.loads(document["content"])["text"] == "see memo#2"
    assert office.unclean() == {"memos"}


def test_arguments_from_a_file_and_from_stdin(
    vepa: Any, process: Any, office: Office, tmp_path: Path
) -> None:
    file = tmp_path / "arguments.json"
    file.write_text('{"id": "memo#2"}')
    assert json.loads(vepa("tools", "call", "memos_show", "--args", f"@{file}").out)["text"] == (
        "pay the rent"
    )
    piped = process("tools", "call", "memos_show", "--args", "-", stdin='{"id": "memo#1"}')
    assert piped.code == 0, piped.err
    assert json.loads(piped.out)["text"] == "water the plants"


def test_a_refusal_is_exit_1_with_what_the_service_said(vepa: Any, office: Office) -> None:
    ran = vepa("tools", "call", "memos_show", "--args", '{"id": "none"}', "--json")
    assert ran.code == 1
    assert ran.json["ok"] is False
    assert json.loads(ran.json["content"])["error"]["status"] == 404
    assert "refused" in vepa("tools", "call", "memos_show", "--args", '{"id": "none"}').err


@pytest.mark.parametrize(
    ("arguments", "field", "message", "remedy"),
    [
        (("memos_shw",), "tool", "no tool 'memos_shw'", "memos_show"),
        (("memos_show",), "arguments", "'id' is a required property", "arguments: id"),
        (("memos_show", "--args", '{"id": 3}'), "arguments", "is not of type 'string'", "id"),
        (("memos_list", "--args", '{"page": 1}'), "arguments", "unexpected", "none"),
        (("memos_list", "--args", "{page: 1}"), "--args", "no JSON", "single quotes"),
        (("memos_list", "--args", "[" * 9000), "--args", "no JSON", "single quotes"),
        (("memos_list", "--args", "[1]"), "--args", "JSON object", "for example"),
        (("memos_list", "--args", "@/no/such/file"), None, "no such file", "check"),
        (("memos_list", "--as", "boss"), "as", "no account 'boss'", "employee"),
        (("memos_list", "--office", "yours"), "--office", "no office 'yours'", "mine"),
    ],
)
def test_bad_input(
    vepa: Any, office: Office, arguments: tuple[str, ...], field: str | None, message: str,
    remedy: str,
) -> None:  # fmt: skip
    ran = vepa("tools", "call", *arguments, "--json")
    assert ran.code == 2, ran
    told = ran.json["error"]
    assert message in told["message"]
    assert told["field"] == field
    assert remedy in told["remedy"]
    assert office.unclean() == set()


def test_no_office(vepa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with cache_folder() as cache:
        monkeypatch.setenv("VEPA_CACHE", str(cache.root))
        ran = vepa("tools", "call", "memos_list", "--json")
    assert ran.code == 2
    assert ran.json["error"]["remedy"] == "vepa services up"
