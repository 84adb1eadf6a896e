"""The catalogue: what is bundled is sound, and what is wrong is told with its place."""

from __future__ import annotations

import copy
from typing import Any, get_args

import pytest
import yaml
from small_experiments import SMALL

from vepa.bench.baselines import FAMILIES
from vepa.bench.experiments.catalogue import Catalogue, Role, load_catalogue
from vepa.bench.experiments.planning import Cast, Options, make_plan
from vepa.cli.reproduce import _ROLES
from vepa.errors import SettingError
from vepa.project import package_content

BUNDLED = package_content() / "data" / "experiments.yaml"
#: What the issue names, in the order of the catalogue.
NAMED = (
    *("covered", "mixed", "flips", "hybrid", "ablations", "horizon", "proposer", "parser"),
    *("sparse", "targeted", "adaptation", "growth", "open-model"),
)


@pytest.fixture(scope="module")
def bundled() -> Catalogue:
    return load_catalogue(str(BUNDLED))


def test_every_experiment_of_the_source_is_in_the_bundled_catalogue(bundled):
    assert tuple(bundled.experiments) == NAMED
    asked = {family for family, each in FAMILIES.items() if each.asks}
    assert asked <= {method.learner for method in bundled.methods.values()}


def test_offline_every_row_is_played_or_says_what_it_needs(bundled):
    plan = make_plan(bundled, Options(seeds=1))
    for name, spec in bundled.experiments.items():
        for condition in spec.conditions:
            for method in spec.methods:
                place = (name, condition.name, method)
                assert (place in plan.plays) != (place in plan.needs)
    asking = {m for m, spec in bundled.methods.items() if spec.asks}
    assert all("--model" in plan.needs[place] for place in plan.needs if place[2] in asking
               and "data/" not in plan.needs[place])  # fmt: skip
    assert not any(play.asks for play in plan.distinct)


def test_with_models_named_only_what_is_not_there_is_not_run(bundled):
    cast = {role: Cast(model="openai/gpt-4o-mini") for role in get_args(Role)}
    plan = make_plan(bundled, Options(seeds=1, cast=cast, embedder="hashing/256"))
    left = {place[2] for place in plan.needs if place[1] != "safety"}
    assert left == {"lora-parser"}
    assert all("hashing" not in need for need in plan.needs.values())


def test_the_command_knows_the_roles_of_the_catalogue():
    assert set(_ROLES) == set(get_args(Role))


def _changed(path: list[Any], value: Any) -> dict[str, Any]:
    data: Any = copy.deepcopy(SMALL)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return dict(data)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["experiments", "second", "methods"], ["papre"], "'papre'"),
        (["experiments", "second", "measures"], ["covered"], "'covered'"),
        (["experiments", "second", "against"], "greedy", "`against` is none of its methods"),
        (["experiments", "second", "conditions", 0, "stream"], "rjudg", "'rjudg'"),
        (["experiments", "second", "conditions", 0, "view"], "all", "'all' is no view"),
        (["experiments", "second", "conditions", 0, "set"], {"flips": 0.1}, "flips"),
        (["experiments", "first", "beside", 0, "condition"], "cleen", "'cleen'"),
        (["methods", "lookup", "learner"], "lookups", "'lookups' is no family"),
        (["methods", "lookup", "asks"], "judge", "`asks` with a judge"),
        (["methods", "paper", "proposer"], "llm", "`asks` with a proposer"),
        (["methods", "later"], {"title": "nothing"}, "names what it needs"),
        (["streams", "rjudge", "events"], [], "at least one"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_remedy(path, value, told, tmp_path):
    file = tmp_path / "experiments.yaml"
    file.write_text(yaml.safe_dump(_changed(path, value), sort_keys=False))
    with pytest.raises(SettingError, match=told) as caught:
        load_catalogue(str(file))
    assert caught.value.where.file == str(file)
    assert caught.value.where.line
    assert caught.value.remedy


def test_an_unknown_experiment_is_told(catalogue):
    with pytest.raises(SettingError, match="'frist' is no experiment") as caught:
        make_plan(catalogue, Options(only=("frist",)))
    assert "first" in str(caught.value.remedy)
