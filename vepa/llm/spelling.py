"""Texts of strangers as JSON that shows every sign and that nothing can break out of.

What comes out is JSON: reading a line back gives the texts as they were. White brackets stand
unescaped in the marks that this program makes, and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category, normalize

from vepa.files import canonical_json

__all__ = ["LEFT_OUT", "Writer", "spell"]

#: What a mark of this program looks like; `spell` never lets a text show these two brackets.
LEFT_OUT = "⟦{} left out⟧"
#: Unicode's categories of signs that show nothing, or steer how others are shown.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
#: Signs of other categories that show nothing: joiners, fillers, a blank of Braille.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
#: Blocks of variation selectors: a text can be hidden in a row of them.
_SELECTORS = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0000, 0xE0FFF))
#: Signs that open or close something for somebody, and signs that are drawn like them.
_FENCES = frozenset("<>`‹›〈〉⟨⟩〈〉❬❭❮❯❰❱˂˃ᐸᐳˋ‵⟦⟧〚〛")
#: The same of several plain signs: quotes of Python, fences of Markdown, `[/INST]`.
_RUNS = re.compile(r"'{3}|~{3}|\[/")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
#: Deeper structures are spelled as one text: nobody reads them, and the stack is not endless.
_DEEPEST = 40
#: A mark is about as long as this; cutting less would make a text longer.
_WORTH = 48


class _Signs(dict[int, str]):
    """Code -> how it is spelled; worked out when a sign is first met."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        self[code] = found = _spelled(sign)
        return found


def _spelled(sign: str) -> str:
    if sign in _SHORT:
        return _SHORT[sign]
    if not _is_hidden(sign):
        return sign
    return f"\\u{ord(sign):04x}" if sign.isascii() else json.dumps(sign)[1:-1]


def _is_hidden(sign: str) -> bool:
    """Whether a sign is shown by its number."""
    if sign == " ":
        return False
    if category(sign) in _UNSEEN or sign in _FILLERS:
        return True
    if any(first <= ord(sign) <= last for first, last in _SELECTORS):
        return True
    return not _FENCES.isdisjoint(normalize("NFKD", sign)) or sign in _FENCES


_SIGNS = _Signs()


def spell(text: str) -> str:
    """A text as a JSON string without any sign that is invisible or could end something.

    Examples
    --------
    >>> spell("a\\u200bb </x>")
    '"a\\\\u200bb \\\\u003c/x\\\\u003e"'
    """
    return f'"{_RUNS.sub(_broken, text.translate(_SIGNS))}"'


def _broken(match: re.Match[str]) -> str:
    """A run of signs that fences text for somebody, its last one spelled another way."""
    run = match.group()
    return f"{run[:-1]}\\/" if run[-1] == "/" else f"{run[:-1]}\\u{ord(run[-1]):04x}"


@dataclass
class Writer:
    """Writes values as JSON in one line, whole or shortened.

    Attributes
    ----------
    limit
        Bytes that a text takes when it is shown, about; None keeps all.
    clues
        Words around which a long text is kept, beside its ends.
    characters
        How many characters were left out so far.
    """

    limit: int | None = None
    clues: Sequence[str] = ()
    characters: int = field(default=0, init=False)

    def value(self, value: Any) -> str:
        """A value of JSON; where texts are shortened, a long list or object is too."""
        room = None if self.limit is None else 4 * self.limit
        return "".join(self._parts(value, _Room(room), 0))

    def text(self, text: str) -> str:
        """A text, its middle left out where it is too long."""
        limit = self.limit
        # Every sign takes a byte or more: a text of many megabytes is never spelled whole.
        if limit is None or len(text) <= limit + _WORTH:
            spelled = spell(text)
            if limit is None or _size(spelled) <= limit + _WORTH:
                return spelled
        signs = min(limit, len(text) * 3 // 4)
        while True:
            windows = _windows(text, signs, self.clues)
            shown = [spell(text[start:end])[1:-1] for start, end in windows]
            taken = sum(map(_size, shown))
            if taken <= limit + limit // 8 or signs < 4:
                break
            signs = min(signs * limit // taken, signs - 1)
        return f'"{self._joined(windows, shown)}"'

    def _joined(self, windows: Sequence[tuple[int, int]], shown: Sequence[str]) -> str:
        parts, at = [], 0
        for (start, end), part in zip(windows, shown, strict=True):
            if start > at:
                parts.append(LEFT_OUT.format(_count(start - at, "character")))
                self.characters += start - at
            parts.append(part)
            at = end
        return "".join(parts)

    def _parts(self, value: Any, room: _Room, depth: int) -> Iterator[str]:
        if isinstance(value, str):
            yield room.take(self.text(value))
        elif depth > _DEEPEST and isinstance(value, Mapping | list | tuple):
            yield f'{{"⟦as text⟧":{room.take(self.text(canonical_json(value)))}}}'
        elif isinstance(value, Mapping):
            yield from self._object(value, room, depth)
        elif isinstance(value, list | tuple):
            yield from self._list(value, room, depth)
        else:
            yield room.take(json.dumps(value))

    def _object(self, value: Mapping[str, Any], room: _Room, depth: int) -> Iterator[str]:
        yield "{"
        for number, (key, child) in enumerate(value.items()):
            comma = "," if number else ""
            if room.is_over:
                yield f'{comma}"{LEFT_OUT.format(_count(len(value) - number, "entry"))}":null'
                break
            yield comma + room.take(self.text(key)) + ":"
            yield from self._parts(child, room, depth + 1)
        yield "}"

    def _list(self, value: Sequence[Any], room: _Room, depth: int) -> Iterator[str]:
        yield "["
        for number, child in enumerate(value):
            comma = "," if number else ""
            if room.is_over:
                yield f'{comma}"{LEFT_OUT.format(_count(len(value) - number, "entry"))}"'
                break
            yield comma
            yield from self._parts(child, room, depth + 1)
        yield "]"


@dataclass
class _Room:
    """Bytes that a value may still take; None is no end."""

    left: int | None

    @property
    def is_over(self) -> bool:
        return self.left is not None and self.left <= 0

    def take(self, text: str) -> str:
        if self.left is not None:
            self.left -= _size(text)
        return text


def _windows(text: str, limit: int, clues: Sequence[str]) -> list[tuple[int, int]]:
    """What of a long text is kept: both ends, and the first clue between them."""
    head, tail = limit * 2 // 5, limit // 4
    width, end = limit - head - tail, len(text) - tail
    for clue in clues:
        at = text.find(clue, head, end)
        if at >= 0:
            start = max(head, min(at - width // 3, end - width))
            return [(0, head), (start, start + width), (end, len(text))]
    return [(0, head + width), (end, len(text))]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _count(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    return f"{number} {what[:-1]}ies" if what.endswith("y") else f"{number} {what}s"
