"""The contract over environments whose images a real engine builds here, without a network.

Those whose images are small; the others are the same code with more packages
(docs/verified.md has the figures of all nine).
"""

from __future__ import annotations

import pytest

from vepa.services import load_environment
from vepa.services.contract import keep_contract

BUILT = ("database", "payments", "tickets", "files")

pytestmark = [pytest.mark.docker, pytest.mark.timeout(400)]


@pytest.mark.parametrize("name", BUILT)
def test_environment_keeps_the_contract(name, project, world_file):
    environment = load_environment(project.find("environments", name) / "environment.yaml")
    contract = keep_contract([environment], world_file, "docker")
    assert {clause.name for clause in contract.clauses} >= {
        "the state is the seed",
        "a reset of everything leads to the seed",
        "nothing is left running",
        *(f"tool {tool.name}" for tool in environment.tools),
    }
    assert [f"{clause.name}: {clause.why}" for clause in contract.broken] == []
