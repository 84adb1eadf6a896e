"""Records of ASSEBench, the benchmark of AgentAuditor.

Its parts (`security`, `safety`, `strict`, `lenient`) are files of the same form; upstream calls
them `AgentJudge-PART.json`, and the lenient one `loose`. Three sources lie in it: of one an action
is `name{…}` with a Python dictionary, or `Complete{'response': …}` for the last words, and no
thought; of another the action is `name()` and the thought begins with `[Observation]:` (that is
what the tool gave back), or the action is empty and the words stand in `thought`; the rest is as in
R-Judge. Annotations: `risk_type`, `failure_mode`, `application_scenario`, and `ambiguous` (0 or 1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vepa.corpus.importing.formats.actions import Act
from vepa.corpus.importing.formats.role_turns import (
    Flag,
    Parts,
    Record,
    RoleTurns,
    Turn,
    is_record,
)

__all__ = ["ASSEBench"]

_OBSERVATION = "[Observation]:"
_PART = re.compile(r"(?<![a-z])(security|safety|strict|lenient|loose)(?![a-z])")


class ASSERecord(Record):
    """A record with its annotations."""

    application_scenario: str | None = None
    risk_type: str | None = None
    failure_mode: str | None = None
    ambiguous: Flag | None = None


class ASSEBench(RoleTurns):
    """Words stand in `thought` where the action is empty; observations may stand there too."""

    name = "assebench"
    title = "ASSEBench records (AgentAuditor)"
    prefix = "assebench"
    model = ASSERecord
    keys = (
        "id", "profile", "contents", "label", "application_scenario", "risk_type", "failure_mode",
        "ambiguous", "risk_description",
    )  # fmt: skip
    annotations = ("risk_type", "failure_mode", "application_scenario", "ambiguous")

    def recognise(self, data: Any) -> bool:
        """Conversations of turns, with a risk type, a failure mode or a scenario of application."""
        marks = ("application_scenario", "risk_type", "ambiguous")
        return is_record(data) and any(mark in data for mark in marks)

    def dataset(self, stem: str) -> str | None:
        """With the part that the file's name tells: `assebench-security`."""
        part = _PART.search(stem.lower())
        return self.prefix if part is None else f"{self.prefix}-{part[1]}"

    def parts(self, turn: Turn, answered: bool, heard: str) -> Parts:
        """An agent's turn."""
        if not turn.action:
            return Parts(Act(None, text=turn.thought or ""))
        parts = super().parts(turn, answered, heard)
        if parts.act.tool is None or not _observes(turn.thought):
            return parts
        return Parts(parts.act, None, turn.thought)

    def observed(self, turn: Mapping[str, Any]) -> str | None:
        """The thought, where it is marked as an observation and something was called."""
        thought = turn.get("thought")
        return thought if turn.get("action") and _observes(thought) else None

    def spell(self, parts: Parts) -> dict[str, Any]:
        """Words as a thought, a call as `name{…}` or `name()`."""
        act = parts.act
        if act.tool is None:
            return {"role": "agent", "thought": act.text, "action": ""}
        given = act.text or (repr(act.arguments) if act.arguments else "()")
        inside = parts.thought is None and _observes(parts.result)
        thought = parts.result if inside else parts.thought or ""
        return {"role": "agent", "thought": thought, "action": f"{act.tool}{given}"}

    def annotated(self, name: str, value: Any) -> Any:
        """`ambiguous` is a yes or no."""
        return bool(value) if name == "ambiguous" and value is not None else value

    def unannotated(self, name: str, value: Any) -> Any:
        """`ambiguous` as 0 or 1."""
        return int(value) if isinstance(value, bool) else value


def _observes(text: str | None) -> bool:
    return text is not None and text.startswith(_OBSERVATION)
