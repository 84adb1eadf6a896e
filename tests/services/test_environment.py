"""Reading environment files: every fault with file, line, field and remedy."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from tiny_office import write_environment

from vepa.errors import InputError, SettingError
from vepa.project import Project
from vepa.services.environment import (
    check_arguments,
    content_hash,
    load_environment,
    load_environments,
    load_seed,
    read_environment,
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the tiny environment with dotted paths changed."""

    def make(changes: dict[str, Any] | None = None, **more: Any) -> Path:
        return write_environment(tmp_path, changes, **more)

    return make


def test_the_tiny_environment_is_read_whole(write: Write) -> None:
    file = write()
    environment = load_environment(file)
    assert (environment.file, environment.folder) == (file, file.parent)
    assert [tool.name for tool in environment.tools] == [
        "memos_list",
        "memos_show",
        "memos_add",
        "memos_remove",
    ]
    assert environment.tool("memos_add") is environment.tools[2]
    assert environment.tool("memos_nothing") is None
    assert [place for place, _ in environment.all_steps()][:3] == [
        ("seed", "steps", 0),
        ("state", "steps", 0),
        ("tools", 0, "steps", 0),
    ]
    assert load_seed(environment)["memos"][0]["text"] == "water the plants"


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown key": ({"colour": "red"}, "colour", "not known here"),
    "no command": ({"process.command": []}, "process.command", "at least one"),
    "unpinned package": ({"process.packages": ["radicale"]}, "process.packages.0", "not a pinned"),
    "a URL for a package": (
        {"process.packages": ["x @ http://a.test/x.whl"]},
        "process.packages.0",
        "not a pinned",
    ),
    "port out of range": ({"process.ports.http": 70_000}, "process.ports.http", "65535"),
    "port as text": ({"process.ports.http": "80"}, "process.ports.http", "whole number"),
    "path that leads out": (
        {"process.files": {"../x": ""}},
        "process.files.../x.[key]",
        "not a path inside",
    ),
    "unknown stop signal": ({"process.stop.signal": "KILL"}, "process.stop.signal", "TERM"),
    "health of no port": ({"health.checks.0.port": "web"}, "health.checks.0", "names no port"),
    "health that waits for ever": ({"health.seconds": 100_000}, "health.seconds", "600"),
    "no account for a role": ({"accounts.hr": None}, "accounts", "none for hr"),
    "admin without a password": (
        {"accounts.admin.user": None, "accounts.admin.password": None},
        "accounts.admin",
        "needs a user and a password",
    ),
    "user without a password": (
        {"accounts.admin.password": None},
        "accounts.admin",
        "belong together",
    ),
    "folder called otherwise": ({"name": "memo"}, "tools.0.name", "does not begin with `memo_`"),
    "seed file that is not there": (
        {"seed.files.0": "seed/other.yaml"},
        "seed.files.0",
        "no such file",
    ),
    "driver that is none of it": (
        {"state.steps.0": {"sql": {"query": "select 1"}}},
        "state.steps.0",
        "none of this environment's drivers",
    ),
    "step with two requests": (
        {"state.steps.0": {"http": {"path": "/"}, "sql": {}}},
        "state.steps.0",
        "exactly one request",
    ),
    "step as nobody": ({"state.steps.0.as": "boss"}, "state.steps.0.as", "no account 'boss'"),
    "capture of no kind": (
        {"seed.steps.0.capture": {"page": "1"}},
        "seed.steps.0.capture",
        "no volatile kind 'page'",
    ),
    "broken template": (
        {"tools.1.steps.0.http.path": "/memos/{{ args. }}"},
        "tools.1.steps.0",
        "template",
    ),
    "broken expression": ({"state.value": "all.data |"}, "state.value", "expression"),
    "broken pattern": ({"volatile.memo.pattern": "memo-["}, "volatile.memo", "pattern"),
    "volatile kind of nothing": ({"volatile.memo": {}}, "volatile.memo", "needs"),
    "tool that is another's": ({"tools.0.name": "mail_list"}, "tools.0.name", "does not begin"),
    "two tools of one name": ({"tools.1.name": "memos_list"}, "tools.1.name", "occurs twice"),
    "open arguments": (
        {"tools.0.parameters.additionalProperties": True},
        "tools.0",
        "additionalProperties",
    ),
    "required that is no list": (
        {"tools.1.parameters.required": {"id": 1}},
        "tools.1",
        "a list of names",
    ),
    "required that is no name": (
        {"tools.1.parameters.required": [["id"]]},
        "tools.1",
        "a list of names",
    ),
    "no JSON schema": (
        {"tools.1.parameters.properties.id": {"type": "strin"}},
        "tools.1.parameters",
        "no JSON schema",
    ),
    "example against the schema": ({"tools.1.examples.0": {"id": 3}}, "tools.1.examples.0", "id:"),
    "example with an argument more": (
        {"tools.0.examples.0": {"page": "3"}},
        "tools.0.examples.0",
        "page",
    ),
    "event of no such value": (
        {"tools.0.event.sensitivity": "secret"},
        "tools.0.event.sensitivity",
        "'secret' is not in the domain",
    ),
    "decisive argument that is none": ({"tools.1.decisive": ["to"]}, "tools.1", "no argument 'to'"),
    "tool of no account": ({"tools.0.account": "boss"}, "tools.0.account", "no account 'boss'"),
    "unknown volatile kind": ({"tools.0.volatile": ["page"]}, "tools.0.volatile", "no kind 'page'"),
    "secret that the world has not": (
        {"accounts.admin.password": "{{ secrets.mail_admn }}"},
        "accounts.admin.password",
        "no secret 'mail_admn'",
    ),
    "secret in an expression inside": (
        {"state.value": "all.data | where('it.text == secrets[\\'x-y\\']') | list"},
        "state.value",
        "no secret 'x-y'",
    ),
    "person who is not in the world": (
        {"seed.steps.0.as": "person:nobody"},
        "seed.steps.0.as",
        "no account 'person:nobody'",
    ),
    "account that nobody has": (
        {"process.environment": {"KEY": "{{ accounts.fnance.password }}"}},
        "process.environment.KEY",
        "no account 'fnance'",
    ),
    "account of no role in the world": (
        {"accounts.auditor": {"rights": "none"}},
        "accounts.auditor",
        "the role 'auditor'",
    ),
    "setting that a driver has not": (
        {"drivers.http": {"port": "http", "prefx": "/x"}},
        "drivers.http.prefx",
        "not known here",
    ),
    "setting of the wrong kind": (
        {"drivers.http.auth.how": "digest"},
        "drivers.http.auth.how",
        "'login'",
    ),
    "login without a path": (
        {"drivers.http.auth": {"how": "login", "request": {"method": "POST"}}},
        "drivers.http.auth.request.path",
        "missing",
    ),
    "driver on no port": ({"drivers.http.port": "web"}, "drivers.http.port", "no port 'web'"),
    "image without ports": ({"docker": {"image": "x/y:1"}}, "docker", "needs `ports`"),
    "digest that is none": (
        {"docker": {"image": "x/y:1", "digest": "sha256:1", "ports": {"http": 80}}},
        "docker.digest",
        "match",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_fault_names_file_line_field_and_remedy(write: Write, name: str) -> None:
    changes, field, message = BAD[name]
    file = write(changes)
    with pytest.raises(SettingError) as caught:
        load_environment(file)
    error = caught.value
    assert (error.where.file, error.where.field or "") == (str(file), field)
    assert message in error.message
    assert error.remedy
    assert error.where.line is not None
    assert 1 <= error.where.line <= len(file.read_text().splitlines())


def test_the_line_is_that_of_the_fault(write: Write) -> None:
    file = write({"process.ports.http": 70_000})
    lines = file.read_text().splitlines()
    with pytest.raises(SettingError) as caught:
        load_environment(file)
    assert lines[(caught.value.where.line or 0) - 1].strip() == "http: 70000"


def test_missing_accounts_are_told_at_the_line_of_the_accounts(write: Write) -> None:
    file = write({"accounts.hr": None})
    with pytest.raises(SettingError) as caught:
        load_environment(file)
    lines = file.read_text().splitlines()
    assert lines[(caught.value.where.line or 0) - 1].strip() == "accounts:"


def test_all_faults_are_found_at_once(write: Write) -> None:
    environment, wrong = read_environment(
        write({"state.value": "a |", "tools.1.examples.0": {}, "seed.files.0": "seed/none.yaml"})
    )
    assert environment is not None
    assert {error.where.field for error in wrong} == {
        "state.value",
        "tools.1.examples.0",
        "seed.files.0",
    }


@pytest.mark.parametrize(
    "text", ["environment: [", "- 1", "", "a: 1\na: 2\n", "x: !!python/name:os\n"]
)
def test_what_is_no_environment_at_all(tmp_path: Path, text: str) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text(text)
    with pytest.raises(SettingError) as caught:
        load_environment(file)
    assert caught.value.where.file == str(file)


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ({"seed/memos.yaml": "[1]"}, "a seed file is a mapping"),
        ({"seed/memos.yaml": "memos: []", "seed/more.yaml": "memos: []"}, "another seed file"),
        ({"seed/memos.yaml": "memos: ["}, "malformed YAML"),
    ],
)
def test_seeds_that_cannot_be_put_together(
    write: Write, seeds: dict[str, str], message: str
) -> None:
    file = write()
    for name, text in seeds.items():
        (file.parent / name).write_text(text)
    listed = "".join(f"\n  - {name}" for name in seeds)
    file.write_text(file.read_text().replace("\n  - seed/memos.yaml", listed))
    with pytest.raises(SettingError, match=message) as caught:
        load_seed(load_environment(file))
    assert caught.value.where.file is not None


def test_unknown_names_are_refused_with_the_nearest(write: Write, tmp_path: Path) -> None:
    write()
    project = Project(tmp_path)
    assert [each.name for each in load_environments(project, ["memos"])] == ["memos"]
    with pytest.raises(SettingError, match="no environment 'memo'") as caught:
        load_environments(project, ["memo"])
    assert "memos" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("memos_show", {}, "'id' is a required property"),
        ("memos_show", {"page": 1}, "'id' is a required property"),
        ("memos_show", {"page": 1}, "'page' was unexpected"),
        ("memos_show", {"id": 3}, "id: 3 is not of type 'string'"),
        ("memos_show", {"id": "a", "page": 1}, "'page' was unexpected"),
        ("memos_list", [], "is not of type 'object'"),
        ("memos_show", {"id": "a\ud800b"}, "half of a character"),
        ("memos_show", {"id": ["x\udfff"]}, "half of a character"),
        ("memos_show", {"id": float("nan")}, "nan is no number"),
        ("memos_show", {"id": reduce(lambda inner, _: [inner], range(5000), "x")}, "nested"),
    ],
)
def test_arguments_against_the_schema(
    write: Write, tool: str, arguments: Any, message: str
) -> None:
    found = load_environment(write()).tool(tool)
    assert found is not None
    with pytest.raises(InputError) as caught:
        check_arguments(found, arguments)
    assert caught.value.message.startswith(f"{tool}: ")
    assert message in caught.value.message
    assert caught.value.where.field == "arguments"
    assert caught.value.remedy


def test_the_content_hash_covers_every_file_but_hidden_and_compiled_ones(
    write: Write, tmp_path: Path
) -> None:
    file = write()
    environment, world = load_environment(file), tmp_path / "environments" / "world.yaml"
    before = content_hash(environment, world)
    assert content_hash(load_environment(write()), world) == before
    (file.parent / "__pycache__").mkdir()
    (file.parent / "__pycache__" / "x.pyc").write_text("x")
    (file.parent / ".hidden").write_text("x")
    assert content_hash(environment, world) == before
    hashes = {before, content_hash(environment)}
    for path in (file.parent / "serve.py", file.parent / "seed" / "memos.yaml", world):
        path.write_text(path.read_text() + "\n")
        hashes.add(content_hash(environment, world))
    (file.parent / "serve.py").rename(file.parent / "server.py")
    hashes.add(content_hash(environment, world))
    assert len(hashes) == 6


@pytest.mark.parametrize(
    ("change", "field", "name"),
    [
        ({"seed.steps.0.for": "wrld.teams"}, "seed.steps.0", "wrld"),
        ({"state.value": "memmos.data"}, "state.value", "memmos"),
    ],
)
def test_a_name_that_no_template_knows_is_found_without_starting_anything(
    tmp_path, change, field, name
):
    file = write_environment(tmp_path, change)
    _, wrong = read_environment(file)
    told = [error for error in wrong if name in error.message]
    assert [error.where.field for error in told] == [field]
    assert all(error.where.line and error.remedy for error in told)
