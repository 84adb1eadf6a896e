"""What two annotators are to each other: passes of one model family, of several, people."""

from __future__ import annotations

import re

from vepa.annotate.agreement.records import Annotator

__all__ = ["NOTHING_REAL", "ONE_FAMILY", "family", "heading_of"]

#: Said of recorded passes of one family, and of two readers of one family that are asked now.
ONE_FAMILY = "two passes of one model family: an upper bound on agreement between vendors"
NOTHING_REAL = "no agreement is measured: no content was judged by two readers that are no scripts"
_FIRST_WORD = re.compile(r"[A-Za-z]+")


def family(model: str) -> str | None:
    """The family that a model's name tells.

    The first word behind the provider: `claude` of `Claude, by Anthropic` and of
    `anthropic/claude-sonnet-4-5`, `gpt` of `openai/gpt-5.1`; None for a name without one.
    """
    found = _FIRST_WORD.match(model.rsplit("/", maxsplit=1)[-1])
    return found.group().casefold() if found else None


def heading_of(a: Annotator, b: Annotator) -> tuple[str, bool | None]:
    """In one line what the agreement of two annotators is, and whether they are of one family.

    Manifests of recordings name the model, and labels repeat it; a person has no family.
    """
    told = f"{a.name} ({_kind(a)}) and {b.name} ({_kind(b)})"
    if "person" in a.origins or "person" in b.origins:
        return told, False
    ours, theirs = _families(a), _families(b)
    if None in ours or None in theirs:
        return f"{told}; whether they are of one model family is not told", None
    if ours == theirs and len(ours) == 1:
        return ONE_FAMILY, True
    return told, False


def _families(annotator: Annotator) -> set[str | None]:
    return {family(model) for model in annotator.models} or {None}


def _kind(annotator: Annotator) -> str:
    kinds = " and ".join(kind for kind in annotator.origins if kind != "scripted")
    models = " and ".join(annotator.models)
    return f"{models}, {kinds}" if models else kinds
