"""Content blocks of the Anthropic Messages API, and how each becomes steps.

- `text`; `thinking` (with a `signature`), `redacted_thinking` (a cipher).
- `tool_use` (`id`, `name`, `input`) in an assistant's message, `tool_result` (`tool_use_id`,
  `content` as a text or blocks, `is_error`) in the user's message after it.
- Tools that the API carries out itself: `server_tool_use` and `mcp_tool_use` (with a
  `server_name`), answered in the same message by `NAME_tool_result` with `content`, which may be an
  object with an `error_code`.
- `image`, `document`, `search_result`, `container_upload`: what is no text stands in brackets.

Words of an assistant that a call follows in the same message are a thought of that call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.report import Foreign, keys
from vepa.errors import InputError, Where

__all__ = ["BLOCK_TYPES", "Blocks", "text_of"]

#: Types that tell this API from others; `text`, `image` and `thinking` are not among them.
BLOCK_TYPES = keys(
    "tool_use tool_result server_tool_use mcp_tool_use mcp_tool_result redacted_thinking "
    "container_upload web_search_tool_result web_fetch_tool_result code_execution_tool_result "
    "bash_code_execution_tool_result text_editor_code_execution_tool_result "
    "tool_search_tool_result"
)
#: Results whose content is blocks; that of the others is a list of hits.
_WITH_BLOCKS = ("tool_result", "mcp_tool_result")


class Block(Foreign):
    """What all blocks may say."""

    unused: ClassVar[frozenset[str]] = keys("type cache_control citations caller toolset_name")


class TextBlock(Block):
    """Words."""

    text: str


class ThinkingBlock(Block):
    """What the model thought."""

    unused: ClassVar[frozenset[str]] = Block.unused | keys("signature")

    thinking: str


class ToolUse(Block):
    """A call."""

    id: str
    name: str
    input: Any = None
    server_name: str | None = None


class ToolResult(Block):
    """What a call gave back."""

    tool_use_id: str
    content: str | list[dict[str, Any]] | dict[str, Any] | None = None
    is_error: bool | None = None


class Blocks:
    """Adds messages of one role to a draft.

    Parameters
    ----------
    draft
        Takes the steps.
    speaker
        Of all steps that are added, where several agents take part.
    """

    def __init__(self, draft: Draft, speaker: str | None = None):
        self._draft = draft
        self._speaker = speaker
        self._thoughts: list[str] = []
        self._words: list[str] = []

    def assistant(self, content: Any, place: str) -> None:
        """A message of the assistant; thoughts at its end wait for the next one, see `close`.

        Raises
        ------
        InputError
            With the field of the first fault.
        """
        readers: dict[str, Callable[[Mapping[str, Any], str], None]] = {
            "text": self._text,
            "thinking": self._thinking,
            "redacted_thinking": self._redacted,
            "tool_use": self._call,
            "server_tool_use": self._call,
            "mcp_tool_use": self._call,
        }
        if isinstance(content, str) or not content:
            self._words.append(as_text(content or ""))
        else:
            for block, kind, at in _blocks(content, place):
                if kind.endswith("tool_result"):
                    self._answer()
                    self._result(block, at)
                elif kind in readers:
                    readers[kind](block, at)
                else:
                    self._words.append(_shown(block, kind, self._draft, at))
        self._answer()

    def user(self, content: Any, place: str, *, observed: bool = False) -> None:
        """A message of the user: results of calls, and words.

        Parameters
        ----------
        content, place
            A text or blocks, and where it stands.
        observed
            Whether the words are not the user's but the program's around the agent.
        """
        if isinstance(content, str) or not content:
            self._said(as_text(content or ""), observed)
            return
        words: list[str] = []
        for block, kind, at in _blocks(content, place):
            if kind.endswith("tool_result"):
                if words:
                    self._said("\n".join(words), observed)
                    words = []
                self._result(block, at)
            else:
                words.append(_shown(block, kind, self._draft, at))
        if words:
            self._said("\n".join(words), observed)

    def close(self) -> None:
        """Keep thoughts that no step followed."""
        if self._thoughts:
            self._draft.answer("", thought=self._thought(), speaker=self._speaker)

    def _said(self, text: str, observed: bool) -> None:
        if observed:
            self._draft.observe(text, speaker=self._speaker)
        else:
            self._draft.user(text)

    def _thought(self) -> str | None:
        thought, self._thoughts = "\n".join(self._thoughts), []
        return thought or None

    def _answer(self) -> None:
        if self._words:
            text, self._words = "\n".join(self._words), []
            self._draft.answer(text, thought=self._thought(), speaker=self._speaker)

    # -- blocks ---------------------------------------------------------------------------------

    def _text(self, data: Mapping[str, Any], place: str) -> None:
        self._words.append(checked(TextBlock, data, self._draft.notes, f"{place}.").text)

    def _thinking(self, data: Mapping[str, Any], place: str) -> None:
        self._answer()
        block = checked(ThinkingBlock, data, self._draft.notes, f"{place}.")
        if block.thinking:
            self._thoughts.append(block.thinking)

    def _redacted(self, data: Mapping[str, Any], place: str) -> None:
        self._draft.notes.remark("redacted thinking left out")

    def _call(self, data: Mapping[str, Any], place: str) -> None:
        block = checked(ToolUse, data, self._draft.notes, f"{place}.")
        self._thoughts += filter(None, self._words)
        self._words = []
        name = f"{block.server_name}.{block.name}" if block.server_name else block.name
        self._draft.call(
            name, block.input, id=block.id, thought=self._thought(), speaker=self._speaker
        )

    def _result(self, data: Mapping[str, Any], place: str) -> None:
        block = checked(ToolResult, data, self._draft.notes, f"{place}.")
        content, error = block.content, None
        if isinstance(content, dict):
            error = as_text(content.get("error_code")) or None
            text = as_text(error or {key: content[key] for key in content if key != "type"})
        elif isinstance(content, list) and data.get("type") not in (
            "tool_result",
            "mcp_tool_result",
        ):
            text = as_text([_readable(each) for each in content])
        else:
            text = text_of(content, self._draft, f"{place}.content")
        ok = not block.is_error and error is None
        self._draft.result(text, id=block.tool_use_id, ok=ok, error=error)


def _readable(block: Mapping[str, Any]) -> dict[str, Any]:
    """A hit of a search without its ciphers."""
    return {key: value for key, value in block.items() if not key.startswith("encrypted_")}


def _blocks(content: Any, place: str) -> list[tuple[Mapping[str, Any], str, str]]:
    if not isinstance(content, list):
        raise InputError("a text or a list of blocks belongs here", where=Where(field=place))
    found: list[tuple[Mapping[str, Any], str, str]] = []
    for at, block in enumerate(content):
        if not isinstance(block, dict):
            raise InputError("a mapping belongs here", where=Where(field=f"{place}.{at}"))
        if not isinstance(block.get("type"), str):
            raise InputError("this key is missing", where=Where(field=f"{place}.{at}.type"))
        found.append((block, block["type"], f"{place}.{at}"))
    return found


def text_of(content: Any, draft: Draft, place: str) -> str:
    """Text of a message's content; images and the like stand in brackets and are remarked.

    Raises
    ------
    InputError
        With the field of the first fault.
    """
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_shown(block, kind, draft, at) for block, kind, at in _blocks(content, place))


def _shown(block: Mapping[str, Any], kind: str, draft: Draft, place: str) -> str:
    if kind == "text":
        return checked(TextBlock, block, draft.notes, f"{place}.").text
    source = block.get("source")
    title = block.get("title")
    head = f"{title}\n" if isinstance(title, str) and title else ""
    if kind == "search_result":
        return f"{head}{as_text(source)}\n{text_of(block.get('content'), draft, place)}"
    if isinstance(source, dict):
        if source.get("type") == "text":
            return head + as_text(source.get("data"))
        if source.get("type") == "content":
            return head + text_of(source.get("content"), draft, f"{place}.source.content")
    draft.notes.remark(f"{kind} left out")
    named = title or (
        source.get("url") or source.get("file_id") if isinstance(source, dict) else ""
    )
    return f"[{kind}: {named}]" if named else f"[{kind}]"
