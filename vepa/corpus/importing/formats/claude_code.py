"""Sessions of Claude Code: the files under `~/.claude/projects`, and the program's `stream-json`.

- A line is an event. `user` and `assistant` have a `message` of the Anthropic Messages API, a
  `uuid` and a `parentUuid`; the session is `sessionId` (in `stream-json` output `session_id`). An
  answer is written one block a line, under one `message.id`; results of tools are in `user` lines.
- Agents that the session started have `isSidechain` and, in newer files, an `agentId` (files
  `agent-ID.jsonl` beside the session's); in `stream-json` they name the call they work for as
  `parent_tool_use_id`. Each is a trajectory of its own.
- `isMeta`, `isCompactSummary` and `isApiErrorMessage` mark words that neither the user nor the
  model wrote: they become observations.
- Of `system` lines the `init` of `stream-json` names the model and the tools. The other lines
  (`summary`, `file-history-snapshot`, `queue-operation`, `progress`, …) are counted and left out.

There is no published description; lines of other types come and go with the versions. Turns that a
user took back stay where they stand in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.exchange import annotate
from vepa.corpus.importing.format import GroupedFormat, checked, word
from vepa.corpus.importing.formats.anthropic_blocks import Blocks, text_of
from vepa.corpus.importing.report import Foreign, Notes, keys
from vepa.errors import InputError, Where

__all__ = ["ClaudeCode"]

#: Types of lines without a session's id, and a key that each has.
_BESIDE = {"summary": "leafUuid", "file-history-snapshot": "snapshot"}
_SESSION = ("sessionId", "session_id")
#: The model's name where the program itself answers.
_SYNTHETIC = "<synthetic>"


class Message(Foreign):
    """A message of the API, or a block of one."""

    unused: ClassVar[frozenset[str]] = keys(
        "type stop_reason stop_sequence stop_details usage container context_management diagnostics"
    )

    role: str
    content: Any
    id: str | None = None
    model: str | None = None


class Line(Foreign):
    """An event of a session with a message."""

    unused: ClassVar[frozenset[str]] = keys(
        "type parentUuid timestamp userType requestId toolUseResult tool_use_result toolUseID "
        "slug thinkingMetadata todos imagePasteIds permissionMode sourceToolAssistantUUID "
        "sourceToolUseID isVisibleInTranscriptOnly logicalParentUuid entrypoint promptId error "
        "apiErrorStatus teamName agentName origin isReplay isSynthetic"
    )

    message: Message
    uuid: str | None = None
    session: str | None = Field(default=None, alias="sessionId")
    session_id: str | None = None
    sidechain: bool | None = Field(default=None, alias="isSidechain")
    agent: str | None = Field(default=None, alias="agentId")
    parent_tool_use_id: str | None = None
    by_program: bool | None = Field(default=None, alias="isMeta")
    compacted: bool | None = Field(default=None, alias="isCompactSummary")
    api_error: bool | None = Field(default=None, alias="isApiErrorMessage")
    cwd: str | None = None
    branch: str | None = Field(default=None, alias="gitBranch")
    version: str | None = None


class ClaudeCode(GroupedFormat):
    """Lines of one session (and one agent in it) are a trajectory."""

    name = "claude-code"
    title = "Claude Code sessions, and its stream-json output"

    def recognise(self, data: Any) -> bool:
        """A message in an event of a session, or one of the lines that stand before it."""
        kind = word(data, "type")
        if kind is None:
            return False
        if kind in _BESIDE:
            return _BESIDE[kind] in data
        if not any(word(data, key) for key in _SESSION):
            return False
        if kind in ("user", "assistant"):
            return isinstance(data.get("message"), dict)
        return kind in ("system", "result", "queue-operation", "progress", "attachment")

    def pieces(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any]]:
        """The line with a message, under its session and agent; other lines are counted."""
        kind = word(data, "type")
        if kind is None:
            raise InputError("an event has a type", where=Where(field="type"))
        session = next((found for key in _SESSION if (found := word(data, key))), None)
        if kind == "system" and data.get("subtype") == "init" and session is not None:
            yield session, data
            return
        if kind not in ("user", "assistant"):
            notes.remark(f"line of type {kind} left out")
            return
        if session is None:
            raise InputError(
                "this key is missing",
                where=Where(field="sessionId"),
                remedy="a line of a session names it as sessionId or session_id",
            )
        line = checked(Line, data)
        if line.message.role != kind:
            raise InputError(
                f"{kind!r} belongs here, as the type of the line says, not {line.message.role!r}",
                where=Where(field="message.role"),
            )
        # Read once for its faults, so that each is told of its own line.
        _add(Blocks(Draft(Notes())), Draft(Notes()), line, line.message.content)
        yield _agent_key(session, line), data

    def join(self, key: str, pieces: Sequence[Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory, unless there is only the `init` of a session."""
        draft = Draft(notes, id=key)
        blocks = Blocks(draft)
        lines = []
        for piece in pieces:
            if piece["type"] == "system":
                _init(draft, piece)
            else:
                lines.append(checked(Line, piece, notes))
        seen: set[str] = set()
        for line, content in _whole_messages(lines):
            if line.uuid is not None and line.uuid in seen:
                notes.remark("line that occurs twice left out")
                continue
            seen.add(line.uuid or "")
            if line.message.model != _SYNTHETIC:
                draft.model = draft.model or line.message.model
            for name in ("cwd", "branch", "version", "parent_tool_use_id"):
                if name not in draft.meta:
                    annotate(draft, name, getattr(line, name))
            _add(blocks, draft, line, content)
        blocks.close()
        if len(draft):
            yield draft


def _agent_key(session: str, line: Line) -> str:
    if line.parent_tool_use_id:
        return f"{session}/{line.parent_tool_use_id}"
    if line.sidechain:
        return f"{session}/{line.agent or 'sidechain'}"
    return session


def _init(draft: Draft, data: Mapping[str, Any]) -> None:
    draft.model = word(data, "model")
    annotate(draft, "cwd", word(data, "cwd"))
    tools = data.get("tools")
    for name in tools if isinstance(tools, list) else []:
        if isinstance(name, str):
            draft.offer(name)


def _whole_messages(lines: Sequence[Line]) -> Iterator[tuple[Line, Any]]:
    """Answers of one block a line as one answer, where no other line stands between."""
    held: tuple[Line, list[Any]] | None = None
    uuids: set[str] = set()
    for line in lines:
        parts = line.message.content
        again = line.uuid is not None and line.uuid in uuids
        uuids.add(line.uuid or "")
        if line.message.id is None or not isinstance(parts, list) or again:
            if held:
                yield held
            held = None
            yield line, parts
        elif held and held[0].message.id == line.message.id:
            held[1].extend(parts)
        else:
            if held:
                yield held
            held = (line, list(parts))
    if held:
        yield held


def _add(blocks: Blocks, draft: Draft, line: Line, content: Any) -> None:
    place = "message.content"
    if line.api_error:
        draft.observe(text_of(content, draft, place))
    elif line.message.role == "assistant":
        blocks.assistant(content, place)
    else:
        blocks.close()
        blocks.user(content, place, observed=bool(line.by_program or line.compacted))
