"""The list of benchmarks: the shipped one, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from vepa.corpus.benchmarks import benchmarks, read_benchmarks
from vepa.corpus.importing import format_of
from vepa.errors import InputError, SettingError
from vepa.project import Project

ROOT = Path(__file__).parents[3]
GOOD = {
    "name": "mine",
    "title": "Mine",
    "format": "rjudge",
    "home": "https://bench.example/",
    "address": "https://bench.example/files/",
    "licence": "CC0-1.0",
    "citation": "Nobody, Nothing, 2025",
    "files": [{"name": "all.json"}],
}


def written(folder: Path, *sets: object) -> Path:
    file = folder / "benchmarks.yaml"
    file.write_text(yaml.safe_dump({"benchmarks": 1, "sets": list(sets)}))
    return file


def test_the_shipped_list():
    found = benchmarks(Project(ROOT))
    assert {each.format for each in found.values()} == {"assebench", "rjudge", "atbench"}
    assert found["assebench-security"].records == 817
    for name, each in found.items():
        assert each.name == name
        assert each.address.startswith("https://")
        assert not any("/" in file.name and file.name.startswith("/") for file in each.files)
    parts = [name for name in found if name.startswith("assebench-")]
    for name in ("assebench-security", "assebench-safety", "assebench-strict"):
        stem = Path(found[name].files[0].name).stem
        assert format_of("assebench").dataset(stem) == name
    assert len(parts) == 4


def test_one_by_its_name():
    assert list(benchmarks(Project(ROOT), "r-judge")) == ["r-judge"]
    with pytest.raises(SettingError, match="no benchmark 'rjudge'") as caught:
        benchmarks(Project(ROOT), "rjudge")
    assert "r-judge" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"format": "r-judge"}, "sets.0.format", "no format 'r-judge'"),
        ({"address": "http://bench.example/"}, "sets.0.address", "only https"),
        ({"address": "https://bench.example/files"}, "sets.0.address", "ends with"),
        ({"address": "https://me@bench.example/"}, "sets.0.address", "without a user"),
        ({"files": []}, "sets.0.files", "at least one"),
        ({"files": [{"name": "../x.json"}]}, "sets.0.files.0.name", "below the address"),
        ({"files": [{"name": "/etc/x.json"}]}, "sets.0.files.0.name", "below the address"),
        ({"files": [{"name": "a"}, {"name": "a"}]}, "sets.0", "listed twice"),
        ({"files": [{"name": "a", "sha256": "ABC"}]}, "sets.0.files.0.sha256", "match"),
        ({"files": [{"name": "a", "bytes": 0}]}, "sets.0.files.0.bytes", "greater than 0"),
        ({"name": "Mine"}, "sets.0.name", "match"),
        ({"colour": "green"}, "sets.0.colour", "colour|key|known"),
    ],
)
def test_a_list_that_is_wrong(tmp_path, change, field, says):
    file = written(tmp_path, GOOD | change)
    with pytest.raises(InputError, match=says) as caught:
        read_benchmarks(file)
    where = caught.value.where
    assert (where.file, where.field) == (str(file), field)
    assert where.line is not None


def test_a_name_that_is_listed_twice(tmp_path):
    with pytest.raises(InputError, match="'mine' is listed twice"):
        read_benchmarks(written(tmp_path, GOOD, {**GOOD, "files": [{"name": "b.json"}]}))
