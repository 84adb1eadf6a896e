"""Records of ATBench.

`tool_used` are the tools that were offered, with loose schemas; a tool may tell where it comes from
(`_source`) and what it was called before somebody planted an instruction in its description
(`_original_description`): both are no part of what the agent saw. An action is
`{"name": …, "arguments": {…}}` or `Complete{"response": …}` for the last words. Annotations:
`risk_source`, `failure_mode`, and `harm_type`, which releases from 2026 on call `real_world_harm`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.formats.role_turns import Parts, Record, RoleTurns, is_record
from vepa.corpus.importing.report import Foreign
from vepa.corpus.trajectory import Trajectory

__all__ = ["ATBench"]

_TOOL = ("name", "description", "parameters")
_MARKS = ("tool_used", "risk_source", "harm_type", "real_world_harm")


class Tool(Foreign):
    """A tool that was offered."""

    unused = frozenset({"_source", "_original_description"})

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ATRecord(Record):
    """A record with its annotations."""

    tool_used: list[Tool] | None = None
    risk_source: str | None = None
    failure_mode: str | None = None
    harm_type: str | None = None
    real_world_harm: str | None = None
    reason: str | None = None
    source: str | None = None


class ATBench(RoleTurns):
    """Calls are JSON, and the tools are told."""

    name = "atbench"
    title = "ATBench records"
    prefix = "atbench"
    model = ATRecord
    keys = (
        "id", "tool_used", "contents", "label", "risk_source", "failure_mode", "harm_type",
        "reason", "real_world_harm", "source",
    )  # fmt: skip
    annotations = ("risk_source", "failure_mode", "harm_type", "real_world_harm")

    def recognise(self, data: Any) -> bool:
        """Conversations of turns, with tools, a source of risk or a kind of harm."""
        return is_record(data) and any(mark in data for mark in _MARKS)

    def spell(self, parts: Parts) -> dict[str, Any]:
        """A call as JSON, words as what completes the task."""
        act = parts.act
        if act.tool is None:
            action = f"Complete{_json({'response': act.text})}"
        else:
            action = _json({"name": act.tool, "arguments": act.arguments})
        return {"role": "agent", "thought": parts.thought or "", "action": action}

    def offer(self, draft: Draft, data: Mapping[str, Any]) -> None:
        """The tools; of a name the first."""
        for tool in data.get("tool_used") or []:
            draft.offer(tool["name"], tool.get("description"), tool.get("parameters"))

    def kept(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """With the tools; what the offer does not keep of them, `beside` does."""
        found = super().kept(data)
        tools = data.get("tool_used")
        if tools:
            found["tool_used"] = tools
        return found

    def beside(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Of each tool what the offer does not keep: the whole of it, in a list, where it must."""
        seen: set[str] = set()
        rest: list[Any] = []
        for tool in data.get("tool_used") or []:
            whole = tuple(tool)[:3] != _TOOL or tool["name"] in seen or tool["parameters"] is None
            others = {name: value for name, value in tool.items() if name not in _TOOL[1:]}
            rest.append([tool] if whole else others)
            seen.add(tool["name"])
        return {"tool_used": rest} if rest else {}

    def tools(self, trajectory: Trajectory, rest: dict[str, Any]) -> dict[str, Any]:
        """The offered tools, each with what was beside it."""
        known = {tool.name: tool for tool in trajectory.offered}
        found: list[dict[str, Any]] = []
        if not rest.get("tool_used"):
            return {}  # missing, null or empty: as it is in `rest`
        for each in rest.pop("tool_used"):
            if isinstance(each, list):
                found.extend(each)
                continue
            tool = known[each["name"]]
            more = {"description": tool.description, "parameters": tool.parameters}
            found.append({"name": tool.name, **more, **each})
        return {"tool_used": found}


#: One for all actions: to make one takes longer than to write most.
_json = json.JSONEncoder(ensure_ascii=False).encode
