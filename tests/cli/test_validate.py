"""`vepa validate`: every YAML file of a project."""

from __future__ import annotations

from pathlib import Path
from pathlib import Path as _Path
from typing import Any

import pytest
from tiny_office import write_environment

from vepa.policy import Policy, Rule, Schema

ROOT = _Path(__file__).parents[2]
PROFILE = (ROOT / "flows" / "profiles" / "demo.yaml").read_text()


@pytest.fixture
def project(
    files: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A project with a good file of each kind; of the package's content there is a profile only."""
    package = tmp_path_factory.mktemp("package")
    (package / "flows" / "profiles").mkdir(parents=True)
    (package / "flows" / "profiles" / "demo.yaml").write_text(PROFILE)
    monkeypatch.setattr("vepa.project.package_content", lambda: package)
    monkeypatch.chdir(package)
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
        ("policies/p.yaml", "policy: [\n", 1, None, "malformed YAML"),
        (
            "policies/p.tests.yaml",
            "- event: {}\n  expect: refuse\n  rules: [r7]\n",
            3,
            "0.rules.0",
            "no rule 'r7'",
        ),
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
    assert "  remedy: " in ran.err
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
    assert vepa("validate", "--project", project, "--strict").code == 1
    for name in ("flows/odd.yaml", "policies/odd.yml", "odd.yaml"):
        (project / name).unlink()
    assert vepa("validate", "--project", project, "--strict").code == 0


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


@pytest.mark.parametrize("name", ["flows/odd.yaml", "policies/odd.yml", "odd.yaml"])
def test_a_file_that_no_model_knows_is_parsed(vepa: Any, project: Path, name: str) -> None:
    (project / name).write_text("a: 1\nb: [\n")
    ran = vepa("validate", "--project", project, "--json")
    assert (ran.code, ran.json["ok"], ran.json["unchecked"]) == (2, False, [])
    (problem,) = rows(ran, project)[name]["problems"]
    assert (problem["line"], problem["message"][:14]) == (2, "malformed YAML")
    assert f"error: {project / name}:2: malformed YAML" in ran.err


@pytest.mark.parametrize("name", ["flows/mine.yaml", "policies/mine.yml", "mine.yaml"])
def test_a_policy_and_a_schema_are_known_by_their_keys(vepa: Any, project: Path, name: str) -> None:
    (project / name).write_text("policy: 1\nrules: [{id: r}]\n")
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 2
    row = rows(ran, project)[name]
    assert (row["kind"], [p["field"] for p in row["problems"]]) == (
        "policy",
        ["rules.0.decision", "rules.0.when"],
    )
    assert f"{name}:2: rule 'r', decision: this key is missing" in ran.err
    (project / name).write_text("version: 1\nfields: {colour: [red]}\n")
    ran = vepa("validate", "--project", project, "--json")
    assert (ran.code, rows(ran, project)[name]["kind"]) == (0, "event schema")


def test_a_conflict_shows_the_witness_of_policy_check(vepa: Any, project: Path) -> None:
    path = project / "policies" / "p.yaml"
    text = path.read_text().replace("injection: {in: [none, ignored]}", "scope: {in: [within]}")
    path.write_text(text)
    ran = vepa("validate", "--project", project, "--json")
    (problem,) = rows(ran, project)["policies/p.yaml"]["problems"]
    checked = vepa("policy", "check", path, "--json")
    assert problem == checked.json["feedback"][0]
    assert problem["witness"]["injection"] == "followed"
    witness = next(line for line in checked.err.splitlines() if "witness: {" in line)
    assert witness in ran.err.splitlines()


def test_every_mistake_of_a_profile_is_told(vepa: Any, project: Path) -> None:
    path = project / "flows" / "profiles" / "mine.yaml"
    path.write_text("events: []\nrounds: ten\nroundz: 1\n")
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 2
    problems = rows(ran, project)["flows/profiles/mine.yaml"]["problems"]
    assert {(p["line"], p["field"]) for p in problems} == {
        (1, "events"),
        (2, "rounds"),
        (3, "roundz"),
    }
    assert ran.err.count(f"error: {path}:") == 3


def test_a_list_of_reviewed_finds(vepa: Any, project: Path) -> None:
    file = project / "data/reviewed.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("reviewed: 1\nfinds: []\n")
    ran = vepa("validate", "--project", project, "--json")
    assert rows(ran, project)["data/reviewed.yaml"]["kind"] == "list of reviewed finds"
    assert ran.code == 0, ran.err
    file.write_text("reviewed: 1\nfinds:\n  - {file: a, kind: b, sha256: c, reason: none at all}\n")
    ran = vepa("validate", "--project", project)
    assert ran.code == 2
    assert f"{file}:3" in ran.err
    assert "finds.0.sha256" in ran.err


def test_from_a_folder_above_the_content(
    vepa: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The working directory comes first among the places, and it holds the other one.
    monkeypatch.setattr("vepa.project.package_content", lambda: project)
    monkeypatch.chdir(project.parent)
    ran = vepa("validate", "--json", "--strict")
    assert ran.code == 0, ran.err
    (row,) = [row for row in ran.json["files"] if row["kind"] == "profile"]
    assert row["file"] == str(project / "flows" / "profiles" / "mine.yaml")
    assert row["root"] == str(project)
    assert "mine.yaml (profile), content of the package" in ran.err
    assert "1 file checked, 0 wrong, 0 unchecked" in ran.err


def test_content_of_other_places_says_so(
    vepa: Any, project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any
) -> None:
    here = tmp_path_factory.mktemp("here")
    (here / "flows").mkdir()
    (here / "flows" / "odd.yaml").write_text("a: 1\n")
    monkeypatch.chdir(here)
    ran = vepa("validate", "--project", project)
    lines = [*ran.out.splitlines(), *ran.err.splitlines()]
    of_the_package = [line for line in lines if line.endswith(", content of the package")]
    assert [line for line in of_the_package if "demo.yaml" in line]
    assert (
        f"unchecked: {here / 'flows' / 'odd.yaml'}: no model is known for this file, "
        "content of the working directory" in lines
    )
    own = [line for line in lines if str(project) in line]
    assert own
    assert not [line for line in own if "content of" in line]


def test_a_folder_without_yaml_is_not_green_when_strict(
    vepa: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vepa.project.package_content", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = vepa("validate")
    assert ran.code == 0
    assert f"0 files checked, 0 wrong, 0 unchecked; no YAML file of a project in {tmp_path}" in (
        ran.err
    )
    assert vepa("validate", "--strict").code == 1


# --- environments, seeds, the world


@pytest.fixture
def memos(project: Path) -> Path:
    """The file of a tiny environment in the project."""
    return write_environment(project)


def test_an_environment_its_seed_and_the_world(vepa: Any, project: Path, memos: Path) -> None:
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 0, ran.err
    kinds = {name: row["kind"] for name, row in rows(ran, project).items()}
    assert kinds["environments/memos/environment.yaml"] == "environment"
    assert kinds["environments/memos/seed/memos.yaml"] == "seed"
    assert kinds["environments/world.yaml"] == "world"


def test_every_fault_of_an_environment_is_told(vepa: Any, project: Path) -> None:
    file = write_environment(
        project, {"process.ports.http": 99_999, "stop": "now", "health.seconds": -1}
    )
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 2
    problems = rows(ran, project)["environments/memos/environment.yaml"]["problems"]
    assert {problem["field"] for problem in problems} == {
        "process.ports.http",
        "stop",
        "health.seconds",
    }
    assert all(problem["line"] and problem["remedy"] for problem in problems)
    assert ran.err.count(f"error: {file}:") == 3


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("memos/seed/memos.yaml", "- one\n", "a seed file is a mapping"),
        ("memos/seed/memos.yaml", "memos: [\n", "malformed YAML"),
        ("world.yaml", "world: 1\n", "missing"),
        ("world.yaml", "world: 2\n", "1"),
    ],
)
def test_a_wrong_seed_or_world_is_named(
    vepa: Any, project: Path, memos: Path, name: str, text: str, message: str
) -> None:
    (project / "environments" / name).write_text(text)
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 2
    row = rows(ran, project)[f"environments/{name}"]
    assert not row["ok"]
    assert message in row["problems"][0]["message"]
    wrong = [other for other in ran.json["files"] if not other["ok"]]
    assert len(wrong) == 1


def test_two_seed_files_with_one_key(vepa: Any, project: Path) -> None:
    file = write_environment(project, {"seed.files": ["seed/memos.yaml", "seed/more.yaml"]})
    (file.parent / "seed" / "more.yaml").write_text("memos: []\n")
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 2
    assert "the key 'memos' is in another seed file too" in ran.err


def test_without_the_extra_environments_stay_unchecked(
    vepa: Any, project: Path, memos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vepa.cli.registry.find_spec", lambda name: None)
    ran = vepa("validate", "--project", project, "--json")
    assert ran.code == 0
    assert str(memos) in ran.json["unchecked"]
    assert f"unchecked: {memos}: the extra 'services' is not installed" in ran.err


def test_a_compose_file_that_listens_beyond_loopback(vepa: Any, project: Path) -> None:
    file = project / "compose.services.yaml"
    file.write_text("services:\n  mail:\n    image: x\n    ports:\n    - 127.0.0.1:1:1\n")
    assert vepa("validate", "--project", project).code == 0
    file.write_text(
        "services:\n  mail:\n    image: x\n    ports:\n    - 127.0.0.1:1:1\n    - 2:2\n"
    )
    ran = vepa("validate", "--project", project, "--json")
    (problem,) = rows(ran, project)["compose.services.yaml"]["problems"]
    assert (ran.code, problem["line"], problem["field"]) == (2, 6, "services.mail.ports.1")
    file.write_text("a: 1\n")
    assert vepa("validate", "--project", project).code == 2
