"""The canonical form of a policy file, as text."""

from __future__ import annotations

import json
from typing import Any

import yaml

from vepa.policy.policy import Policy
from vepa.policy.reading import load_policy
from vepa.policy.schema import Schema

__all__ = ["canonical_text", "comment_line", "is_json", "policy_text"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def canonical_text(text: str, file: str, schema: Schema) -> str:
    """The text of a policy file in canonical form; JSON stays JSON.

    Fields and values stand in the schema's order; schema, unit and status are written out. Rules
    keep their order and predicates their operator. No decision and no policy hash changes.

    Raises
    ------
    PolicyError
        When the text is no policy, or the verifier rejects it.
    """
    return policy_text(load_policy(text, file, schema).canonical(), as_json=is_json(text))


def policy_text(policy: Policy, *, as_json: bool) -> str:
    """A policy as JSON or as YAML."""
    return policy.to_json() if as_json else policy.to_yaml()


def is_json(text: str) -> bool:
    """Whether a document is JSON (a YAML document may begin with a brace as well)."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def comment_line(text: str) -> int | None:
    """Line (from 1) of the first comment in a well-formed YAML text; None when there is none."""
    if "#" not in text or is_json(text):
        return None
    at = 0
    for token in yaml.scan(text, Loader=_Loader):
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            header = text.index("\n", token.start_mark.index)
            spans = [(at, header)]  # a comment may stand beside the sign of a block
        else:
            spans = [(at, token.start_mark.index)]
        for start, end in spans:
            found = text.find("#", start, end)
            if found >= 0:
                return text.count("\n", 0, found) + 1
        at = max(at, token.end_mark.index)
    found = text.find("#", at)
    return text.count("\n", 0, found) + 1 if found >= 0 else None
