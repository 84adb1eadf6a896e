"""The contract over every environment, on real processes."""

from __future__ import annotations

import os
import random
import sys

import pytest
from the_nine import NINE

from vepa.services.contract import keep_contract

pytestmark = pytest.mark.integration

#: Writing tools of each environment, drawn anew in every run: after each of them the whole state is
#: read. `make verify` holds all of them to it; the tools that read are all called in every run.
WRITES = 4


def drawn(tools, number):
    """All tools that read, and some of those that write."""
    seed = int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    writes = [tool for tool in tools if tool.effect != "read"]
    some = random.Random(seed).sample(writes, min(number or len(writes), len(writes)))
    return [tool for tool in tools if tool.effect == "read" or tool in some]


@pytest.mark.parametrize("number", [WRITES, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NINE)
def test_environment_keeps_the_contract(name, number, nine, world_file):
    tools = drawn(nine[name].tools, number)
    contract = keep_contract([nine[name].model_copy(update={"tools": tools})], world_file)
    assert {clause.name for clause in contract.clauses} >= {
        "the state is the seed",
        "a reset of everything leads to the seed",
        "nothing is left running",
        *(f"tool {tool.name}" for tool in tools),
    }
    assert [f"{clause.name}: {clause.why}" for clause in contract.broken] == []


def test_at_least_sixty_tools_over_the_nine(nine):
    tools = [tool.name for each in nine.values() for tool in each.tools]
    assert len(tools) >= 60
    assert len(set(tools)) == len(tools)


@pytest.mark.parametrize("name", NINE)
def test_environment_has_tools_that_read_write_and_destroy(name, nine):
    assert {tool.effect for tool in nine[name].tools} == {"read", "write", "destroy"}


def test_the_one_list_of_packages_is_what_the_nine_ask_for(nine):
    listed = (nine["mail"].folder.parent / "requirements.txt").read_text("utf-8").splitlines()
    wanted = {package for each in nine.values() for package in each.process.packages}
    assert {line for line in listed if not line.startswith("#")} == wanted
