"""Profiles: what is wrong is told with file, line and field."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from small_runs import SmallProject

from vepa.annotate.panel import Panel, load_panel
from vepa.annotate.runs.profile import read_annotation
from vepa.bench.runs.profile import Profile, find_events, find_profile, load_profile
from vepa.cli import main
from vepa.collect.runs.profile import CorpusProfile, read_corpus
from vepa.corpus.benchmarks import benchmarks
from vepa.errors import InputError, SettingError
from vepa.lifecycle.estimating import estimate_lifecycle
from vepa.lifecycle.plan import plan_lifecycle
from vepa.lifecycle.profile import read_lifecycle
from vepa.project import Project, package_content


def test_the_demo_profile_is_the_main_job() -> None:
    project = Project(package_content())
    profile = load_profile(find_profile(project, "demo"))
    assert (profile.rounds, profile.feedback, profile.flip, profile.seed) == (10, 0.5, 0.0, 0)
    assert profile.baselines == ["forest", "ripper", "hoeffding", "lookup"]
    assert [find_events(project, name).is_file() for name in profile.events] == [True]


def test_a_short_profile_has_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text("events: [a.jsonl]\n")
    profile = load_profile(file)
    assert profile.rounds == 10
    assert profile.baselines == []


@pytest.mark.parametrize(
    ("line", "field", "told"),
    [
        ("ronds: 3", "ronds", "rounds"),
        ("rounds: 0", "rounds", "greater than or equal to 1"),
        ("rounds: 2.5", "rounds", "whole number"),
        ("rounds: many", "rounds", "whole number"),
        ("feedback: 0", "feedback", "greater than 0"),
        ("feedback: 1.5", "feedback", "less than or equal to 1"),
        ("view: everything", "view", "'full', 'observable'"),
        ("authority: nobody", "authority", "prospective"),
        ("baselines: [oracle]", "baselines.0", "forest"),
        ("baselines: [lookup, lookup]", "baselines", "twice"),
        ("evolution: {patches: -1}", "evolution.patches", "greater than or equal to 0"),
        ("evolution: {patchs: 3}", "evolution.patchs", "not known here"),
        ("evolution: {proposer: oracle}", "evolution", "no proposer"),
        ("evolution: {proposer: llm}", "evolution", "none is named"),
        ("evolution: {llm: {model: openai/x}}", "evolution", "asks none"),
        (
            "evolution: {proposer: llm, llm: {model: openai/x, question: 3}}",
            "evolution.llm.question",
            "not known here",
        ),
        ('evolution: {verify: "refuse"}', "evolution", "verified policies only"),
        ("evolution: {verify: on}", "evolution.verify", "'on'"),
        ("title: 7", "title", "a word belongs here"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, line: str, field: str, told: str
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(f"# a comment\nevents: [a.jsonl]\n{line}\n")
    with pytest.raises(SettingError) as caught:
        load_profile(file)
    assert caught.value.where.file == str(file)
    assert caught.value.where.line == 3
    assert caught.value.where.field == field
    assert told in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "empty"),
        ("# nothing\n", "only comments"),
        ("rounds: 3\n", "events"),
        ("events: []\n", "events"),
        ("- a\n- b\n", "mapping"),
        ("events: [a\n", "malformed"),
        ("events: [a]\nevents: [b]\n", "duplicate"),
    ],
)
def test_a_file_that_is_no_profile(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(content)
    with pytest.raises(SettingError, match=told):
        load_profile(file)


def test_an_unknown_profile_lists_those_that_are_there(
    make_project: Callable[..., SmallProject],
) -> None:
    project = Project(make_project().folder)
    with pytest.raises(SettingError, match=r"did you mean 'small'\?"):
        find_profile(project, "smal")


def test_a_path_is_a_profile_too(tmp_path: Path) -> None:
    assert find_profile(Project(tmp_path), "there/x.yaml") == Path("there/x.yaml")
    with pytest.raises(InputError, match="no such file"):
        load_profile(tmp_path / "x.yaml")


# --- the profiles that ship for real models


def _blocks(name: str) -> tuple[Profile, CorpusProfile, Panel]:
    """What a shipped profile says, each block read without a fault, and its panel."""
    project = Project(package_content())
    file = find_profile(project, name)
    corpus, wrong = read_corpus(file)
    annotate, more = read_annotation(file)
    released, others = read_lifecycle(file)
    assert wrong + more + others == []
    assert corpus is not None
    assert annotate is not None
    assert annotate.arbiter
    assert released.release is not None
    return load_profile(file), corpus, load_panel(project, annotate.panel)[0]


@pytest.mark.parametrize("name", ["small", "paper"])
def test_a_profile_of_real_models_has_budgets_and_readers_apart(name: str) -> None:
    profile, corpus, panel = _blocks(name)
    collect = corpus.collect
    assert None not in (collect.dollars, collect.tokens, collect.minutes, collect.episode_tokens)
    assert None not in (panel.budget.dollars, panel.budget.tokens)
    assert not any(model.startswith(("scripted", "recorded/")) for model in collect.models)
    assert len({model.partition("/")[0] for model in collect.models}) >= 2
    assert panel.arbiter is not None
    assert len({seat.vendor for seat in panel.seats}) == 3
    assert not set(collect.models) & {seat.model for seat in panel.seats}
    known = {f"{each.replace('-', '_')}.events.jsonl" for each in benchmarks(Project())}
    assert set(profile.events) <= known
    # Its card asks for evaluation only: no policy that is kept learns from it.
    assert not [events for events in profile.events if "atbench" in events]


def test_the_small_profile_costs_tens_of_dollars(tmp_path: Path) -> None:
    whole = plan_lifecycle(Project(package_content()), "small", artifacts=tmp_path, awaiting=True)
    found = estimate_lifecycle(whole)
    assert found.enough is True
    assert found.dollars is not None
    assert 10 < found.dollars < 100
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_paper_profile_is_full_size_and_within_its_budgets(tmp_path: Path) -> None:
    whole = plan_lifecycle(Project(package_content()), "paper", artifacts=tmp_path, awaiting=True)
    found = estimate_lifecycle(whole)
    assert found.stages[0].counts["episodes"] == 183 * 4 * 5
    assert found.stages[1].counts["steps"] > 20_000
    assert found.enough is True
    assert found.unpriced == []


def test_every_command_of_the_paper_profile_is_one_that_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five seeds and ATBench are commands in its comments: options and benchmarks are read."""
    text = find_profile(Project(package_content()), "paper").read_text()
    lines = re.findall(r"^#   (vepa .*?[^\\])$", text.replace(" \\\n#    ", ""), re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        words = shlex.split(line.replace('"$(vepa fetch', "").replace(')"', ""))[1:]
        options = {word for word in words if word.startswith("--")}
        verbs = words[:2] if words[0] == "bench" else words[:1]
        assert main([*verbs, "--help"]) == 0
        told = capsys.readouterr().out
        assert {option for option in options if option not in told} == set(), line
        if verbs == ["parse"]:
            assert words[1] in benchmarks(Project())
    assert sum("--seeds 5" in line for line in lines) == 3
