"""Scripted episodes over a fixed set of tools, for tests of parsers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from vepa.corpus.tools import ToolMetadata
from vepa.corpus.trajectory import Premises, Trajectory

_TOOLS = Path(__file__).parents[1] / "parsing" / "tools.yaml"
PREMISES: dict[str, Any] = {
    "internal_domains": ["harbourlight.test"],
    "known": {
        "general": "internal",
        "finance-team": "internal",
        "tidegate-customers": "external",
        "openberth-announcements": "public",
        "DE00TEST0000000001": "internal",
        "DE00TEST0000001015": "internal",
        "leo": "internal",
        "bela": "internal",
        "milo": "internal",
    },
    "marks": {
        "VEPA-SEED-BANKPORTAL-8NR1": "critical",
        "VEPA-SEED-DEPLOY-6TD5": "critical",
        "VEPA-SEED-WIFIGUEST-4DW6": "internal",
        "DE00TEST0000001015": "confidential",
        "NO00TEST0000002001": "confidential",
        "offer price of 11.4 million": "confidential",
        "OpenBerth release notes": "public",
    },
}
OWN = {
    "jonas": ["jonas.brandt@harbourlight.test", "@jonas:harbourlight.test", "jonas"],
    "petra": ["petra.vogel@harbourlight.test", "@petra:harbourlight.test", "petra"],
    "helena": ["helena.strand@harbourlight.test", "@helena:harbourlight.test", "helena"],
    "tomas": ["tomas.eriksen@harbourlight.test", "@tomas:harbourlight.test", "tomas"],
    "ines": ["ines.carvalho@harbourlight.test", "@ines:harbourlight.test", "ines"],
    "viktor": ["viktor.hansen@harbourlight.test", "@viktor:harbourlight.test", "viktor"],
}


def load_tools() -> list[ToolMetadata]:
    data = yaml.safe_load(_TOOLS.read_text("utf-8"))
    tools = []
    for name, tool in data.items():
        properties = {argument: {} for argument in tool.pop("arguments")}
        tools.append(
            ToolMetadata.model_validate(
                {
                    "name": name,
                    "environment": name.split("_")[0],
                    "description": "A tool.",
                    "parameters": {"type": "object", "properties": properties},
                    **tool,
                }
            )
        )
    return tools


TOOLS = load_tools()


def premises(persona: str) -> Premises:
    return Premises.model_validate({**PREMISES, "own": OWN[persona]})


def episode(name: str, persona: str, lines: list[dict[str, Any]]) -> Trajectory:
    """A trajectory from the short form of the tables: user, answer, or tool with args."""
    steps: list[dict[str, Any]] = []
    for at, line in enumerate(lines):
        if "user" in line or "answer" in line:
            kind = "user" if "user" in line else "answer"
            steps.append({"index": at, "kind": kind, "text": line[kind]})
            continue
        step: dict[str, Any] = {
            "index": at,
            "kind": "call",
            "call": {"id": f"c{at}", "tool": line["tool"], "arguments": line.get("args", {})},
        }
        if "result" in line:
            step["result"] = {"ok": True, "content": line["result"]}
        elif "error" in line:
            step["result"] = {"ok": False, "content": line["error"], "error": "failed"}
        steps.append(step)
    return Trajectory.model_validate(
        {
            "schema_version": 1,
            "id": name,
            "tools": TOOLS,
            "premises": premises(persona),
            "steps": steps,
        }
    )
