"""What a run of evolution left: how much its policy decides, and how rightly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vepa.lifecycle.report.reading import count, many, number, percent, score, text

__all__ = ["POLICIES", "Policy", "policies"]

#: Key in a summary -> what the policy grew over, and what it decides.
POLICIES = {
    "corpus_policy": ("Policy of the corpus", "step"),
    "benchmark": ("Policy of the benchmark", "event"),
}
_VERDICTS = ("allow", "refuse", "abstain")


@dataclass(frozen=True)
class Policy:
    """A policy with its figures.

    Attributes
    ----------
    key
        In the summary.
    data
        What stands there.
    """

    key: str
    data: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What it grew over."""
        return POLICIES[self.key][0]

    @property
    def noun(self) -> str:
        """What it decides, one of them."""
        return POLICIES[self.key][1]

    @property
    def run(self) -> str | None:
        """The run that made it."""
        return text(self.data, "id")

    @property
    def standing(self) -> str | None:
        """Beside the best single field."""
        return text(self.data, "standing")

    def figure(self, name: str) -> float | None:
        """One of its figures."""
        return number(self.data, "figures", name)

    @property
    def wrong_feedback(self) -> float | None:
        """Share of wrong feedback that the run estimated; None where it estimated none."""
        return number(self.data, "wrong_feedback")

    def of(self, label: str, verdict: str) -> int | None:
        """Events of a label by what it said; None where a summary does not tell."""
        return count(self.data, "confusion", verdict, label)

    def decided(self, label: str) -> int | None:
        """Events of a label that it decided."""
        allowed, refused = self.of(label, "allow"), self.of(label, "refuse")
        return None if allowed is None or refused is None else allowed + refused

    @property
    def total(self) -> int | None:
        """All events."""
        every = [self.of(label, said) for label in ("allow", "refuse") for said in _VERDICTS]
        found = [each for each in every if each is not None]
        return sum(found) if len(found) == len(every) else None

    @property
    def covered(self) -> int | None:
        """Events that it decided."""
        safe, unsafe = self.decided("allow"), self.decided("refuse")
        return None if safe is None or unsafe is None else safe + unsafe

    @property
    def silent(self) -> bool:
        """Whether it decided nothing: then its F1 and its shares say nothing either."""
        if self.covered is not None:
            return self.covered == 0
        return self.figure("mean_coverage") == 0

    @property
    def covered_f1(self) -> str:
        """Macro-F1 on what it decided."""
        return "none" if self.silent else score(self.figure("covered_macro_f1"))

    @property
    def coverage(self) -> str:
        """How much it decided, over all rounds."""
        if self.covered is None or self.total is None:
            return f"decided {percent(self.figure('mean_coverage'))}"
        share = percent(self.figure("mean_coverage"))
        return f"decided {many(self.covered)} of {many(self.total, self.noun)} ({share})"

    def wrong(self, label: str) -> str:
        """Unsafe ones (`refuse`) that it allowed, or safe ones (`allow`) that it refused."""
        against, name = (
            ("allow", "unsafe_allowed") if label == "refuse" else ("refuse", "safe_refused")
        )
        number_wrong, decided = self.of(label, against), self.decided(label)
        if number_wrong is None or decided is None:
            return percent(self.figure(name))
        if not decided:
            return "none of those was decided"
        share = f" ({percent(number_wrong / decided)})" if number_wrong else ""
        return f"{many(number_wrong)} of {many(decided)} decided{share}"

    @property
    def rules(self) -> str:
        """Its rules."""
        active, archive = count(self.data, "rules", "active"), count(self.data, "rules", "archive")
        return f"{many(active)} active of {many(archive)} verified"


def policies(summary: Mapping[str, Any]) -> list[Policy]:
    """The policies of a lifecycle, the corpus' own first."""
    return [Policy(key, data) for key in POLICIES if isinstance(data := summary.get(key), Mapping)]
