"""Prompts without the package that fills them in."""

from __future__ import annotations

import sys

import pytest

from vepa.errors import MissingExtraError
from vepa.llm.prompts import load_prompt
from vepa.project import Project


def test_without_jinja2_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = load_prompt(Project(), "parse")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match="jinja2") as missing:
        prompt.render({})
    assert "pipeline" in missing.value.remedy
