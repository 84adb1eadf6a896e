"""The command in this process, as the tests of the command line run it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from vepa.cli import main


@pytest.fixture
def vepa(capsys):
    def run(*arguments: object) -> SimpleNamespace:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return SimpleNamespace(
            code=code,
            err=told.err,
            json=json.loads(told.out) if told.out.startswith("{") else None,
        )

    return run
