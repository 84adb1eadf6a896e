"""A judgement as somebody types it in a terminal, one short line after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from vepa.annotate.arbitration.page.typed import Typed
from vepa.annotate.arbitration.records import Case
from vepa.annotate.shape import check_evidence
from vepa.corpus.labels import Evidence, Judgement
from vepa.corpus.taxonomy import Taxonomy
from vepa.errors import InputError
from vepa.policy.schema import nearest

__all__ = ["COMMANDS", "Draft"]

#: Key, word and meaning of what changes a draft.
COMMANDS = (
    ("a", "allow", "the step is fine"),
    ("r", "refuse", "a guard should have stopped it"),
    ("t", "triggers", "set them by number or key, the primary one first; a bare number adds one"),
    ("i", "risk", "risk source, by number or key"),
    ("h", "harm", "harm, by number or key"),
    ("v", "severity", "of the harm, by number or key"),
    ("e", "evidence", "a quote of the step, or `e #3 QUOTE` of step 3; without words: none"),
    ("w", "why", "the reason, in a sentence or two"),
    ("n", "note", "a note beside the reason"),
    ("c", "confidence", "0 (a guess) to 1 (certain)"),
)
_STEP = re.compile(r"#([0-9]{1,6})\s+(.+)", re.DOTALL)
_UNSET = ("-", "none")


class Draft:
    """What somebody has said so far about a case.

    Parameters
    ----------
    case
        The case.
    taxonomy
        What may be said.
    before
        Where it starts from.
    """

    def __init__(self, case: Case, taxonomy: Taxonomy, before: Typed | None = None):
        self._case, self._taxonomy = case, taxonomy
        self.typed = before or Typed()

    def take(self, line: str) -> bool:
        """Change the draft as a line says; False when the line is about something else.

        Raises
        ------
        InputError
            When the line cannot be taken; the draft stays as it was.
        """
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        name = next((each[1] for each in COMMANDS if word in each[:2]), None)
        if name in ("allow", "refuse"):
            self.typed = replace(self.typed, decision=name)
        elif name is not None:
            self._setters()[name](rest)
        elif (keys := self._bare(line)) is not None:
            known = [*self.typed.triggers, *(key for key in keys if key not in self.typed.triggers)]
            self._set_triggers(known)
        else:
            return False
        return True

    def judgement(self) -> Judgement:
        """The judgement that it makes.

        Raises
        ------
        InputError
            Names what is missing or wrong.
        """
        return self._made().judgement(self._taxonomy, self._case.shown)

    def told(self) -> str:
        """The draft in one line."""
        typed = self.typed
        parts = [typed.decision or "no decision yet", *typed.triggers]
        parts += [
            f"{name.replace('_', ' ')} {getattr(typed, name)}"
            for name in ("risk_source", "harm", "severity")
            if getattr(typed, name)
        ]
        parts += [f"#{step} “{quote}”" for step, quote in typed.evidence]
        parts += [f"{name}: {text}" for name, text in self._words() if text]
        return " · ".join([*parts, f"confidence {typed.confidence}"])

    def _words(self) -> Iterator[tuple[str, str]]:
        yield "why", self.typed.rationale
        yield "note", self.typed.note

    def _made(self) -> Typed:
        first = self.typed.triggers[0] if self.typed.triggers else ""
        return replace(self.typed, primary=first)

    def _setters(self) -> dict[str, Callable[[str], None]]:
        return {
            "triggers": self._triggers,
            "risk": lambda text: self._one("risk_source", text, list(self._taxonomy.risk_sources)),
            "harm": lambda text: self._one("harm", text, list(self._taxonomy.harms)),
            "severity": lambda text: self._one("severity", text, list(self._taxonomy.severities)),
            "evidence": self._evidence,
            "why": lambda text: self._set(rationale=text),
            "note": lambda text: self._set(note=text),
            "confidence": self._confidence,
        }

    def _set(self, **values: Any) -> None:
        self.typed = replace(self.typed, **values)

    def _one(self, name: str, text: str, keys: Sequence[str]) -> None:
        self._set(**{name: "" if text in ("", *_UNSET) else _key(text, keys, name)})

    def _triggers(self, text: str) -> None:
        words = [] if text in _UNSET else _split(text)
        self._set_triggers([_key(each, self._taxonomy.keys, "triggers") for each in words])

    def _set_triggers(self, keys: Sequence[str]) -> None:
        """Without a trigger there is no risk source and no harm to choose either."""
        self._set(triggers=list(dict.fromkeys(keys)))
        if not keys:
            self._set(risk_source="", harm="", severity="")

    def _bare(self, line: str) -> list[str] | None:
        """Triggers that stand alone in a line: numbers, or whole keys."""
        words = _split(line)
        if not words or not all(each.isdecimal() or each in self._taxonomy.keys for each in words):
            return None
        return [_key(each, self._taxonomy.keys, "triggers") for each in words]

    def _evidence(self, text: str) -> None:
        if text in ("", *_UNSET):
            self.typed = replace(self.typed, evidence=[])
            return
        match = _STEP.fullmatch(text)
        step, quote = (int(match[1]), match[2]) if match else (self._case.step, text)
        found = Evidence(step=step, quote=quote.strip())
        check_evidence(
            Judgement(decision="allow", confidence=0, evidence=[found]), self._case.shown
        )
        self.typed = replace(self.typed, evidence=[*self.typed.evidence, (str(step), found.quote)])

    def _confidence(self, text: str) -> None:
        try:
            fine = 0 <= float(text) <= 1
        except ValueError:
            fine = False
        if not fine:
            raise InputError(f"{text!r} is no confidence", remedy="a number from 0 to 1")
        self._set(confidence=text)


def _split(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _key(word: str, keys: Sequence[str], what: str) -> str:
    """A key by its number from 1, itself, or a beginning that no other one has."""
    if word.isdecimal() and word.isascii():
        if 1 <= int(word[:6]) <= len(keys):
            return keys[int(word) - 1]
        raise InputError(f"there is no {word} among the {what}", remedy=f"1 to {len(keys)}")
    found = [word] if word in keys else [key for key in keys if key.startswith(word.lower())]
    if len(found) != 1:
        raise InputError(f"{word!r} is no key of {what}", remedy=nearest(word, list(keys), what))
    return found[0]
