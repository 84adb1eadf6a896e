"""Text of traces made harmless and visible: nothing in it steers a terminal or hides."""

from __future__ import annotations

import re
from unicodedata import category

__all__ = ["CLOSE", "OPEN", "visible"]

#: Around a source in a view without colour; in the text of a trace they are spelled out.
OPEN, CLOSE = "⟦", "⟧"

#: Unicode categories of signs that control, show nothing or have no meaning of their own.
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
#: Letters and marks that show nothing either: fillers, joiners, selectors of variants.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code) for code in (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0))
}
_PLAIN = re.compile(r"[ -~\n\t]*")


def visible(text: str, *, marks: bool = False) -> str:
    """A text in which every sign can be seen.

    Parameters
    ----------
    text
        From a trace.
    marks
        Whether `OPEN` and `CLOSE` stand for something in what it becomes part of.

    Returns
    -------
    str
        Control characters as `\\x1b`, signs that show nothing or turn the direction of writing as
        `‹U+202E›`; line feeds and tabs stay.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_shown(sign, marks) for sign in text)


def _shown(sign: str, marks: bool) -> str:
    if sign in "\n\t" or " " <= sign <= "~":
        return sign
    code = ord(sign)
    if category(sign) == "Cc":
        return f"\\x{code:02x}"
    if category(sign) in _HIDDEN or sign in _BLANK or (marks and sign in (OPEN, CLOSE)):
        return f"‹U+{code:04X}›"
    return sign
