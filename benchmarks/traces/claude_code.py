"""Lines of sessions of Claude Code, made from a number."""

from __future__ import annotations

from typing import Any

__all__ = ["example"]

_WORK = "The shelf in the hall holds boxes of paper, and the list beside it tells when they came. "
#: So many lines are a session.
_LINES = 40


def example(number: int) -> dict[str, Any]:
    """One line, of about 2 KB: a call, or its result, in turn."""
    session, at = divmod(number, _LINES)
    own = f"toolu_{session}_{at // 2}"
    line: dict[str, Any] = {
        "uuid": f"line-{number}",
        "parentUuid": f"line-{number - 1}" if at else None,
        "sessionId": f"session-{session}",
        "isSidechain": False,
        "userType": "external",
        "cwd": "/desk",
        "version": "2.0.1",
        "gitBranch": "main",
        "timestamp": "2026-01-02T03:04:05.000Z",
    }
    if at % 2 == 0:
        content = [
            {"type": "text", "text": _WORK * 10},
            {"type": "tool_use", "id": own, "name": "Read", "input": {"file_path": f"{at}.txt"}},
        ]
        message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-small-1"}
        return {"type": "assistant", **line, "message": {**message, "content": content}}
    result = {"type": "tool_result", "tool_use_id": own, "content": _WORK * 20}
    return {"type": "user", **line, "message": {"role": "user", "content": [result]}}
