"""`vepa fetch` as a command: what it prints, where it puts files, how it fails."""

from __future__ import annotations

import json

import pytest
import yaml
from upstream import Upstream, gives

TURNS = [{"role": "user", "content": "Hello"}, {"role": "agent", "thought": "", "action": "Hi."}]
BODY = json.dumps([{"id": 7, "contents": [TURNS], "label": 1}]).encode()


@pytest.fixture
def upstream():
    with Upstream() as running:
        running.does["/data/all.json"] = gives(BODY)
        yield running


@pytest.fixture
def project(tmp_path, monkeypatch, upstream):
    """A project that knows one benchmark, and a cache of its own."""
    listed = {
        "name": "mine",
        "title": "Mine",
        "format": "rjudge",
        "home": "https://bench.example/",
        "address": f"{upstream.address}data/",
        "licence": "CC0-1.0",
        "citation": "Nobody, Nothing, 2025",
        "records": 1,
        "note": "For evaluation only.",
        "files": [{"name": "all.json"}],
    }
    (tmp_path / "data").mkdir()
    text = yaml.safe_dump({"benchmarks": 1, "sets": [listed]})
    (tmp_path / "data/benchmarks.yaml").write_text(text)
    monkeypatch.setenv("VEPA_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_the_list_tells_what_is_here_and_asks_nobody(vepa, project, upstream):
    assert vepa("fetch", "--project", project, "--json").json["benchmarks"][0]["path"] is None
    assert "CC0-1.0" in vepa("fetch", "--project", project).out
    assert upstream.asked == []
    vepa("fetch", "mine", "--project", project)
    (row,) = vepa("fetch", "--project", project, "--json").json["benchmarks"]
    assert row["path"] == str(project / "cache/benchmarks/mine/all.json")


def test_what_it_prints_is_what_import_takes(vepa, project):
    ran = vepa("fetch", "mine", "--project", project)
    assert ran.code == 0
    assert "Nobody, Nothing, 2025" in ran.err
    assert "For evaluation only." in ran.err
    imported = vepa("import", ran.out.strip())
    assert imported.code == 0
    assert [each["id"] for each in imported.lines] == ["r-judge/7"]
    found = vepa("fetch", "mine", "--project", project, "--json").json
    assert (found["path"], found["records"]) == (ran.out.strip(), 1)
    assert found["files"][0] | {"sha256": ""} == {
        "name": "all.json", "sha256": "", "new": False, "pinned": False,
    }  # fmt: skip


def test_from_a_path_nobody_is_asked(vepa, project, upstream, tmp_path):
    (tmp_path / "mine.json").write_bytes(BODY)
    ran = vepa("fetch", "mine", "--from", tmp_path / "mine.json", "--project", project)
    assert ran.code == 0
    assert upstream.asked == []


def test_without_upstream_it_says_what_to_do(vepa, project, upstream):
    upstream.does.clear()
    ran = vepa("fetch", "mine", "--project", project)
    assert (ran.code, ran.out) == (1, "")
    assert "404" in ran.err
    assert "vepa fetch mine --from PATH" in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["miner"], "mine"), (["--from", "x"], "name of a benchmark"), (["mine", "--from", "x"], "x")],
)
def test_bad_input(vepa, project, arguments, says):
    ran = vepa("fetch", *arguments, "--project", project)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_validate_checks_the_list_and_the_recordings(vepa, project, tmp_path_factory, monkeypatch):
    package = tmp_path_factory.mktemp("package")
    monkeypatch.setattr("vepa.project.package_content", lambda: package)
    monkeypatch.chdir(package)
    told = dict.fromkeys(("model", "made", "licence"), "nobody, in a test")
    recorded = project / "data/recorded/mine"
    recorded.mkdir(parents=True)
    (recorded / "manifest.yaml").write_text(yaml.safe_dump({**told, "date": "2025-06-30"}))
    good = vepa("validate", "--project", project, "--json").json
    assert {row["file"]: row["kind"] for row in good["files"]} == {
        str(project / "data/benchmarks.yaml"): "list of benchmarks",
        str(recorded / "manifest.yaml"): "recording",
    }
    (recorded / "answers.jsonl").write_text('{"hash": 1}\n')
    file = project / "data/benchmarks.yaml"
    file.write_text(file.read_text().replace("format: rjudge", "format: judge"))
    ran = vepa("validate", "--project", project)
    assert ran.code == 2
    assert "sets.0.format" in ran.err
    assert "answers.jsonl, line 1" in ran.err
