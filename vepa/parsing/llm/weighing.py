"""Which steps of a long trace matter: a guess from what happened alone, never from a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vepa.corpus.trajectory import Call, Step, Trajectory
from vepa.parsing.documents import leaves_of

__all__ = ["Weights", "weigh"]

#: Words in a tool's name by which a call changes something or reaches somebody.
_CHANGING = frozenset({
    "accept", "add", "apply", "approve", "assign", "authorize", "ban", "block", "book", "buy",
    "cancel", "charge", "close", "commit", "configure", "control", "create", "delete", "deploy",
    "disable", "drop", "edit", "enable", "erase", "exec", "execute", "forward", "grant",
    "insert", "install", "invite", "issue", "kill", "launch", "lock", "merge", "modify", "move",
    "open", "order", "pay", "place", "post", "publish", "purchase", "push", "put", "register",
    "reject", "remove", "rename", "reply", "reset", "restart", "revoke", "run", "schedule",
    "sell", "send", "set", "share", "shutdown", "start", "stop", "submit", "subscribe", "sudo",
    "terminal", "trade", "transfer", "turn", "uninstall", "unlock", "unsubscribe", "update",
    "upload", "wipe", "withdraw", "write",
})  # fmt: skip
#: Words, addresses and URLs; every sign is looked at once, whatever the text.
_TOKENS = re.compile(r"https?://[^\s\"'<>\\)\]]+|[\w.+-]+(?:@[\w.-]+)?", re.ASCII)
#: Shorter ones, and those without a digit, stand in any text.
_TELLING = 5
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
#: Only so much of a text is searched for what later calls copy.
_SEARCHED = 200_000
_CLUES = 40
_LONGEST = 200
_CHANGES, _OUTWARD, _COPIES, _SOURCE, _LAST, _CALL, _USER = 4, 3, 4, 4, 3, 2, 3


@dataclass(frozen=True, slots=True)
class Weights:
    """What was guessed.

    Attributes
    ----------
    steps
        One weight a step; more is more important.
    always
        Steps that are kept whatever happens: the first user turn, the last answer, the last step.
    clues
        What calls copied from texts of others, the latest first: texts are kept around these.
    """

    steps: tuple[int, ...]
    always: frozenset[int]
    clues: tuple[str, ...]


def weigh(trajectory: Trajectory) -> Weights:
    """Weigh the steps of a trace.

    Weight goes to calls that change something (by the tool's metadata or its name), that reach
    beyond the user's own places, or that carry what others wrote (and to where it was read); to
    the last call, and to what the user said later on.
    """
    steps = trajectory.steps
    effects = {tool.name: tool.effect != "read" for tool in trajectory.tools}
    inside = {*trajectory.premises.own, *trajectory.premises.internal_domains}
    weights = [0] * len(steps)
    read = _Read()
    clues: dict[str, None] = {}
    for step in steps:
        weights[step.index] += _USER if step.kind == "user" else 0
        if step.call is not None:
            texts = [text for leaf in leaves_of(step.call.arguments) for text in _telling(leaf)]
            weights[step.index] += _weight(step.call, texts, effects, inside)
            for text, source in read.copied(texts):
                if text not in clues:
                    weights[step.index] += _COPIES
                    weights[source] += _SOURCE
                    clues[text] = None
        read.take(step)
    calls = [step.index for step in steps if step.call is not None]
    if calls:
        weights[calls[-1]] += _LAST
    return Weights(tuple(weights), _always(steps), tuple(reversed(clues))[:_CLUES])


def _always(steps: list[Step]) -> frozenset[int]:
    users = [step.index for step in steps if step.kind == "user"]
    answers = [step.index for step in steps if step.kind == "answer"]
    return frozenset({*users[:1], *answers[-1:], *(step.index for step in steps[-1:])})


def _weight(call: Call, texts: list[str], effects: dict[str, bool], inside: set[str]) -> int:
    words = {word.lower() for word in _WORDS.findall(call.tool[:_LONGEST])}
    weight = _CALL
    if effects.get(call.tool, False) or words & _CHANGING:
        weight += _CHANGES
    outward = (text for text in texts if "@" in text or "://" in text)
    if any(text not in inside and _host(text) not in inside for text in outward):
        weight += _OUTWARD
    return weight


def _host(text: str) -> str:
    return text.rpartition("@")[2].rpartition("://")[2].partition("/")[0].lower()


def _telling(text: str) -> Iterator[str]:
    """Addresses, URLs, and words that hold a digit: what a call copies out of what it read."""
    for found in _TOKENS.findall(text[:_SEARCHED]):
        token = found.strip(".-+")
        numbered = len(token) >= _TELLING and any(sign.isdigit() for sign in token[:_LONGEST])
        if numbered or "@" in token or "://" in token:
            yield token


class _Read:
    """What others wrote that the user did not, and where it was read first."""

    def __init__(self) -> None:
        self._user: set[str] = set()
        self._sources: dict[str, int] = {}

    def take(self, step: Step) -> None:
        if step.kind == "user":
            self._user.update(_telling(step.text or ""))
            return
        content = step.text if step.kind == "observation" else None
        if step.result is not None:
            content = step.result.content
        for text in _telling(content or ""):
            self._sources.setdefault(text, step.index)

    def copied(self, texts: list[str]) -> Iterator[tuple[str, int]]:
        for text in texts:
            if text in self._sources and text not in self._user:
                yield text, self._sources[text]
