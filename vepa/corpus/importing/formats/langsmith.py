"""Runs of LangSmith: what its client, its API and its bulk export write.

A run has `id`, `name`, `run_type` (`llm`, `chain`, `tool`, `retriever`, ...), `inputs`, `outputs`,
`error`, times, `extra` (with `metadata` and `invocation_params`), `tags`, `feedback_stats`; its
place among the others is in `trace_id`, `parent_run_id` and `dotted_order` (start times and ids
from the root down, so its order is that of a walk through the tree). They come flat, one a line or
under `runs`, or nested in `child_runs`. In bulk exports the objects are JSON texts. Batches of the
client hold a run twice: as it began and as it ended.

Of one trace the calls of models are told in order, each with what is new in it; runs of tools and
retrievers give results. Without a call of a model the root's inputs and outputs are the talk.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.format import GroupedFormat, within
from vepa.corpus.importing.formats.langchain_messages import is_message, message_of
from vepa.corpus.importing.formats.langsmith_runs import Run, merged, runs_in, took
from vepa.corpus.importing.formats.langsmith_talk import answers_of, asked_of
from vepa.corpus.importing.joining import Joined
from vepa.corpus.importing.messages import Asked, Given, Said
from vepa.corpus.importing.report import Notes

__all__ = ["LangSmith"]

_ERROR = re.compile(r"([A-Za-z_][\w.]*?)\s*[(:]")
_AGENTS = ("lc_agent_name", "agent_name", "ls_agent_name")
_THREADS = ("thread_id", "session_id", "conversation_id")
_TOOLS = ("tool", "retriever")
#: No longer text of a tool's input is looked at as Python.
_LONGEST_LITERAL = 100_000


class LangSmith(GroupedFormat):
    """Pieces are runs; those of one trace are a trajectory."""

    name = "langsmith"
    title = "LangSmith run exports"
    inside = ("runs",)

    def recognise(self, data: Any) -> bool:
        """A run, or an object that holds some."""
        if not isinstance(data, dict):
            return False
        if isinstance(data.get("runs"), list):
            return bool(data["runs"]) and self.recognise(data["runs"][0])
        places = {"trace_id", "dotted_order", "parent_run_id", "child_runs", "session_id"}
        return isinstance(data.get("run_type"), str) and "id" in data and bool(places & set(data))

    def pieces(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any]]:
        """All runs of a record under the id of their trace."""
        if isinstance(data, dict) and isinstance(data.get("runs"), list):
            trace = data.get("trace_id")
            for at, each in enumerate(data["runs"]):
                yield from runs_in(each, trace, None, f"runs.{at}.", notes)
        else:
            yield from runs_in(data, head.get("trace_id"), None, "", notes)

    def join(self, key: str, pieces: Sequence[Any], notes: Notes) -> Iterator[Draft]:
        """The trajectory of one trace."""
        runs = merged([Run.model_validate(each) for each in pieces])
        root = next(run for run in runs.values() if run.parent_run_id not in runs)
        joined = Joined(notes)
        draft = Draft(notes, id=key)
        draft.meta = _meta(root, runs)
        # Without a call of a model the root has the talk: asked before its tools, answered after.
        models = any(run.run_type == "llm" and run.inputs for run in runs.values())
        with within(f"runs.{root.id}"):
            talk = ([], []) if models or root.run_type in _TOOLS else _talk(root, notes)
        joined.chat(talk[0], [])
        for run in runs.values():
            with within(f"runs.{run.id}"):
                _tell(joined, draft, run, runs)
        joined.chat(*talk)
        joined.write(draft)
        yield draft


# -- one run ---------------------------------------------------------------------------------------


def _tell(joined: Joined, draft: Draft, run: Run, runs: Mapping[str, Run]) -> None:
    agent, asked_by = _agents(run, runs)
    if run.run_type == "llm":
        _offer(joined, draft, run)
        inputs, outputs = _talk(run, draft.notes)
        if not outputs and run.error:
            draft.notes.remark("call of a model that failed")
        joined.chat(inputs, outputs, agent=agent, asked_by=asked_by, seconds=took(run))
    elif run.run_type in _TOOLS:
        joined.tool(*_tool(run, draft.notes), agent=agent)


def _talk(run: Run, notes: Notes) -> tuple[list[Said], list[Said]]:
    return asked_of(run.inputs, "inputs", notes), answers_of(run.outputs, "outputs", notes)


def _agents(run: Run, runs: Mapping[str, Run]) -> tuple[str | None, str | None]:
    """The agent of a run, and the one that called it."""
    agent, seen = _agent_of(run), {run.id}
    at = runs.get(run.parent_run_id or "")
    while at is not None and at.id not in seen:
        seen.add(at.id)
        above = _agent_of(at)
        if agent is None:
            agent = above
        elif above is not None and above != agent:
            return agent, above
        at = runs.get(at.parent_run_id or "")
    return agent, None


def _agent_of(run: Run) -> str | None:
    metadata = _metadata(run)
    return next((metadata[name] for name in _AGENTS if isinstance(metadata.get(name), str)), None)


def _metadata(run: Run) -> Mapping[str, Any]:
    return _mapping((run.extra or {}).get("metadata"))


def _offer(joined: Joined, draft: Draft, run: Run) -> None:
    """The model and the tools that it was given."""
    settings = _mapping((run.extra or {}).get("invocation_params"))
    inputs = _mapping(run.inputs)
    if draft.model is None:
        named = (
            _metadata(run).get("ls_model_name"),
            settings.get("model"),
            settings.get("model_name"),
            inputs.get("model"),
        )
        draft.model = next((name for name in named if isinstance(name, str) and name), None)
    for tools in (settings.get("tools"), settings.get("functions"), inputs.get("tools")):
        for tool in tools if isinstance(tools, list) else []:
            inner = tool.get("function", tool) if isinstance(tool, dict) else {}
            name = inner.get("name") if isinstance(inner, dict) else None
            if isinstance(name, str):
                shape = inner.get("parameters", inner.get("input_schema"))
                joined.offer(name, inner.get("description"), shape)


def _tool(run: Run, notes: Notes) -> tuple[Asked, Given | None]:
    """A run of a tool as a call and its result."""
    own: str | None = None
    seconds = took(run)
    name = run.name or run.run_type or "tool"
    output = (
        run.outputs.get("output", run.outputs) if isinstance(run.outputs, dict) else run.outputs
    )
    given = None
    if is_message(output):
        said = message_of(output, "outputs.output", notes)
        if said is not None and said.results:
            shown = said.results[0]
            own = shown.id
            given = Given(shown.content, own, name, shown.ok, shown.error, seconds)
        elif said is not None:
            given = Given(said.text, None, name, seconds=seconds)
    elif run.outputs is not None:
        given = Given(_documents(output), None, name, seconds=seconds)
    if run.error:
        found = _ERROR.match(run.error)
        kind = found[1] if found else "error"
        given = Given(run.error, own, name, False, kind, seconds)
    return Asked(name, _arguments(run.inputs), own), given


def _documents(output: Any) -> str:
    """What a tool or a retriever gave, its documents as their texts."""
    if isinstance(output, dict) and isinstance(output.get("documents"), list):
        texts = [
            each.get("page_content", _mapping(each.get("kwargs")).get("page_content"))
            for each in output["documents"]
            if isinstance(each, dict)
        ]
        if texts and all(isinstance(text, str) for text in texts):
            return "\n\n".join(map(str, texts))
    return as_text(output)


def _mapping(data: Any) -> Mapping[str, Any]:
    return data if isinstance(data, dict) else {}


def _arguments(inputs: Any) -> Any:
    """Arguments of a tool; LangChain writes them down as the text of a Python mapping."""
    if not isinstance(inputs, dict) or set(inputs) != {"input"}:
        return inputs
    text = inputs["input"]
    if not isinstance(text, str):
        return text if isinstance(text, dict) else inputs
    for read in (json.loads, ast.literal_eval):
        if not text.lstrip().startswith("{") or len(text) > _LONGEST_LITERAL:
            break
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, dict) and all(isinstance(name, str) for name in found):
            return found
    return inputs


# -- beside the talk -------------------------------------------------------------------------------


def _meta(root: Run, runs: Mapping[str, Run]) -> dict[str, Any]:
    metadata = dict(_metadata(root))
    feedback = {run.id: run.feedback_stats for run in runs.values() if run.feedback_stats}
    errors = {run.id: run.error for run in runs.values() if run.error}
    found: dict[str, Any] = {
        "name": root.name,
        "thread": next((metadata[name] for name in _THREADS if name in metadata), None),
        "tags": root.tags,
        "metadata": metadata,
        "feedback": feedback,
        "errors": errors,
    }
    return {name: value for name, value in found.items() if value}
