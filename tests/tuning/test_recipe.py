"""Recipes: those that ship are right; what is wrong with one is named with file and line."""

from __future__ import annotations

import pytest
import yaml

from vepa.errors import InputError, SettingError
from vepa.project import Project
from vepa.tuning.recipe import Recipe, load_recipe, read_recipe

GOOD = """\
recipe: 1
title: Mine
base: models/mine
trace_tokens: 200
lora:
  rank: 8
  alpha: 16
  targets: [q_proj]
batch: 4
steps: 10
learning_rate: 1.0e-3
"""


@pytest.fixture
def file(tmp_path):
    def write(old="", new=""):
        path = tmp_path / "mine.yaml"
        text = GOOD.replace(old, new) if old else GOOD + new
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.mark.parametrize("name", ["smoke", "small", "qwen"])
def test_those_that_ship_are_right(name):
    recipe = load_recipe(Project(), name)
    assert recipe.title
    assert Recipe.model_validate(yaml.safe_load(yaml.safe_dump(recipe.model_dump()))) == recipe


def test_smoke_stays_within_its_limit_and_needs_neither_network_nor_gpu():
    smoke = load_recipe(Project(), "smoke")
    assert (smoke.base, smoke.device, smoke.limits.cpu_minutes) == ("package:smollm2", "cpu", 15)


def test_by_path_too(file):
    recipe = load_recipe(Project(), str(file()))
    assert (recipe.lora.layers, recipe.schedule, recipe.evaluation.every) == (None, "cosine", None)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "says"),
    [
        ("steps: 10", "epochs: 1\nsteps: 10", 11, "steps", "not by both"),
        ("steps: 10\n", "", None, "steps", "epochs"),
        ("rank: 8", "rank: 0", 6, "lora.rank", "greater than or equal to 1"),
        ("batch: 4", "batches: 4", None, "batch", ""),
        ("", "quantization: 4bit\ndevice: cpu\n", 12, "quantization", "takes a GPU"),
        ("", "warmup: 10\n", 12, "warmup", "whole training"),
        ("", "evaluation: {patience: 2}\n", 12, "evaluation", "every"),
        ("trace_tokens: 200", "trace_tokens: 10", 4, "trace_tokens", "64"),
        ("recipe: 1", "recipe: 2", 1, "recipe", "1"),
    ],
)
def test_what_is_wrong_is_named(file, old, new, line, field, says):
    with pytest.raises(SettingError) as caught:
        read_recipe(file(old, new))
    error = caught.value
    assert says in error.message
    assert error.where.field.startswith(field)
    assert error.where.file.endswith("mine.yaml")
    assert line is None or error.where.line == line
    assert "training/smoke.yaml" in error.remedy


def test_a_recipe_that_is_not_there():
    with pytest.raises(InputError, match="nowhere"):
        load_recipe(Project(), "nowhere")
