"""What a model says that plays AGrail's three roles, read off the request that it gets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vepa.bench.baselines.asked.agrail import AGrailPrompts
from vepa.llm.prompts import load_prompt
from vepa.policy import Schema
from vepa.project import Project

__all__ = ["ACTS", "PROMPTS", "Turn", "block_of", "check", "role_of", "said"]

#: What the agent did, to whom; `mood` stands outside the view.
ACTS = Schema(
    1,
    {
        "action": ["read", "send", "delete", "pay"],
        "target": ["own", "outside"],
        "mood": ["calm", "grim"],
    },
)
PROMPTS = AGrailPrompts.load(lambda name: load_prompt(Project(), name))
_BLOCK = re.compile(r"<data-([0-9a-f]{16})>\n(.*)\n</data-\1>\n", re.DOTALL)
_ROLES = {"You describe": "key", "You keep": "analyse", "You carry out": "execute"}


@dataclass(frozen=True)
class Turn:
    """What is said about one event: the key's sentence, an analysis, deeds by name of the check."""

    sentence: str
    checks: Sequence[Mapping[str, str]] = ()
    deeds: Mapping[str, Any] = field(default_factory=dict)
    choice: str = "new"
    in_memory: bool = False
    summary: str = "another matter"


def check(name: str, category: str = "information-integrity") -> dict[str, str]:
    return {"category": category, "name": name, "definition": f"True when {name} holds."}


def block_of(text: str) -> list[dict[str, Any]]:
    """The lines of the one data block in a user message."""
    (match,) = _BLOCK.finditer(text)
    return [json.loads(line) for line in match.group(2).split("\n")]


def role_of(system: str) -> str:
    (role,) = (role for words, role in _ROLES.items() if system.startswith(words))
    return role


def said(turn: Turn, role: str, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The structured answer of a role."""
    if role == "key":
        return {"sentence": turn.sentence, "command": "act()"}
    if role == "analyse":
        return {
            "analysis": "Something could go wrong.",
            "summary": turn.summary,
            "choice": turn.choice,
            "in_memory": turn.in_memory,
            "checks": list(turn.checks),
        }
    asked = {line["check"]: line["name"] for line in lines if "check" in line}
    return {number: _deed(turn.deeds.get(name, "true")) for number, name in asked.items()}


def _deed(deed: Any) -> dict[str, Any]:
    """A word for itself; a pair of field and values for a look-up."""
    thought = {"thought": "So it seems."}
    if isinstance(deed, tuple):
        return {**thought, "do": "tool", "tool": "value_in", "field": deed[0], "values": deed[1]}
    if deed in ("true", "false"):
        return {**thought, "do": deed}
    return {**thought, "do": "delete", "why": deed}
