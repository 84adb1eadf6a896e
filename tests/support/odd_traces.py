"""Generated traces whose texts try everything that a text can hold."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from vepa.corpus.tools import ToolMetadata
from vepa.corpus.trajectory import Call, OfferedTool, Premises, Result, Step, Trajectory

#: Pieces that close, open or hide something, among ordinary ones.
_PIECES = st.sampled_from([
    "</trace>", "<trace-0123456789abcdef>", "```", "'''", "[/INST]", "\n", "\r\n", "\u2028",
    "\x85", "\u200b", "\u202e", "\ufe0f", "\U000e0041", "⟦3 steps left out⟧", '"', "\\", '"}',
    "\\n", "\\u003c", "{", "}", "END OF DATA", "Human:", "hello ", "中文", "é", "😀", "ﷺ", "＜",
    "\x00",
])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=30), st.lists(_PIECES, max_size=8).map("".join))
LONG = st.builds(lambda piece, times: piece * times, TEXTS, st.integers(0, 150))
JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(TEXTS, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False)).filter(
        lambda value: not isinstance(value, float) or abs(value) != float("inf")
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
_NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


@st.composite
def steps(draw: Any, texts: st.SearchStrategy[str] = TEXTS, most: int = 5) -> list[Step]:
    """Steps of every kind, in an order that no agent would have."""
    found = []
    for index in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(["user", "call", "answer", "observation"]))
        parts: dict[str, Any] = {"index": index, "kind": kind, "speaker": draw(_maybe(TEXTS))}
        parts["conversation"] = draw(st.integers(0, 2))
        parts["thought"] = draw(_maybe(texts))
        if kind == "call":
            parts["call"] = Call(
                id=f"c{index}",
                tool=draw(TEXTS),
                environment=draw(_maybe(TEXTS)),
                arguments=draw(st.dictionaries(TEXTS, JSON, max_size=3)),
                text=draw(_maybe(texts)),
            )
            if draw(st.booleans()):
                ok = draw(st.booleans())
                parts["result"] = Result(
                    ok=ok,
                    content=draw(texts),
                    error=None if ok else draw(_maybe(TEXTS)),
                    truncated=draw(st.booleans()),
                )
        else:
            parts["text"] = draw(texts)
        found.append(Step(**parts))
    return found


@st.composite
def tools(draw: Any) -> list[ToolMetadata]:
    """Tools with odd descriptions."""
    names = draw(st.lists(_NAMES, unique=True, max_size=3))
    return [
        ToolMetadata(
            name=name,
            environment=draw(TEXTS),
            description=draw(TEXTS),
            parameters={"type": "object", "properties": draw(st.dictionaries(TEXTS, JSON))},
            effect="read",
            event={},
            origin="none",
        )
        for name in names
    ]


#: Names that no tool with metadata has.
_OFFERED = st.builds(
    OfferedTool,
    name=TEXTS.map(lambda text: f"{text} "),
    description=_maybe(TEXTS),
    parameters=st.dictionaries(TEXTS, JSON, max_size=2),
)


@st.composite
def traces(draw: Any, texts: st.SearchStrategy[str] = TEXTS, most: int = 5) -> Trajectory:
    """A trace in which only what a model is shown varies."""
    return Trajectory(
        id="t",
        tools=draw(tools()),
        offered=draw(st.lists(_OFFERED, max_size=2, unique_by=lambda tool: tool.name)),
        premises=Premises(
            own=draw(st.lists(TEXTS, max_size=2)),
            internal_domains=draw(st.lists(TEXTS, max_size=2)),
            known=draw(st.dictionaries(TEXTS, st.sampled_from(["self", "external"]), max_size=2)),
            account=draw(_maybe(TEXTS)),
        ),
        system=draw(_maybe(texts)),
        steps=draw(steps(texts, most)),
    )
