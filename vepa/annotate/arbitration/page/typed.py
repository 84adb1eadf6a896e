"""What stands in the form of the page, and the judgement that it makes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from pydantic import ValidationError

from vepa.annotate.shape import check_evidence
from vepa.corpus.labels import Evidence, Judgement
from vepa.corpus.taxonomy import Taxonomy
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, Where
from vepa.policy.document import complaint
from vepa.viewer.signs import visible

__all__ = ["Typed"]

#: How sure somebody is who does not say otherwise.
_SURE = "0.8"
#: Signs that the page spells out, as somebody copies them from it.
_SPELLED = re.compile(r"‹U\+([0-9A-F]{4,6})›|\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Typed:
    """The fields of the form, as text.

    Attributes
    ----------
    decision, primary, risk_source, harm, severity, confidence, rationale, note
        As in a judgement; empty for nothing.
    triggers
        Keys.
    evidence
        Step and quote.
    """

    decision: str = ""
    triggers: Sequence[str] = ()
    primary: str = ""
    risk_source: str = ""
    harm: str = ""
    severity: str = ""
    confidence: str = _SURE
    rationale: str = ""
    note: str = ""
    evidence: Sequence[tuple[str, str]] = ()

    @classmethod
    def of_fields(cls, fields: Mapping[str, Sequence[str]]) -> Typed:
        """What was sent."""

        def one(name: str) -> str:
            return _text(fields.get(name, [""])[0])

        quotes = zip_longest(
            fields.get("evidence_step", ()), fields.get("evidence_quote", ()), fillvalue=""
        )
        return cls(
            decision=one("decision"),
            triggers=list(dict.fromkeys(fields.get("trigger", ()))),
            primary=one("primary"),
            risk_source=one("risk_source"),
            harm=one("harm"),
            severity=one("severity"),
            confidence=one("confidence"),
            rationale=one("rationale"),
            note=one("note"),
            evidence=[(_text(step), _text(quote)) for step, quote in quotes if quote.strip()],
        )

    @classmethod
    def of_judgement(cls, judgement: Judgement, note: str | None) -> Typed:
        """What was said before."""
        return cls(
            decision=judgement.decision,
            triggers=judgement.triggers,
            primary=judgement.primary or "",
            risk_source=judgement.risk_source or "",
            harm=judgement.harm or "",
            severity=judgement.severity or "",
            confidence=f"{judgement.confidence:g}",
            rationale=judgement.rationale,
            note=note or "",
            evidence=[(str(each.step), visible(each.quote)) for each in judgement.evidence],
        )

    def judgement(self, taxonomy: Taxonomy, shown: Trajectory) -> Judgement:
        """The judgement that it makes.

        Raises
        ------
        InputError
            Names the field that is wrong or missing.
        """
        if self.decision not in ("allow", "refuse"):
            raise _wrong("decision", "choose `allow` or `refuse`")
        # What the browser sends is in the taxonomy's order; the primary one goes first.
        first = [self.primary] if self.primary in self.triggers else []
        triggers = [*first, *(key for key in self.triggers if key not in first)]
        for name in ("risk_source", "harm") if triggers else ():
            if not getattr(self, name):
                raise _wrong(name, f"with a trigger belongs a {name.replace('_', ' ')}")
        data: dict[str, Any] = {
            "decision": self.decision,
            "triggers": triggers,
            "risk_source": self.risk_source or None,
            "harm": self.harm or None,
            "severity": self.severity or None,
            "confidence": self._sure(),
            "rationale": self.rationale,
            "evidence": [
                _standing(at, step, quote, shown) for at, (step, quote) in enumerate(self.evidence)
            ],
        }
        try:
            judgement = Judgement.model_validate(data)
        except ValidationError as error:
            path, words = complaint(error)
            field = ".".join(map(str, path)) or _field_of(words)
            raise InputError(words, where=Where(field=field)) from None
        judgement.check_against(taxonomy)
        return judgement

    def with_note(self, note: str) -> Typed:
        """The same with another note."""
        return replace(self, note=note)

    def _sure(self) -> float:
        try:
            return float(self.confidence)
        except ValueError:
            raise _wrong("confidence", "a number from 0 to 1 belongs here") from None


def _standing(at: int, step: str, quote: str, shown: Trajectory) -> Evidence:
    """A quote as it stands in its step: signs that the page spells out are taken back."""
    if not step.isdecimal() or not step.isascii() or len(step) > 6:
        raise _wrong(f"evidence.{at}.step", "the number of the step belongs here")
    plain = _SPELLED.sub(_sign, quote)
    for last, words in enumerate((quote, plain)):
        evidence = Evidence(step=int(step), quote=words)
        try:
            check_evidence(Judgement(decision="allow", confidence=0, evidence=[evidence]), shown)
            return evidence
        except InputError as error:
            if last or plain == quote:
                place = error.where.field or "evidence.0"
                field = place.replace("evidence.0", f"evidence.{at}")
                raise InputError(
                    error.message, where=Where(field=field), remedy=error.remedy
                ) from None
    raise AssertionError("one of the two was taken or refused")


def _sign(found: re.Match[str]) -> str:
    code = int(found[1] or found[2], 16)
    return found[0] if code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code)


def _text(text: str) -> str:
    """Browsers send line feeds as two signs."""
    return text.replace("\r\n", "\n").strip()


def _field_of(words: str) -> str | None:
    for name in ("rationale", "risk_source", "harm", "triggers"):
        if name in words or name.replace("_", " ") in words:
            return name
    return None


def _wrong(field: str, message: str) -> InputError:
    return InputError(message, where=Where(field=field))
