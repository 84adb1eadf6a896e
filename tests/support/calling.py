"""Tools called in tests: what was told, or why not."""

from __future__ import annotations

import json
from typing import Any

from vepa.services import Office, Outcome


def told(outcome: Outcome) -> Any:
    """What a call that went well told."""
    assert outcome.ok, outcome.content
    return json.loads(outcome.content)


def call(office: Office, role: str, tool: str, /, **arguments: Any) -> tuple[bool, Any]:
    """One call in an episode of its own, to an office of one service; its name is left out."""
    [service] = office.environments
    with office.session(role) as session:
        outcome = session.call(f"{service}_{tool}", arguments)
    return outcome.ok, json.loads(outcome.content)


def refusal(office: Office, role: str, tool: str, /, **arguments: Any) -> Any:
    """The status of a call that the service refuses."""
    ok, content = call(office, role, tool, **arguments)
    assert not ok, content
    return content["error"]["status"]
