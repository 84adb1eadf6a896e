"""`vepa validate`: every YAML file of a project."""

from __future__ import annotations

from pathlib import Path
from pathlib import Path as _Path
from typing import Any

import pytest

from vepa.policy import Policy, Rule, Schema

ROOT = _Path(__file__).parents[2]
PROFILE = (ROOT / "flows" / "profiles" / "demo.yaml").read_text()


@pytest.fixture
def project(files: Path) -> Path:
    """A project with a good file of each kind."""
    (files / "policies").mkdir()
    (files / "p.yaml").rename(files / "policies" / "p.yaml")
    (files / "p.tests.yaml").rename(files / "policies" / "p.tests.yaml")
    (files / "flows" / "profiles").mkdir(parents=True)
    (files / "flows" / "profiles" / "mine.yaml").write_text(PROFILE)
    (files / "schemas").mkdir()
    (files / "schemas" / "three.yaml").write_text("version: 1\nfields: {colour: [red]}\n")
    three = Schema.parse("version: 1\nfields: {colour: [red]}\n")
    rule = Rule.build(three, "r", "allow", {"colour": {"in": ["red"]}})
    (files / "policies" / "three.yaml").write_text(Policy(three, (rule,)).to_yaml())
    return files


def rows(ran: Any, root: Path) -> dict[str, Any]:
    return {
        str(Path(row["file"]).relative_to(root)): row
        for row in ran.json["files"]
        if Path(row["file"]).is_relative_to(root)
    }


def test_a_good_project(vepa: Any, project: Path) -> None:
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["ok"] is True
    assert {name: row["kind"] for name, row in rows(ran, project).items()} == {
        "flows/profiles/mine.yaml": "profile",
        "policies/p.tests.yaml": "policy tests",
        "policies/p.yaml": "policy",
        "policies/three.yaml": "policy",
        "schemas/three.yaml": "event schema",
    }
    assert ran.json["unchecked"] == []
    plain = vepa("validate", "--project", project)
    assert f"ok: {project / 'policies' / 'p.yaml'} (policy)" in plain.out


@pytest.mark.parametrize(
    ("name", "text", "line", "field", "message"),
    [
        ("policies/p.yaml", "policy: 1\nrules:\n- {id: r}\n", 3, "rules.0.decision", "missing"),
        ("policies/p.tests.yaml", "- {event: {}, expect: so}\n", 1, "0.expect", "belongs here"),
        (
            "flows/profiles/mine.yaml",
            PROFILE.replace("rounds: 10", "rounds: ten"),
            None,
            "rounds",
            "whole number",
        ),
        (
            "schemas/three.yaml",
            "version: 1\nfields:\n  colour: [no]\n",
            3,
            "fields.colour",
            "a word belongs here, not false",
        ),
        ("policies/p.yaml", "policy: [\n", 2, None, "malformed YAML"),
    ],
)
def test_a_wrong_file_is_named_with_line_and_field(
    vepa: Any,
    project: Path,
    name: str,
    text: str,
    line: int | None,
    field: str | None,
    message: str,
) -> None:
    (project / name).write_text(text)
    if line is None:
        line = text.splitlines().index("rounds: ten") + 1
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 2
    assert ran.json["ok"] is False
    row = rows(ran, project)[name]
    assert row["ok"] is False
    problem = row["problems"][0]
    assert (problem["line"], problem["field"]) == (line, field)
    assert message in problem["message"]
    assert problem["remedy"]
    assert f"error: {project / name}:{line}: " in ran.err
    good = [other for other in rows(ran, project).values() if other["ok"]]
    # A wrong schema takes the policy that is written for it along; nothing else suffers.
    assert len(good) == (3 if name == "schemas/three.yaml" else 4)


def test_files_that_no_model_knows_are_said(vepa: Any, project: Path) -> None:
    (project / "flows" / "odd.yaml").write_text("a: 1\n")
    (project / "policies" / "odd.yml").write_text("a: 1\n")
    (project / "odd.yaml").write_text("a: 1\n")
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 0
    assert {Path(name).relative_to(project).as_posix() for name in ran.json["unchecked"]} == {
        "flows/odd.yaml",
        "policies/odd.yml",
        "odd.yaml",
    }
    assert ran.err.count("unchecked: ") == 3


def test_products_and_hidden_files_are_left_alone(vepa: Any, project: Path) -> None:
    for name in ("artifacts/runs/1/policy.yaml", ".hidden/x.yaml", "flows/.x/y.yaml"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("][")
    assert vepa("validate", "--project", project).code == 0


def test_the_content_that_ships_is_valid(vepa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran = vepa("validate", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["unchecked"] == []
    assert str(ROOT / "flows" / "profiles" / "demo.yaml") in {
        row["file"] for row in ran.json["files"]
    }
