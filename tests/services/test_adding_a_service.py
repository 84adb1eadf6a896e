"""docs/adding-a-service.md names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vepa.services.drivers import DRIVERS
from vepa.services.environment import ROLES, Environment
from vepa.services.environment.parts import (
    Account,
    Assertion,
    People,
    Reset,
    Seed,
    State,
    Step,
    VolatileKind,
)
from vepa.services.environment.running import Check, Docker, Health, Process, Software, Stop
from vepa.services.environment.tool import Limits, Tool
from vepa.services.templates import FILTERS

PARTS = (
    Account, Assertion, Check, Docker, Health, Limits, People, Process, Reset, Seed, Software,
    State, Stop, Tool, VolatileKind,
)  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "adding-a-service.md"


@pytest.fixture(scope="module")
def code() -> str:
    """Everything on the page that stands in code."""
    return "\n".join(re.findall(r"`[^`]+`|```.*?```", PAGE.read_text("utf-8"), re.DOTALL))


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_every_filter_is_named(name, code):
    assert re.search(rf"`{name}\b", code)


@pytest.mark.parametrize("name", sorted(DRIVERS))
def test_every_driver_is_named_with_its_module(name, code):
    text = PAGE.read_text("utf-8")
    assert re.search(rf"\| `{name}` \|.*\(\.\./vepa/services/drivers/{name}\.py\)", text)


@pytest.mark.parametrize("name", ROLES)
def test_every_role_is_named(name, code):
    assert f"`{name}`" in code


def test_every_key_of_a_step_is_named(code):
    keys = {field.alias or name for name, field in Step.model_fields.items()}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}:", code)] == []


@pytest.mark.parametrize("model", [Environment, *PARTS])
def test_every_key_of_the_file_is_named(model, code):
    keys = [field.alias or name for name, field in model.model_fields.items()]
    assert [key for key in keys if f"`{key}`" not in code] == []


def test_what_process_runs_is_told():
    text = PAGE.read_text("utf-8")
    assert "requirements.txt" in text
    assert all(key in text for key in ("packages", "ports", "files", "command"))
    assert set(Process.model_fields) >= {"packages", "ports", "files", "command"}
