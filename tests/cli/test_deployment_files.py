"""Files of deployments and automations: each leads to a flow, or is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_office import ROOT

from vepa.cli.deployment_files import check_automations, check_deployments

GOOD = "deployments:\n- {name: a, entrypoint: flows/x.py:run, work_pool: {name: default}}\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows/x.py").write_text("def run():\n    pass\n")
    return tmp_path / "prefect.yaml"


def test_what_ships_is_whole() -> None:
    assert check_deployments(ROOT / "prefect.yaml") == []
    assert check_automations(ROOT / "flows" / "automations.yaml") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace("x.py:run", "y.py:run"), "no such file: flows/y.py"),
        (GOOD.replace(":run", ":walk"), "has no flow 'walk'"),
        (GOOD.replace("name: a, ", ""), "`name` is missing"),
        ("deployments: none\n", "is a list of mappings"),
    ],
)
def test_a_wrong_deployment_is_told(place: Path, text: str, told: str) -> None:
    place.write_text(GOOD)
    assert check_deployments(place) == []
    place.write_text(text)
    (problem,) = check_deployments(place)
    assert told in problem.message
    assert problem.line is not None


def test_an_automation_without_actions_is_told(tmp_path: Path) -> None:
    file = tmp_path / "automations.yaml"
    file.write_text("automations:\n- {name: a, trigger: {type: event}}\n")
    (problem,) = check_automations(file)
    assert "`actions` is missing" in problem.message
