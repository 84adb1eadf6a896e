"""Records of R-Judge.

Upstream keeps them in a file for each of five settings (`Application`, `Finance`, `IoT`, `Program`,
`Web`), harmful and benign apart; later versions tell the `attack_type` (`injection`, `unintended`).
`goal` is what a judge is told, not the agent's task. Actions were collected from many programs:
`Name{…}` with a Python dictionary, `Name` and `Action Input: {…}` on the next line, `Name: {…}` and
`Name Input: {…}` with JSON, `Name(k='v')`, shell commands between fences, the end of an answer of
AutoGPT, what somebody does on a screen in words, and `Final Answer: …` or plain words for the user.
An environment that says null said nothing.
"""

from __future__ import annotations

from typing import Any

from vepa.corpus.importing.formats.actions import FINAL
from vepa.corpus.importing.formats.role_turns import Parts, Record, RoleTurns, is_record

__all__ = ["RJudge"]


class JudgedRecord(Record):
    """A record with its annotations."""

    scenario: str | None = None
    attack_type: str | None = None


class RJudge(RoleTurns):
    """The plainest of the three, so it is recognised last."""

    name = "rjudge"
    title = "R-Judge records"
    prefix = "r-judge"
    model = JudgedRecord
    keys = ("id", "scenario", "profile", "goal", "contents", "label", "risk_description")
    annotations = ("scenario", "attack_type")

    def recognise(self, data: Any) -> bool:
        """Conversations of turns."""
        return is_record(data)

    def spell(self, parts: Parts) -> dict[str, Any]:
        """Words as a final answer, a call as `Name{…}`."""
        act = parts.act
        action = f"{FINAL}{act.text}" if act.tool is None else (
            f"{act.tool}{act.text or repr(act.arguments)}"
        )  # fmt: skip
        return {"role": "agent", "thought": parts.thought, "action": action}
