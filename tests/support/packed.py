"""A page of the viewer taken apart: what is written into it, unpacked again."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any

__all__ = ["Packed"]


class Packed(HTMLParser):
    """Tags, attributes, words, the index and the trajectories of a page.

    Attributes
    ----------
    tags, attributes
        In order.
    scripts
        Id of a script, or its type -> its text.
    words
        All text outside scripts and styles.
    """

    def __init__(self, page: bytes):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: dict[str, str] = {}
        self.words = ""
        self._inside: str | None = None
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag in ("script", "style"):
            given = dict(attrs)
            self._inside = given.get("id") or given.get("type") or tag
            self.scripts[self._inside] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.words += data
        else:
            self.scripts[self._inside] += data

    @property
    def index(self) -> dict[str, Any]:
        """The list."""
        return unpacked(self.scripts["index"])

    @property
    def chunks(self) -> list[list[dict[str, Any]]]:
        """The trajectories, packed together as they are."""
        names = [name for name in self.scripts if re.fullmatch(r"chunk-\d+", name)]
        assert names == [f"chunk-{at}" for at in range(len(names))]
        return [unpacked(self.scripts[name]) for name in names]

    @property
    def details(self) -> list[dict[str, Any]]:
        """The trajectories."""
        return [detail for chunk in self.chunks for detail in chunk]


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(b64decode(text, validate=True)))
