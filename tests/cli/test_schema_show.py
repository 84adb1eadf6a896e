"""`vepa schema show`: fields, values, what they mean, version and hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vepa.policy import Schema, bundled_schema


def test_the_bundled_schema(vepa: Any) -> None:
    ran = vepa("schema", "show", "--json")
    assert ran.code == 0
    schema = bundled_schema()
    assert (ran.json["version"], ran.json["sha256"]) == (schema.version, schema.sha256)
    told = {
        field["name"]: {row["value"]: row["description"] for row in field["values"]}
        for field in ran.json["fields"]
    }
    assert tuple(told) == schema.names
    for field in schema.fields:
        assert tuple(told[field.name]) == field.values
        assert all(told[field.name][value] for value in field.values[1:])
    plain = vepa("schema", "show").out
    assert all(name in plain for name in schema.names)
    assert f"version {schema.version}, 17 fields, sha256 {schema.sha256}" in plain


def test_one_field_of_a_schema_of_ones_own(vepa: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("version: 3\nfields: {colour: {red: like a rose}, size: [small]}\n")
    ran = vepa("schema", "show", "colour", "--schema", path, "--json")
    assert ran.json == {
        "version": 3,
        "sha256": Schema.parse(path.read_text()).sha256,
        "fields": [
            {
                "name": "colour",
                "values": [
                    {"value": "unknown", "description": ""},
                    {"value": "red", "description": "like a rose"},
                ],
            }
        ],
    }
    plain = vepa("schema", "show", "colour", "--schema", path).out
    assert "like a rose" in plain
    assert "small" not in plain
    wrong = vepa("schema", "show", "color", "--schema", path)
    assert (wrong.code, wrong.out) == (2, "")
    assert "the schema has no field 'color'" in wrong.err
    assert "did you mean 'colour'?" in wrong.err
