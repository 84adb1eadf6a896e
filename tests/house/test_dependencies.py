"""Dependencies: bounded on both sides, frozen without addresses, the core light."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CORE = {"ijson", "numpy", "pydantic", "pyyaml", "rich", "typer"}
EXTRAS = {"pipeline", "scale", "services", "train", "bench", "release", "dev"}


@pytest.fixture
def requirements(pyproject):
    """Every direct dependency, by where it stands."""
    project = pyproject["project"]
    groups = {
        "core": project["dependencies"],
        "build": pyproject["build-system"]["requires"],
        **project["optional-dependencies"],
    }
    return {name: [Requirement(text) for text in texts] for name, texts in groups.items()}


@pytest.fixture
def constraints(root):
    lines = (root / "constraints.txt").read_text("utf-8").splitlines()
    pattern = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!+]+)")
    found = {}
    for line in lines:
        match = pattern.fullmatch(line)
        assert match, f"not a plain name==version line: {line!r}"
        found[canonicalize_name(match["name"])] = match["version"]
    assert len(found) == len(lines)
    return found


def test_the_core_is_light_and_the_extras_are_all_there(requirements):
    assert {canonicalize_name(r.name) for r in requirements["core"]} == CORE
    assert set(requirements) == EXTRAS | {"core", "build"}


def test_every_dependency_has_a_lower_and_an_upper_bound(requirements):
    loose = [
        str(requirement)
        for group in requirements.values()
        for requirement in group
        if not {">=", "<"} <= {part.operator for part in requirement.specifier}
    ]
    assert loose == []


def test_no_dependency_is_an_address(requirements):
    assert [r.name for group in requirements.values() for r in group if r.url] == []


def test_constraints_name_every_tested_dependency_within_its_bounds(requirements, constraints):
    for group, members in requirements.items():
        if group == "train":  # docs/decisions/0003 says why
            continue
        for requirement in members:
            version = constraints[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), f"{requirement} against {version}"


def test_constraints_leave_out_what_differs_by_machine(constraints):
    assert not {"vepa", "torch", "pip", "setuptools"} & set(constraints)
