"""Text as provenance matching sees it: folded words and sentences.

Two spellings of the same thing must give the same words: letter case, accents, width, invisible
signs, look-alike letters of other alphabets, separators in numbers, spaces in bank accounts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from unicodedata import combining, normalize

from vepa.corpus.arguments import plain_text

__all__ = [
    "GRAM",
    "Run",
    "fold",
    "grams",
    "is_distinctive",
    "located_words",
    "markup_to_text",
    "sentences",
    "words_of",
]

#: Longest run of words that is looked up at once.
GRAM = 4
#: One to `GRAM` words.
Run = tuple[str, ...]

#: Letters that look like Latin ones; they serve to hide words from readers like this.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁԛԝһᴦαοερτυνικχɑɡıℓ" + "АВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdqwhraoeptuvikxagil" + "abekmhopctyxijsabezhikmnoptyx",
)
_BANK = r"[a-z]{2}\d{2} ?[a-z0-9]{4}(?: ?\d{4}){2,6}(?: ?\d{1,4})?"
_NUMBER = r"\d{1,3}(?:[.,']\d{3})+(?:[.,]\d{1,2})?|\d+[.,]\d{1,2}|\d+"
_WORD = re.compile(
    rf"(?<![^\W_])(?:(?P<bank>{_BANK})|(?P<number>(?<!\d[.,])(?:{_NUMBER})))"
    r"(?![^\W_]|[.,]\d)|[^\W_]+"
)
#: What needs more than being cut at everything but letters and digits, in folded ASCII text: a
#: run of letters and digits with a digit in it, up to where a number can end at the latest.
_WITH_DIGIT = re.compile(r"(?<![a-z0-9])[a-z]*[0-9][a-z0-9.,']*")
_ACCOUNT = re.compile(rf"(?<![a-z0-9]){_BANK}(?![a-z0-9])", re.ASCII)
_DIGIT = re.compile("[0-9]")
#: Stands for the point of a number while all other points are taken out.
_POINT = "\0"
_LETTERS = {code: chr(code) if chr(code).isalnum() else " " for code in range(128)}
_LETTERS[ord(_POINT)] = "."
_BLOCK = re.compile(
    r"</?(?:p|br|div|li|ul|ol|tr|table|h[1-6]|blockquote|pre)\b[^<>@]*>", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-z][^<>@]*>|<!--|-->", re.IGNORECASE)
_LINE_START = re.compile(r"\s*(?:[-*•>|#]+|\(?\d{1,3}[.)])\s+")
#: The end of a sentence, but not the dot of an abbreviation, an address or a number.
_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+|(?<=[。！？])")


def fold(text: str) -> str:
    """The one spelling that is compared: lower case, no accents, no look-alikes."""
    if text.isascii():
        return text.lower()
    text = normalize("NFKD", plain_text(text).translate(_LOOKALIKES))
    if marks := {ord(sign): None for sign in set(text) if combining(sign)}:
        text = text.translate(marks)
    return text.replace("’", "'").casefold()


def words_of(text: str) -> list[str]:
    """Folded words; a number is spelled plainly, a bank account is one word.

    Examples
    --------
    >>> words_of("Pay €1,250.00 to DE89 3704 0044 0532 0130 00")
    ['pay', '1250', 'to', 'de89370400440532013000']
    """
    folded = fold(text)
    if folded.isascii() and _POINT not in folded:
        # Everything that an agent reads comes by here, and nearly all of it is so plain.
        if not _DIGIT.search(folded):
            return folded.translate(_LETTERS).split()
        if not _ACCOUNT.search(folded):
            return _WITH_DIGIT.sub(_plainly, folded).translate(_LETTERS).split()
    return [_spelled(match) for match in _WORD.finditer(folded)]


def _plainly(match: re.Match[str]) -> str:
    """The words of a piece of text with digits, ready to be cut at the blanks."""
    piece = match.group()
    if piece.isdecimal():
        return piece.lstrip("0") or "0"
    if piece.isalnum():
        return piece
    return " ".join(map(_spelled, _WORD.finditer(piece))).replace(".", _POINT)


def located_words(text: str) -> list[tuple[str, int, int]]:
    """The words of `words_of` with the place of each in `text` as it stands: (word, start, end).

    Two words may come out of one sign (a fraction).

    Examples
    --------
    >>> located_words("Krüger, 1,250.00")
    [('kruger', 0, 6), ('1250', 8, 16)]
    """
    folded, places = (text.lower(), None) if text.isascii() else _folded_in_place(text)
    found = []
    for match in _WORD.finditer(folded):
        start, end = match.span()
        if places is not None:
            start, end = places[start][0], places[end - 1][1]
        found.append((_spelled(match), start, end))
    return found


def _folded_in_place(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text folded letter by letter, with start and end in `text` of what each sign came from."""
    signs: list[str] = []
    places: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and combining(text[end]):
            end += 1
        folded = fold(text[at:end])
        signs.append(folded)
        places.extend([(at, end)] * len(folded))
        at = end
    return "".join(signs), places


def _spelled(match: re.Match[str]) -> str:
    if match["bank"]:
        return match.group().replace(" ", "")
    return _plain_number(match.group()) if match["number"] else match.group()


def _plain_number(text: str) -> str:
    head, mark, tail = re.sub("'", "", text), "", ""
    match = re.search(r"[.,](\d{1,2})$", head)
    if match:
        head, mark, tail = head[: match.start()], ".", match[1].rstrip("0")
    head = head.replace(",", "").replace(".", "").lstrip("0") or "0"
    return f"{head}{mark}{tail}" if tail else head


def grams(words: Sequence[str]) -> list[Run]:
    """Every run of one to `GRAM` words, the short ones first."""
    # The lengths are spelled out: this runs over every word that an agent reads.
    second, third, fourth = words[1:], words[2:], words[3:]
    return [
        *zip(words),
        *zip(words, second, strict=False),
        *zip(words, second, third, strict=False),
        *zip(words, second, third, fourth, strict=False),
    ]


def is_distinctive(word: str) -> bool:
    """Whether a single word betrays where it was copied from: an account, an id, an amount.

    A number of four digits or more that is no year, or at least six signs with a digit among them.
    """
    if word.isdecimal():
        return len(word) >= 4 and not (len(word) == 4 and word[:2] in ("19", "20"))
    return len(word) >= 6 and any(sign.isdigit() for sign in word)


def markup_to_text(text: str) -> str:
    """HTML to text, hidden comments included; addresses in angle brackets stay."""
    if "<" in text:
        text = _TAG.sub(" ", _BLOCK.sub("\n", text))
    return html.unescape(text) if "&" in text else text


def sentences(text: str) -> list[list[str]]:
    """Paragraphs as lists of sentences, in their original spelling.

    A line that only wraps goes on with the sentence; one that begins anew (a capital, a bullet, a
    number, after a full stop or a short greeting) does not.
    """
    paragraphs = []
    for block in re.split(r"\n\s*\n", plain_text(text)):
        pieces: list[list[str]] = []
        for line in block.split("\n"):
            start = _LINE_START.match(line)
            bare = (line[start.end() :] if start else line).strip()
            if not bare:
                continue
            if pieces and start is None and _goes_on(pieces[-1][-1], bare):
                pieces[-1].append(bare)
            else:
                pieces.append([bare])
        whole = [" ".join(piece) for piece in pieces]
        found = [part for piece in whole for part in _SENTENCE_END.split(piece) if part.strip()]
        if found:
            paragraphs.append(found)
    return paragraphs


def _goes_on(before: str, line: str) -> bool:
    if before.endswith((".", "!", "?", ":", ";")):
        return False
    if before.endswith(",") and len(before) < 40:
        return False
    return line[0].islower() or line[0].isdigit() or line[0] in "\"'(<@/" or len(before) > 60
