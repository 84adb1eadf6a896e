"""What a run of LangSmith was asked and answered, in the shapes that its wrappers give them.

Inputs: `messages` (a list, or a batch of lists), `prompts`, `prompt`, `input`, `question`, or
anything. Outputs: `generations` (a batch of lists with `message` or `text`), `choices`, `message`,
`messages`, one message itself, `output`, `answer`, or anything.
"""

from __future__ import annotations

from typing import Any

from vepa.corpus.importing.draft import as_text
from vepa.corpus.importing.formats.langchain_messages import is_message, message_of, messages_of
from vepa.corpus.importing.messages import Said
from vepa.corpus.importing.report import Notes
from vepa.errors import InputError, Where

__all__ = ["answers_of", "asked_of"]

_ASKED = ("input", "question", "query", "prompt", "text", "user_input")
_ANSWERED = ("output", "answer", "result", "text", "completion", "response", "final_answer")


def asked_of(inputs: Any, place: str, notes: Notes) -> list[Said]:
    """The messages of a run's inputs; of what is none its text, as a user's.

    Raises
    ------
    InputError
        With the place of a message that is none.
    """
    if not inputs:
        return []
    if not isinstance(inputs, dict):
        return _any(inputs, place, "user", notes)
    system = inputs.get("system") or inputs.get("instructions")
    before = [Said("system", as_text(system))] if isinstance(system, str) else []
    if inputs.get("messages") is not None:
        return before + _messages(inputs["messages"], f"{place}.messages", "user", notes)
    prompts = inputs.get("prompts")
    if isinstance(prompts, list):
        if len(prompts) > 1:
            notes.remark("further conversations of a batch left out")
        return [Said("user", as_text(each)) for each in prompts[:1]]
    for name in _ASKED:
        if inputs.get(name) is not None:
            history = inputs.get("chat_history")
            known = _any(history, f"{place}.chat_history", "user", notes) if history else []
            return before + known + _any(inputs[name], f"{place}.{name}", "user", notes)
    return [Said("user", as_text(inputs))]


def answers_of(outputs: Any, place: str, notes: Notes) -> list[Said]:
    """The messages of a run's outputs; of what is none its text, as the model's.

    Raises
    ------
    InputError
        With the place of a message that is none.
    """
    if not outputs:
        return []
    if not isinstance(outputs, dict) or is_message(outputs):
        return _any(outputs, place, "assistant", notes)
    for name, read in (("generations", _generated), ("choices", _chosen)):
        if outputs.get(name) is not None:
            return read(outputs[name], f"{place}.{name}", notes)
    if outputs.get("messages") is not None:
        return _messages(outputs["messages"], f"{place}.messages", "assistant", notes)
    for name in ("message", *_ANSWERED):
        if outputs.get(name) is not None:
            return _any(outputs[name], f"{place}.{name}", "assistant", notes)
    return [Said("assistant", as_text(outputs))]


def _generated(given: Any, place: str, notes: Notes) -> list[Said]:
    """The first generation of the first prompt."""
    if isinstance(given, list) and given and isinstance(given[0], list):
        given, place = given[0], f"{place}.0"
    first = _first(given, place, "further answers of one request left out", notes)
    if first is None:
        return []
    if first.get("message") is not None:
        said = message_of(first["message"], f"{place}.0.message", notes)
        return [said] if said is not None else []
    return [Said("assistant", as_text(first.get("text")))]


def _chosen(given: Any, place: str, notes: Notes) -> list[Said]:
    first = _first(given, place, "further answers of one request left out", notes)
    if first is None:
        return []
    if first.get("message") is None:
        return [Said("assistant", as_text(first.get("text")))]
    said = message_of(first["message"], f"{place}.0.message", notes)
    return [said] if said is not None else []


def _first(given: Any, place: str, remark: str, notes: Notes) -> dict[str, Any] | None:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise InputError("a list of answers belongs here", where=Where(field=place))
    if len(given) > 1:
        notes.remark(remark)
    return given[0] if given else None


def _messages(given: Any, place: str, role: Any, notes: Notes) -> list[Said]:
    if is_message(given) or isinstance(given, str):
        return _any(given, place, role, notes)
    return messages_of(given, place, notes)


def _any(given: Any, place: str, role: Any, notes: Notes) -> list[Said]:
    """Messages, one message, or a text of the role."""
    if isinstance(given, list) and given and all(map(_may_be_message, given)):
        return messages_of(given, place, notes)
    if is_message(given):
        said = message_of(given, place, notes)
        return [said] if said is not None else []
    return [Said(role, as_text(given))]


def _may_be_message(given: Any) -> bool:
    """A message of any spelling, or a batch; what looks like a broken one counts, to be told."""
    if isinstance(given, list):
        return bool(given)
    return isinstance(given, dict) and bool({"role", "lc", "content", "data"} & set(given))
