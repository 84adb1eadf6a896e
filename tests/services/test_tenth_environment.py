"""A service that was added with YAML and a seed alone keeps the same contract as the nine."""

from __future__ import annotations

from pathlib import Path

import pytest

from vepa.project import Project
from vepa.services import Office, load_environments
from vepa.services.contract import keep_contract
from vepa.services.runtimes.process_runtime import ProcessRuntime

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).parents[2] / "examples" / "adding-a-service"


@pytest.fixture(scope="module")
def inventory():
    found = load_environments(Project(EXAMPLE), ["inventory"])
    ProcessRuntime().install(found)
    return found[0]


def test_it_is_yaml_and_seed_alone():
    files = {path.suffix for path in (EXAMPLE / "environments").rglob("*") if path.is_file()}
    assert files <= {".yaml", ".txt", ".md"}


def test_it_keeps_the_contract(inventory, world_file):
    contract = keep_contract([inventory], world_file)
    assert [f"{clause.name}: {clause.why}" for clause in contract.broken] == []


def test_the_service_itself_refuses_what_a_role_may_not_do(inventory, world_file):
    with Office.start([inventory], world_file) as office, office.session("employee") as session:
        refused = session.call("inventory_remove", {"id": "lap-01"})
        assert not refused.ok
        assert "403" in refused.content
        assert office.at_seed("inventory")
    assert inventory.tool("inventory_remove") is not None
