"""What the verifier says: machine-readable findings that go back to whoever proposed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Code", "Feedback"]

Code = Literal[
    "malformed",
    "schema_mismatch",
    "too_large",
    "unknown_field",
    "unknown_value",
    "duplicate_id",
    "unknown_id",
    "empty_conjunction",
    "unsatisfiable_predicate",
    "vacuous_predicate",
    "conflict",
    "more_conflicts",
    "subsumed",
    "equivalent",
    "budget_exhausted",
]

#: Findings that inform and never reject.
REPORTS = frozenset({"subsumed", "equivalent", "budget_exhausted"})


@dataclass(frozen=True, slots=True)
class Feedback:
    """One finding.

    Attributes
    ----------
    code
        What kind of finding.
    message
        One sentence for people.
    rules
        Ids of the rules concerned.
    field
        The schema field or the path in the file, where one is concerned.
    witness
        An event that shows the finding (a conflict, for one); fields left out are `unknown`.
    line
        Line in the policy file, from 1, where known.
    remedy
        What can be done.
    """

    code: Code
    message: str
    rules: tuple[str, ...] = ()
    field: str | None = None
    witness: Mapping[str, str] | None = None
    line: int | None = None
    remedy: str | None = None

    @property
    def rejects(self) -> bool:
        """True when a policy with this finding is not admitted."""
        return self.code not in REPORTS

    @property
    def place(self) -> str | None:
        """The field as people call it: a rule by its id, or by its position from 1."""
        if self.field is None or not self.field.startswith("rules."):
            return self.field
        _, at, *rest = self.field.split(".")
        if not at.isdigit():
            return self.field
        parts = [f"rule {self.rules[0]!r}" if self.rules else f"rule {int(at) + 1}"]
        entry = rest.pop() if rest and rest[-1].isdigit() else None
        if rest:
            parts.append(".".join(rest))
        if entry is not None:
            parts.append(f"entry {int(entry) + 1}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON data: code, rules, field, witness, message, line, remedy."""
        return {
            "code": self.code,
            "rules": list(self.rules),
            "field": self.field,
            "witness": dict(self.witness) if self.witness is not None else None,
            "message": self.message,
            "line": self.line,
            "remedy": self.remedy,
        }
