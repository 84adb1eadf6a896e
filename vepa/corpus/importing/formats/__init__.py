"""The known formats, the most telling first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from vepa.corpus.importing.format import Format
from vepa.errors import SettingError, Where
from vepa.policy.schema import nearest

__all__ = ["AUTO", "FORMATS", "arrays", "format_of", "recognised"]

AUTO = "auto"
#: Name -> module and class. In this order a record is held against them: those with keys of their
#: own come before those whose keys many have.
FORMATS = {
    "vepa": ("own", "OwnTrajectories"),
    "agentdojo": ("agentdojo", "AgentDojo"),
    "inspect": ("inspect_ai", "InspectLogs"),
    "openhands": ("openhands", "OpenHands"),
    "atbench": ("atbench", "ATBench"),
    "assebench": ("assebench", "ASSEBench"),
    "rjudge": ("rjudge", "RJudge"),
    "otel-genai": ("otel_genai", "OtelGenAI"),
    "langsmith": ("langsmith", "LangSmith"),
    "who-and-when": ("who_and_when", "WhoAndWhen"),
    "claude-code": ("claude_code", "ClaudeCode"),
    "anthropic": ("anthropic", "Anthropic"),
    "openai-responses": ("openai_responses", "OpenAIResponses"),
    "openai-chat": ("openai_chat", "OpenAIChat"),
}


@lru_cache
def format_of(name: str) -> Format:
    """A format by its name.

    Raises
    ------
    SettingError
        When there is none of that name.
    """
    if name not in FORMATS:
        raise SettingError(
            f"there is no format {name!r}",
            where=Where(field="--format"),
            remedy=nearest(name, [AUTO, *FORMATS], "formats"),
        )
    module, kind = FORMATS[name]
    found: Format = getattr(import_module(f"{__name__}.{module}"), kind)()
    return found


def arrays() -> list[str]:
    """Keys under which documents of any format hold their records in an array."""
    return list(dict.fromkeys(key for name in FORMATS for key in format_of(name).inside))


def recognised(looked: Sequence[Any]) -> tuple[Format | None, bool]:
    """The format of the first records, and whether they are but turns of a bare array."""
    for data in looked:
        for name in FORMATS:
            if format_of(name).recognise(data):
                return format_of(name), False
    for name in FORMATS:
        if any(format_of(name).recognise_turn(data) for data in looked):
            return format_of(name), True
    return None, False
