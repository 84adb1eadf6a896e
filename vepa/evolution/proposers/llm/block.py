"""The data block of a question: one JSON object a line, bounded in tokens, nothing can leave it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vepa.evolution.proposers.base import Request
from vepa.evolution.proposers.llm.lines import (
    clash_line,
    field_line,
    gate_line,
    group_line,
    rejected_line,
    rule_line,
    tried_line,
)
from vepa.evolution.proposers.llm.packets import packets_of
from vepa.files import sha256_of
from vepa.llm.messages import Message, ModelRequest
from vepa.llm.prices import count_tokens
from vepa.llm.spelling import LEFT_OUT
from vepa.policy.rule import Evidence, Rule

__all__ = ["Block", "block_of", "tokens_of"]

_TAG_DIGITS = 16
#: Shares of the tokens: rules; earlier patches; of the rest, what is to be repaired.
_RULES, _EARLIER, _REPAIR = 0.4, 0.2, 0.6
#: Tokens of a mark that says what is left out.
_A_MARK = 12


@dataclass(frozen=True, slots=True)
class Block:
    """The lines that a model is shown.

    Attributes
    ----------
    lines
        JSON objects, and marks where something is left out.
    tag
        Sixteen hexadecimal digits out of all lines: who wrote into one cannot know it.
    """

    lines: tuple[str, ...]
    tag: str

    @property
    def text(self) -> str:
        """The lines between their two marks."""
        return "\n".join((f"<packet-{self.tag}>", *self.lines, f"</packet-{self.tag}>"))


def block_of(request: Request, tokens: int) -> Block:
    """What a model is shown of a request.

    Parameters
    ----------
    request
        As a proposer gets it.
    tokens
        Of everything but the schema, at most.
    """
    wrong = request.archive.standing(request.authority).wrong_feedback
    changing = [gate_line(request.authority, wrong)]
    changing += _rules(request, int(_RULES * tokens))
    changing += _earlier(request, int(_EARLIER * tokens))
    changing += _examples(request, tokens - tokens_of(changing))
    lines = [*map(field_line, request.parent.schema.fields), *changing]
    return Block(tuple(lines), sha256_of("\n".join(lines))[:_TAG_DIGITS])


def tokens_of(lines: Iterable[str]) -> int:
    """Tokens of lines, guessed on the high side."""
    return sum(
        count_tokens(ModelRequest(messages=(Message(role="user", content=line),)), "")
        for line in lines
    )


def _rules(request: Request, tokens: int) -> list[str]:
    rules = sorted(request.parent.rules, key=lambda rule: not rule.active)
    found = zip(rules, _evidence(request, rules), strict=True)
    lines = (rule_line(rule, evidence) for rule, evidence in found)
    return _within(lines, len(rules), tokens, "rules")


def _evidence(request: Request, rules: Sequence[Rule]) -> list[Evidence]:
    """What all known labels say of each rule, whatever counts for its authority."""
    archive, found = request.archive.whole, []
    labelled = {"allow": archive.allow, "refuse": archive.refuse}
    for rule in rules:
        covered = archive.index.covered(rule.masks)
        support = archive.count(covered & labelled[rule.decision])
        found.append(Evidence(support, archive.count(covered) - support))
    return found


def _earlier(request: Request, tokens: int) -> list[str]:
    """What was turned down before, then what was admitted, the latest first."""
    rejected, tried = request.rejected[::-1], request.tried[::-1]
    told = _within(map(rejected_line, rejected), len(rejected), 2 * tokens // 3, "rejected patches")
    admitted = (tried_line(patch, score) for patch, score in tried)
    left = tokens - tokens_of(told)
    return told + _within(admitted, len(tried), left, "admitted patches")


def _examples(request: Request, tokens: int) -> list[str]:
    """What is to be repaired and what clashes; then what is to be kept."""
    packets = packets_of(request)
    most = int(_REPAIR * tokens)
    clashing = (clash_line(request, clash) for clash in packets.clashes)
    clashes = _within(clashing, len(packets.clashes), most // 3, "clashes")
    wanted = (group_line(request, "repair", group) for group in packets.repair)
    repair = _within(wanted, len(packets.repair), most - tokens_of(clashes), "groups to repair")
    kept = (group_line(request, "keep", group) for group in packets.keep)
    left = tokens - tokens_of(clashes) - tokens_of(repair)
    return [*repair, *clashes, *_within(kept, len(packets.keep), left, "groups to keep")]


def _within(lines: Iterable[str], number: int, tokens: int, what: str) -> list[str]:
    """The first lines that fit, and a mark that counts the others."""
    kept = list(_until_full(lines, tokens - _A_MARK))
    left = number - len(kept)
    return [*kept, LEFT_OUT.format(f"{left} {what}")] if left else kept


def _until_full(lines: Iterable[str], room: int) -> Iterator[str]:
    for line in lines:
        room -= tokens_of([line])
        if room < 0:
            return
        yield line
