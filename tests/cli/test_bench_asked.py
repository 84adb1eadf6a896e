"""`vepa bench run` with baselines that ask a model: what is refused, and what it would take."""

from __future__ import annotations

import pytest

from vepa.project import package_content

EVENTS = package_content() / "data" / "rjudge_dev.events.jsonl"
ASKS = ["--baselines", "forest,no_memory,judge", "--judge", "openai/gpt-4o-mini"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--baselines", "no_memory"], "--judge: the baseline 'no_memory' asks a language model"),
        (["--baselines", "forest", "--judge", "openai/x"], "--judge: none of the baselines asks a"),
        (["--judge-dollars", "1"], "--judge-dollars: none of the baselines asks a model"),
        ([*ASKS, "--embedder", "hashing/64"], "--embedder: none of the baselines asks an embedder"),
        ([*ASKS, "--judge-dollars", "inf"], "--judge-dollars: "),
        (["--baselines", "no_memory", "--judge", "recorded/nothing"], "no such recording"),
        (["--baselines", "no_memory", "--judge", "scripted/x"], "needs its script"),
        ([*ASKS, "--baselines", "judge,lookups"], "'lookups' is not a baseline"),
    ],
)
def test_options_that_do_not_fit_are_told(vepa, options, told, tmp_path, monkeypatch):
    monkeypatch.setenv("VEPA_ARTIFACTS", str(tmp_path / "artifacts"))
    ran = vepa("bench", "run", EVENTS, "--rounds", 2, "--seeds", 1, "--jobs", 1, *options)
    assert ran.code == 2
    assert told in ran.err
    assert not (tmp_path / "artifacts").exists()


def test_settings_of_the_asked_model_are_told_with_their_file(vepa, tmp_path):
    file = tmp_path / "model.yaml"
    file.write_text("max_tokens: 10\ncolor: 1\n")
    ran = vepa("bench", "run", EVENTS, *ASKS, "--judge-settings", file)
    assert ran.code == 2
    assert f"{file}:2: color" in ran.err


def test_a_dry_run_tells_what_the_baselines_would_ask(vepa, tmp_path):
    file = tmp_path / "model.yaml"
    file.write_text("max_tokens: 100\n")
    command = ["bench", "run", EVENTS, *ASKS, "--judge-settings", file, "--dry-run", "--seeds", 3]
    told = vepa(*command, "--json").json
    events = len(EVENTS.read_text().splitlines())
    asked = told["asked"]
    assert asked["families"]["no_memory"]["calls"] == 3 * events
    assert asked["completion"] == 2 * 3 * events * 100
    assert asked["dollars"] > 0
    shown = " ".join(vepa(*command, "--judge-tokens", 5000).out.split())
    assert "VEPA, then LLM judge" in shown
    assert "their budget: 5,000 tokens" in shown
    assert f"{asked['dollars']:.2f} USD" in shown
