"""Who may know whom: docs/decisions/0001-layers.md."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HEAVY = ("docker", "litellm", "polars", "prefect", "torch", "transformers")
POLICY_FILES = sorted((Path(__file__).parents[2] / "vepa" / "policy").rglob("*.py"))
IMPURE_CALLS = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}


def test_contracts_hold(root):
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=root,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("statement", ["import vepa", "from vepa import *", "import vepa.project"])
def test_import_loads_nothing_heavy(statement, tmp_path):
    code = f"{statement}\nimport sys\nprint(*sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def impurities(tree: ast.AST) -> Iterator[str]:
    """What import-linter cannot see: numpy.random, and the builtins that do input and output."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                yield f"line {node.lineno}: numpy.random"
            case ast.ImportFrom(module="numpy.random"):
                yield f"line {node.lineno}: numpy.random"
            case ast.ImportFrom(module="numpy", names=names) if any(
                name.name == "random" for name in names
            ):
                yield f"line {node.lineno}: numpy.random"
            case ast.Import(names=names) if any(
                name.name.startswith("numpy.random") for name in names
            ):
                yield f"line {node.lineno}: numpy.random"
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                yield f"line {node.lineno}: {name}()"


@pytest.mark.parametrize("path", POLICY_FILES, ids=lambda path: path.name)
def test_policy_core_is_pure(path):
    assert list(impurities(ast.parse(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "np.random.default_rng()",
        "from numpy.random import default_rng",
        "from numpy import random",
        "import numpy.random as r",
        "open('x')",
    ],
)
def test_the_purity_check_sees(code):
    assert len(list(impurities(ast.parse(code)))) == 1
