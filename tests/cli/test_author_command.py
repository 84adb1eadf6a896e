"""`vepa tasks new` and `vepa personas new`: skeletons for people, and a model on loopback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from authoring_desk import GOOD, written
from behaviours import FAKE_KEY
from model_servers import ModelServer
from tiny_office import ROOT, cache_folder
from tiny_tasks import CLEAN, task_with, write_project

from vepa.policy.document import parse_document

NEW = ("tasks", "new")
PERSONA = ("personas", "new")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny project without the bundled content."""
    folder = write_project(tmp_path / "project", CLEAN)
    shutil.copytree(ROOT / "prompts", folder / "prompts")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("vepa.project.package_content", lambda: folder)
    monkeypatch.setenv("OPENAI_API_KEY", FAKE_KEY)
    return folder


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def asked(project: Path, server: ModelServer) -> list[Any]:
    """Options with which a model on loopback is asked."""
    settings = {"model_settings": {"api_base": server.openai, "first_wait": 0.01}, "tries": 1}
    (project / "settings.yaml").write_text(yaml.safe_dump(settings))
    return ["--model", "openai/gpt-4o-mini", "--settings", "settings.yaml"]


def faults(vepa: Any, file: Path) -> set[str]:
    """Fields of a file that `vepa validate` complains about."""
    (found,) = (each for each in vepa("validate", "--json").json["files"]
                if each["file"] == str(file))  # fmt: skip
    return {problem["field"] for problem in found["problems"]}


def test_a_skeleton_reads_as_yaml_and_fails_until_it_is_filled_in(project: Path, vepa: Any) -> None:
    ran = vepa(*NEW, "--id", "memo-note", "--env", "memos", "--persona", "jonas")
    file = project / "tasks" / "written" / "memo-note.yaml"
    assert (ran.code, ran.out.strip()) == (0, str(file))
    text = file.read_text()
    data = parse_document(text).data
    assert (data["id"], data["persona"], data["environments"]) == ("memo-note", "jonas", ["memos"])
    assert "# Assertions: memos.exists(text)" in text
    assert "# Tools: memos_list, memos_show, memos_add, memos_remove" in text
    assert max(map(len, text.splitlines())) <= 100
    checked = vepa("tasks", "check", "memo-note")
    assert checked.code == 2
    assert "memo-note.yaml:" in checked.err
    assert faults(vepa, file) == {"title", "request", "success", "plans.careful"}


def test_a_skeleton_that_was_filled_in_is_a_task(project: Path, vepa: Any) -> None:
    vepa(*NEW, "--id", "memos-lamp", "--env", "memos", "--persona", "jonas", "--area", "memos")
    file = project / "tasks" / "memos" / "memos-lamp.yaml"
    filled = {**parse_document(file.read_text()).data, **GOOD, "id": "memos-lamp"}
    file.write_text(yaml.safe_dump(filled))
    assert faults(vepa, file) == set()


def test_a_skeleton_is_shown_only(project: Path, vepa: Any) -> None:
    ran = vepa(*NEW, "--id", "memo-note", "--dry-run", "--json")
    assert ran.json["written"] is False
    assert parse_document(ran.json["text"]).data["environments"] == []
    assert not (project / "tasks" / "written").exists()


def test_a_skeleton_of_a_persona(project: Path, vepa: Any) -> None:
    ran = vepa(*PERSONA, "--id", "dario-conti", "--person", "dario")
    file = project / "personas" / "dario-conti.yaml"
    assert (ran.code, ran.out.strip()) == (0, str(file))
    assert parse_document(file.read_text()).data["person"] == "dario"
    assert {"confirms", "refuses"} <= faults(vepa, file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*NEW,), "a skeleton needs an id"),
        ((*NEW, "--id", "../evil"), "is not an id"),
        ((*NEW, "--id", "a", "--area", "../b"), "is not an id"),
        ((*NEW, "--id", "memo-milk"), "there is a file of this name"),
        ((*NEW, "--id", "a", "--env", "memo"), "memos"),
        ((*NEW, "--id", "a", "--persona", "jona"), "no persona 'jona'"),
        ((*NEW, "--id", "a", "--count", "2"), "belongs to a model"),
        ((*NEW, "--id", "a", "--trigger", "x"), "belongs to a model"),
        ((*NEW, "--id", "a", "--model", "openai/x"), "a model chooses the ids"),
        ((*NEW, "--model", "openai/x", "--env", "memo"), "no environment 'memo'"),
        ((*NEW, "--model", "openai/x", "--trigger", "x"), "no trigger"),
        ((*NEW, "--model", "scripted/x", "--env", "memos"), "needs its script"),
        ((*NEW, "--settings", "none.yaml"), "no such file"),
        ((*PERSONA, "--id", "jonas"), "there is a file of this name"),
        ((*PERSONA, "--id", "a", "--person", "x"), "no person of the world 'x'"),
        ((*PERSONA, "--id", "jonas", "--model", "openai/x"), "there is a persona 'jonas'"),
    ],
)
def test_what_cannot_be(project: Path, vepa: Any, arguments: Any, message: str) -> None:
    before = sorted(path for path in project.rglob("*"))
    ran = vepa(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert sorted(path for path in project.rglob("*")) == before


def test_a_dry_run_says_what_it_costs_and_asks_nobody(
    project: Path, server: ModelServer, asked: Any, vepa: Any
) -> None:
    ran = vepa(*NEW, *asked, "--env", "memos", "--count", "3", "--clean", "--dry-run", "--json")
    assert ran.code == 0
    assert [wish["clean"] for wish in ran.json["wishes"]] == [True] * 3
    least, most = ran.json["dollars"]
    assert 0 < least < most
    assert ran.json["completion"] == [5400, 10800]
    assert server.requests == 0
    assert not (project / "artifacts").exists()


def test_a_model_writes_and_what_holds_is_kept(
    project: Path, server: ModelServer, asked: Any, vepa: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = written(task_with({"id": "memos-wrong", "request": CLEAN["request"]}, GOOD))
    server.play([written(GOOD), wrong])
    with cache_folder() as places:
        monkeypatch.setenv("VEPA_CACHE", str(places.root))
        ran = vepa(*NEW, *asked, "--area", "memos", "--env", "memos", "--count", "2", "--json")
    assert ran.code == 1  # one was wished for that is not there
    report = ran.json
    assert [each["id"] for each in report["accepted"]] == [GOOD["id"]]
    assert [each["id"] for each in report["rejected"]] == ["memos-wrong"]
    assert "alike: request: 1.00 like the request of memo-milk" in ran.err
    assert (project / "tasks" / "memos" / f"{GOOD['id']}.yaml").is_file()
    folder = Path(report["folder"])
    assert folder.parent == project / "artifacts" / "authoring"
    (kept,) = (folder / "rejected").glob("*.json")
    assert len(json.loads(kept.read_text())["drafts"]) == 2
    assert (folder / "ledger.jsonl").read_text().count("\n") == server.requests == 3
    listed = vepa("tasks", "list", "--json").json
    assert GOOD["id"] in [task["id"] for task in listed["tasks"]]


def test_a_model_writes_a_persona(
    project: Path, server: ModelServer, asked: Any, vepa: Any
) -> None:
    persona = {
        **yaml.safe_load((project / "personas" / "jonas.yaml").read_text()),
        "id": "dario-conti",
        "person": "dario",
        "rights": "May read all figures.",
        "manner": "Wordy.",
    }
    server.play([written(persona)])
    ran = vepa(*PERSONA, *asked, "--person", "dario")
    assert ran.code == 0
    assert "dario-conti: accepted" in ran.out
    listed = vepa("personas", "list", "--json").json
    assert "dario-conti" in [each["id"] for each in listed["personas"]]


def test_a_budget_that_is_too_small_ends_it_cleanly(
    project: Path, server: ModelServer, asked: Any, vepa: Any
) -> None:
    ran = vepa(*NEW, *asked, "--env", "memos", "--dollars", "0.000001")
    assert ran.code == 1
    assert "dollars are used up" in ran.err
    assert server.requests == 0
