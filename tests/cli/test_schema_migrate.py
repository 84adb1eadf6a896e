"""`vepa schema migrate`: what it writes and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vepa.policy import Schema, load_policy

OLD = "version: 1\nfields: {colour: [red, green, blue], size: [small, large]}\n"
NEW = "version: 2\nfields: {colour: [red, green, blue, black], size: [small, large], age: [old]}\n"
POLICY = """\
policy: 1
rules:
- {id: r1, decision: allow, when: {colour: {not_in: [red]}}}
- {id: r2, decision: refuse, when: {colour: {in: [red]}, size: {in: [large]}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("old", OLD), ("new", NEW), ("p", POLICY)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def run(vepa: Any, folder: Path, *more: object) -> Any:
    return vepa(
        "schema", "migrate", folder / "old.yaml", folder / "new.yaml", folder / "p.yaml", *more
    )


def test_a_new_value_and_a_new_field(vepa: Any, folder: Path) -> None:
    ran = run(vepa, folder)
    assert ran.code == 0
    new = Schema.parse(NEW)
    policy = load_policy(ran.out, schema=new)
    assert [rule.id for rule in policy.rules] == ["r1", "r2"]
    assert policy.rules[0].masks[0] == new["colour"].mask(["unknown", "green", "blue"])
    assert "2 rules, 1 spelled anew, verified: decisions kept" in ran.err
    told = run(vepa, folder, "--json").json
    assert told["rewritten"] == ["r1"]
    assert told["losses"] == []
    assert told["policy"] == policy.to_dict()
    assert told["policy_hash"] == policy.policy_hash


def test_output_goes_to_a_file_and_the_policy_stays(vepa: Any, folder: Path) -> None:
    out = folder / "q.yaml"
    ran = run(vepa, folder, "--output", out)
    assert (ran.code, ran.out) == (0, "")
    assert load_policy(out.read_text(), schema=Schema.parse(NEW)).rules
    assert (folder / "p.yaml").read_text() == POLICY


def test_a_removal_needs_a_mapping_and_may_be_refused(vepa: Any, folder: Path) -> None:
    (folder / "new.yaml").write_text("version: 2\nfields: {colour: [red, green, blue]}\n")
    out = folder / "q.yaml"
    ran = run(vepa, folder, "--output", out)
    assert ran.code == 2
    assert "fields.size: the new schema has no field 'size'" in ran.err
    assert "fields: {size: NEW or null}" in ran.err
    mapping = folder / "m.yaml"
    mapping.write_text("fields: {size: null}\n")
    ran = run(vepa, folder, "--mapping", mapping, "--output", out)
    assert ran.code == 2
    assert "decisions on old events would change: rule 'r2' depends on" in ran.err
    assert not out.exists()
    ran = run(vepa, folder, "--mapping", mapping, "--lossy", "--output", out)
    assert ran.code == 0
    assert "dropped: rule 'r2' depends on the removed field 'size'" in ran.err
    policy = load_policy(out.read_text(), schema=Schema.parse((folder / "new.yaml").read_text()))
    assert [rule.id for rule in policy.rules] == ["r1"]


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("old", "version: 1\n", ":1: fields: ", "missing"),
        ("new", "version: 1\nfields: {a: []}\n", ":2: ", "needs a name and 1 to"),
        ("new", "", ":1: ", "empty"),
        ("p", "policy: 1\nrules: 5\n", ":2: rules: ", "a list belongs here"),
        ("p", POLICY.replace("[large]", "[huge]"), ":4: size: ", "'huge' is not in the domain"),
        ("m", "fields: {shape: x}\n", ": fields.shape: ", "the old schema has no field 'shape'"),
        ("m", "felds: {}\n", ":1: felds: ", "not known here"),
        ("m", "values:\n  colour:\n    red: 5\n", ":3: values.colour.red: ", "not the number 5"),
    ],
)
def test_bad_files(vepa: Any, folder: Path, name: str, text: str, place: str, message: str) -> None:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    out = folder / "q.yaml"
    more = ("--mapping", path) if name == "m" else ()
    ran = run(vepa, folder, *more, "--output", out)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {path}{place}")
    assert message in ran.err
    assert "remedy: " in ran.err
    assert not out.exists()
