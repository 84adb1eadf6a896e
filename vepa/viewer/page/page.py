"""The page: an index that is painted at once, and the trajectories packed behind it."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Any

from vepa.errors import InputError, SettingError
from vepa.viewer.judging import Judge
from vepa.viewer.page.data import detail_of
from vepa.viewer.page.index import Index
from vepa.viewer.signs import visible
from vepa.viewer.terminal import plain_text
from vepa.viewer.view import Shown, Subject, show_all

__all__ = ["Page", "page_of"]

#: The scripts, in the order in which they are written into the page.
_SCRIPTS = (
    "dom.js", "store.js", "search.js", "list.js", "filters.js", "events.js", "steps.js",
    "detail.js", "keys.js", "app.js",
)  # fmt: skip
#: So much JSON is packed together: opening one trajectory unpacks this much.
CHUNK_BYTES = 1024 * 1024
#: A larger page is refused: browsers hold its text twice and fail without a word.
LARGEST_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Page:
    """A page and how many trajectories are on it."""

    data: bytes
    count: int


def page_of(subjects: Iterable[Subject], judge: Judge, title: str) -> Page:
    """The page of some trajectories; they are taken one at a time.

    Parameters
    ----------
    subjects
        At least one.
    judge
        The policy that answers, or none.
    title
        Of the list.

    Raises
    ------
    InputError
        When there is no trajectory.
    SettingError
        When the page would be larger than a browser opens.
    EventError
        When an event does not fit the policy's schema.
    """
    index, chunks = Index(), _Chunks()
    first: Shown | None = None
    for subject in subjects:
        shown = show_all(subject, judge)
        first = first or shown
        index.add(shown)
        chunks.add(detail_of(shown))
    if first is None:
        raise InputError(
            f"no trajectory to show in {title}", remedy="ask for more: fewer filters, another file"
        )
    chunks.close()
    policy = judge.policy.policy_hash if judge.policy else None
    packed = _packed(index.data(title, chunks.starts, policy))
    lonely = first if len(index) == 1 else None
    return Page(_written(title, packed, chunks.texts, lonely).encode(), len(index))


class _Chunks:
    """Trajectories packed together until a chunk is full."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.starts: list[int] = []
        self._open: list[str] = []
        self._count = self._size = self._whole = 0

    def add(self, detail: dict[str, Any]) -> None:
        text = json.dumps(detail, ensure_ascii=False, separators=(",", ":"))
        if self._open and self._size + len(text) > CHUNK_BYTES:
            self.close()
        if not self._open:
            self.starts.append(self._count)
        self._open.append(text)
        self._size += len(text)
        self._count += 1

    def close(self) -> None:
        if self._open:
            self.texts.append(_pack(f"[{','.join(self._open)}]"))
            self._whole += len(self.texts[-1])
            self._open, self._size = [], 0
        if self._whole > LARGEST_BYTES:
            raise SettingError(
                f"the page would be larger than {LARGEST_BYTES // 1024**2} MiB after "
                f"{self._count:,} trajectories",
                remedy="show fewer on one page: --label, --task, --grep and the like choose",
            )


def _packed(data: dict[str, Any]) -> str:
    return _pack(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def _pack(text: str) -> str:
    """Compressed, in signs that mean nothing in HTML; the same text, the same signs."""
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


@cache
def _asset(name: str) -> str:
    return (resources.files("vepa.viewer.page") / "assets" / name).read_text("utf-8")


@cache
def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(map(_asset, _SCRIPTS)) + "})();\n"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _written(title: str, index: str, chunks: list[str], lonely: Shown | None) -> str:
    script, style = _script(), _asset("page.css")
    parts = {
        "title": escape(visible(title)),
        "script_digest": _digest(script),
        "style_digest": _digest(style),
        "style": style,
        "script": script,
        "index": index,
        "class": "single" if lonely else "many",
        "without_script": _without_script(lonely),
        "chunks": "\n".join(
            f'<script type="text/plain" id="chunk-{at}">{text}</script>'
            for at, text in enumerate(chunks)
        ),
    }
    # In one pass: what is put in is not looked at again.
    pieces = _asset("page.html").split("@@")
    return "".join(parts[each] if at % 2 else each for at, each in enumerate(pieces))


def _without_script(lonely: Shown | None) -> str:
    told = (
        "This page needs JavaScript to unpack its trajectories; it asks nothing of any network. "
        "<code>vepa show FILE</code> lists them in a terminal."
    )
    if lonely is None:
        return f"<p>{told}</p>"
    return f"<p>{told} This one stands here as text.</p><pre>{escape(plain_text(lonely))}</pre>"
