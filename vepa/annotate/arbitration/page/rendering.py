"""Templates and what they need: every text is escaped, every asset is this package's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from vepa.annotate.arbitration.page.codebook import Block, blocks_of
from vepa.annotate.panel import Rules
from vepa.corpus.taxonomy import TriggerEntry

__all__ = ["ASSETS", "Key", "Renderer", "ShownTrigger", "asset"]

#: Name of an asset -> its kind and the files that it is made of.
ASSETS = {
    "page.css": ("text/css", ("page.css", "form.css")),
    "login.js": ("text/javascript", ("login.js",)),
    "desk.js": (
        "text/javascript",
        ("dom.js", "quotes.js", "marks.js", "form.js", "sending.js", "keys.js", "start.js"),
    ),
}


_LONG_WORD = re.compile(r"\S{150}")


@dataclass(frozen=True, slots=True)
class Key:
    """A key and what it does; shown in the help and in the documents."""

    keys: tuple[str, ...]
    does: str


KEYS = (
    Key(("n",), "next case"),
    Key(("a", "r"), "allow, refuse"),
    Key(("1", "…", "9", "0"), "trigger 1 to 10"),
    Key(("Shift+1", "…"), "trigger 11 and on"),
    Key(("t",), "find a trigger by its name: type, Enter chooses the first one"),
    Key(("p",), "make the next chosen trigger the primary one"),
    Key(("d",), "definition of the last trigger that you touched"),
    Key(("i", "h", "v"), "risk source, harm, severity: type its first letters, then Enter"),
    Key(("+", "-"), "more or less sure"),
    Key(("x",), "select the next line of the step (Shift+← and Shift+→ change its end)"),
    Key(("e",), "quote what is selected as evidence; with nothing selected, type it"),
    Key(("w", "m"), "why, note"),
    Key(("Enter", "Ctrl+Enter"), "settle; with Ctrl also from inside a text"),
    Key(("s",), "skip: leave the case to others (the note is kept as the reason)"),
    Key(("u",), "undo your last verdict"),
    Key(("j", "k"), "next and previous step"),
    Key(("o", "O"), "fold or unfold this step, all steps"),
    Key(("b", "?"), "codebook, these keys"),
    Key(("Esc",), "back to the step"),
)


@dataclass(frozen=True, slots=True)
class ShownTrigger:
    """A trigger with its number, from 1, and the key that chooses it; no key from 21 on."""

    number: int
    key: str
    entry: TriggerEntry


class Renderer:
    """The pages of one taxonomy and codebook.

    Parameters
    ----------
    rules
        What people judge by.
    """

    def __init__(self, rules: Rules):
        taxonomy = rules.taxonomy
        triggers = [
            ShownTrigger(at, _shortcut(at), entry) for at, entry in enumerate(taxonomy.triggers, 1)
        ]
        self._environment = Environment(
            loader=FunctionLoader(_template),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            taxonomy=taxonomy,
            groups=[
                (name, about, [each for each in triggers if each.entry.group == name])
                for name, about in taxonomy.groups.items()
            ],
            codebook=_codebook(rules.codebook),
            keys=KEYS,
            versions={name: _digest(name) for name in ASSETS},
        )
        self._environment.filters["breakable"] = _breakable
        self._environment.filters["named"] = lambda key: str(key).replace("_", " ")

    def render(self, name: str, /, **values: Any) -> str:
        """A page."""
        return self._environment.get_template(f"{name}.html.j2").render(values)


@cache
def asset(name: str) -> tuple[str, str]:
    """Kind and text of an asset.

    Raises
    ------
    KeyError
        When there is none of this name.
    """
    kind, parts = ASSETS[name]
    folder = resources.files("vepa.annotate.arbitration.page") / "assets"
    text = "\n".join((folder / part).read_text("utf-8") for part in parts)
    if name.endswith(".js"):
        text = f'"use strict";\n(() => {{\n{text}}})();\n'
    return kind, text


def _breakable(text: str) -> Markup:
    """Places where a word that never ends may be broken; no sign is added to it.

    Without them browsers take a time that grows with the square of its length. `join` escapes.
    """
    ends = [found.end() for found in _LONG_WORD.finditer(text)]
    starts = [0, *ends]
    return Markup("<wbr>").join(text[a:b] for a, b in zip(starts, [*ends, None], strict=True))


def _digest(name: str) -> str:
    return sha256(asset(name)[1].encode()).hexdigest()[:12]


def _template(name: str) -> str:
    folder = resources.files("vepa.annotate.arbitration.page") / "templates"
    return (folder / name).read_text("utf-8")


def _codebook(text: str) -> list[Block]:
    return list(blocks_of(text))


def _shortcut(number: int) -> str:
    if number <= 10:
        return str(number % 10)
    return f"Shift+{number % 10}" if number <= 20 else str(number)
