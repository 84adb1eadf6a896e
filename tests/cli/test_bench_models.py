"""`vepa bench run` with a model that proposes: what is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vepa.cli import main
from vepa.project import package_content

EVENTS = str(package_content() / "data" / "rjudge_dev.events.jsonl")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--proposer", "llm"], "--model: the proposer 'llm' needs a model"),
        (["--proposer", "induction+llm", "--max-dollars", "1"], "needs a model"),
        (["--model", "openai/x"], "--proposer: the proposer 'induction' asks no model"),
        (["--questions", "3"], "asks no model"),
        (["--proposer", "llm", "--model", "x", "--questions", "101"], "--questions"),
        (["--proposer", "oracle"], "'oracle' is no proposer"),
        (["--proposer", "llm", "--model", "recorded/nothing"], "no such recording"),
    ],
)
def test_options_that_do_not_fit_are_told(options, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VEPA_ARTIFACTS", str(tmp_path / "artifacts"))
    command = ["bench", "run", EVENTS, "--rounds", "2", "--seeds", "1", "--jobs", "1", *options]
    assert main(command) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "artifacts").exists()


def test_settings_of_a_model_are_told_with_their_file(tmp_path: Path, capsys):
    file = tmp_path / "model.yaml"
    command = ["bench", "run", EVENTS, "--proposer", "llm", "--model", "openai/gpt-4o-mini"]
    for text, told in (("api_key: sk-1", "a key, or what carries one"), ("color: 1", "color")):
        file.write_text(text + "\n")
        assert main([*command, "--settings", str(file)]) == 2
        err = capsys.readouterr().err
        assert str(file) in err
        assert told in err
        assert "sk-1" not in err


def test_a_dry_run_without_a_model_says_that_none_is_asked(capsys):
    command = ["bench", "run", EVENTS, "--dry-run", "--seeds", "3", "--view", "full,observable"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"dry_run": True, "trials": 6, "updates": 66, "model": None}
    assert main(command) == 0
    assert "no model is asked" in capsys.readouterr().out
