"""Streamed answers, put together to what an unstreamed one would be."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from vepa.files import utf8_text
from vepa.llm.messages import Shape, ToolCall
from vepa.llm.wire import Answer, CutShortError, Mode, finished

__all__ = ["assembled", "let_go"]


class _Watched:
    """The provider's own chunks, on their way into litellm: it drops the pieces of a refusal."""

    def __init__(self, chunks: Any):
        self._chunks = chunks
        self.refusals: list[str] = []

    def __iter__(self) -> _Watched:
        return self

    def __next__(self) -> Any:
        chunk = next(self._chunks)
        for choice in getattr(chunk, "choices", None) or ():
            piece = getattr(getattr(choice, "delta", None), "refusal", None)
            if isinstance(piece, str):
                self.refusals.append(piece)
        return chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)


def assembled(stream: Any, shape: Shape | None, mode: Mode, given_up: threading.Event) -> Answer:
    """A streamed response, put together to what `read_response` would give.

    Parameters
    ----------
    stream
        litellm's.
    shape, mode
        The structured answer that was asked for, and how.
    given_up
        Set when nobody waits any more.

    Raises
    ------
    CutShortError
        When nobody waits any more, or the stream ends without a reason from the provider.
    """
    watched: _Watched | None = None
    if hasattr(getattr(stream, "completion_stream", None), "__next__"):
        watched = stream.completion_stream = _Watched(stream.completion_stream)
    answer = Answer()
    texts: list[str] = []
    calls: dict[int, dict[str, str]] = {}
    reason: str | None = None
    for chunk in stream:
        if given_up.is_set():
            raise CutShortError
        answer.model = answer.model or str(getattr(chunk, "model", "") or "")
        answer.usage = getattr(chunk, "usage", None) or answer.usage
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            texts.append(getattr(choice.delta, "content", None) or "")
            for index, part in _numbered(getattr(choice.delta, "tool_calls", None) or ()):
                call = calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
                call["id"] = call["id"] or part.id or ""
                call["name"] += part.function.name or ""
                call["arguments"] += part.function.arguments or ""
    # litellm makes up a reason when a stream just ends; only what it received counts.
    if getattr(stream, "received_finish_reason", reason) is None or reason is None:
        raise CutShortError
    refusal = "".join(watched.refusals) if watched is not None else ""
    answer.text = "".join(texts) or refusal
    answer.calls = [
        ToolCall(
            id=call["id"] or f"call_{index}",
            name=utf8_text(call["name"]),
            arguments=utf8_text(call["arguments"]),
        )
        for index, call in sorted(calls.items())
    ]
    return finished(answer, reason, bool(refusal), shape, mode)


def let_go(stream: Any) -> None:
    """Close the response behind a stream, read to its end or not.

    Left to the garbage collector it may be closed in the middle of another request, by the thread
    that holds the lock of the pool of connections: all later requests would wait for ever.
    """
    source = getattr(stream, "completion_stream", None)
    for name in ("_response", "response"):  # Anthropic's chunks; the client of OpenAI
        close = getattr(getattr(source, name, None), "close", None)
        if callable(close):
            close()


def _numbered(parts: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    for position, part in enumerate(parts):
        yield (part.index if part.index is not None else position), part
