"""Profiles: what is wrong is told with file, line and field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from small_runs import SmallProject

from vepa.bench.runs.profile import find_events, find_profile, load_profile
from vepa.errors import InputError, SettingError
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
