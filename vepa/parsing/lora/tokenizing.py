"""Tokenizers: that of a base model, or a guess that needs no model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Protocol

from vepa.errors import MissingExtraError, SettingError, Where
from vepa.files import sha256_of
from vepa.llm.local import base_folder

__all__ = ["APPROXIMATE", "Approximate", "Tokenizer", "open_tokenizer"]

#: Name of the guess.
APPROXIMATE = "approximate"
_FILE = "tokenizer.json"
#: A space with up to six letters or three digits, or any one other sign.
_PIECE = re.compile(r" ?[^\W\d_]{1,6}| ?\d{1,3}|\s|.", re.DOTALL)


class Tokenizer(Protocol):
    """Cuts a text into tokens and puts them together again."""

    @property
    def name(self) -> str:
        """Says which one it is, and for a file its hash."""
        ...

    def cut(self, text: str) -> list[str]:
        """The text of each token, in order; together they are the text."""
        ...


class Approximate:
    """Pieces about as long as those of common tokenizers, cut without any model."""

    name = APPROXIMATE

    def cut(self, text: str) -> list[str]:
        """The pieces of a text, in order; together they are the text."""
        return _PIECE.findall(text)


class _OfFile:
    """A `tokenizer.json`, the file beside a model's weights."""

    def __init__(self, path: Path, inner: Any, sha256: str):
        self._inner = inner
        self.name = f"{path.resolve().parent.name}/{path.name}@{sha256[:12]}"

    def cut(self, text: str) -> list[str]:
        """Slices of the text by the tokens' places; a sign that takes several is one slice."""
        encoded = self._inner.encode(text, add_special_tokens=False)
        # Where each token begins: what lies between two of them belongs to the first.
        starts = [start for start, _ in encoded.offsets]
        if not starts:
            return [text] if text else []
        starts[0] = 0
        ends = [*starts[1:], len(text)]
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def open_tokenizer(name: str) -> Tokenizer:
    """Open a tokenizer.

    Parameters
    ----------
    name
        `approximate`, a `tokenizer.json`, or a base model: its folder, or `package:NAME`.

    Raises
    ------
    SettingError
        When there is no such file or package, or it is none.
    MissingExtraError
        When the package `tokenizers` is not installed.
    """
    if name == APPROXIMATE:
        return Approximate()
    path = Path(base_folder(name) if name.startswith("package:") else name)
    if path.is_dir():
        path = path / _FILE
    remedy = f"name a {_FILE}, the folder of a base model with one, or {APPROXIMATE}"
    where = Where(str(path), field="tokenizer")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SettingError(f"no tokenizer: {error.strerror}", where=where, remedy=remedy) from None
    try:
        from tokenizers import Tokenizer as Inner
    except ImportError:
        raise MissingExtraError("tokenizers", "train") from None
    try:
        inner = Inner.from_buffer(data)
    except Exception as error:  # noqa: BLE001 - the package raises nothing narrower
        raise SettingError(f"no tokenizer: {error}", where=where, remedy=remedy) from None
    # A base's own limits would cut what is to be counted.
    inner.no_truncation()
    inner.no_padding()
    return _OfFile(path, inner, sha256_of(data))
