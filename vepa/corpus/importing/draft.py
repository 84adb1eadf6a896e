"""A trajectory in the making: what every importer says, in the order in which it happened."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from vepa.corpus.importing.record import whole_text
from vepa.corpus.importing.report import Notes
from vepa.corpus.trajectory import Trajectory

__all__ = ["Draft", "as_text"]


class Draft:
    """Collects steps, pairs results with their calls, and becomes a trajectory.

    Parameters
    ----------
    notes
        Takes what does not fit.
    id
        The source's own name for it; None gives it the number of its record.

    Attributes
    ----------
    model, system, label, marked, meta
        As of a trajectory; `marked` is the index of a step.
    conversation
        Number of the conversation that the next steps belong to, where there are several.
    """

    def __init__(self, notes: Notes, *, id: str | None = None):
        self.notes = notes
        self.id = id
        self.model: str | None = None
        self.system: str | None = None
        self.label: Literal["allow", "refuse"] | None = None
        self.marked: int | None = None
        self.meta: dict[str, Any] = {}
        self.conversation: int | None = None
        self._steps: list[dict[str, Any]] = []
        self._offered: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, int] = {}
        self._ids: set[str] = set()
        self._waiting: list[int] = []

    def __len__(self) -> int:
        """Steps so far."""
        return len(self._steps)

    # -- what was offered and told beforehand ---------------------------------------------------

    def offer(self, name: str, description: str | None = None, parameters: Any = None) -> None:
        """A tool that the agent could call; the first one of a name counts."""
        if name in self._offered:
            self.notes.remark("tool offered twice")
            return
        known = parameters if isinstance(parameters, dict) else {}
        self._offered[name] = {"name": name, "description": description, "parameters": known}

    def instruct(self, text: str) -> None:
        """System text; several are joined by an empty line."""
        if text:
            self.system = text if self.system is None else f"{self.system}\n\n{text}"

    # -- turns ----------------------------------------------------------------------------------

    def user(self, text: str, **more: Any) -> int:
        """A turn of the user; `more` are fields of the step (speaker, written, seconds, cost)."""
        return self._add("user", text=text, **more)

    def answer(self, text: str, **more: Any) -> int:
        """Words of an agent; `more` as of `user`, and `thought`."""
        return self._add("answer", text=text, **more)

    def observe(self, text: str, **more: Any) -> int:
        """Words of the environment that belong to no call."""
        return self._add("observation", text=text, **more)

    def call(self, tool: str, arguments: Any, *, id: str | None = None, **more: Any) -> int:
        """A tool call; its result comes later.

        Parameters
        ----------
        tool
            Its name.
        arguments
            A mapping, or the text in which the model wrote one (kept as it is where it is none).
        id
            The source's id of the call, by which the result names it.
        more
            Fields of the step: `thought`, `speaker`, `written`, `seconds`, `cost`.
        """
        known, text = _arguments(arguments)
        at = len(self._steps)
        own = id if id and id not in self._ids else self._unused(id or f"call-{at}")
        if id and own != id:
            self.notes.remark("call id used twice")
        self._calls[id or own] = at
        self._ids.add(own)
        self._waiting.append(at)
        call = {"id": own, "tool": tool, "arguments": known, "text": text}
        return self._add("call", call=call, **more)

    def result(
        self,
        content: str,
        *,
        id: str | None = None,
        tool: str | None = None,
        ok: bool = True,
        error: str | None = None,
        raw: str | None = None,
        seconds: float | None = None,
        **more: Any,
    ) -> int:
        """What a call gave back: of the call `id`, else of the oldest open call (of `tool`).

        A result without a call becomes an observation, and is remarked. Returns the step's index.
        """
        at = self._open(id, tool)
        if at is None:
            self.notes.remark("result without a call")
            return self.observe(content, speaker=tool, **more)
        if "result" in self._steps[at]:
            self.notes.remark("second result of a call")
            return self.observe(content, speaker=tool, **more)
        self._steps[at]["result"] = {
            "ok": ok,
            "content": content,
            "error": None if ok else error,
            "raw": raw,
            "seconds": seconds,
        }
        if at in self._waiting:
            self._waiting.remove(at)
        return at

    def think(self, at: int, thought: str) -> None:
        """Add a thought to a step."""
        before = self._steps[at].get("thought")
        self._steps[at]["thought"] = thought if not before else f"{before}\n{thought}"

    # -- the end --------------------------------------------------------------------------------

    def finish(self, id: str, format: str) -> Trajectory:
        """The trajectory; all of it is checked here, in one go.

        Raises
        ------
        pydantic.ValidationError
            When something does not fit the record; the importer tells it with its place.
        """
        return Trajectory.model_validate(
            {
                "id": id,
                "model": self.model,
                "system": self.system,
                "offered": list(self._offered.values()),
                "steps": self._steps,
                "label": self.label,
                "marked": self.marked,
                "format": format,
                "meta": self.meta,
            }
        )

    def _add(self, kind: str, **parts: Any) -> int:
        at = len(self._steps)
        step = {"index": at, "kind": kind, **parts}
        if self.conversation is not None:
            step["conversation"] = self.conversation
        self._steps.append(step)
        return at

    def _open(self, id: str | None, tool: str | None) -> int | None:
        if id:
            return self._calls.get(id)
        for at in self._waiting:
            if tool is None or self._steps[at]["call"]["tool"] == tool:
                return at
        return None

    def _unused(self, wanted: str) -> str:
        number = 2
        name = wanted
        while name in self._ids:
            name, number = f"{wanted}~{number}", number + 1
        return name


def _arguments(given: Any) -> tuple[dict[str, Any], str | None]:
    """Arguments as a mapping, or the text that is none."""
    if given is None or given == "":
        return {}, None
    if isinstance(given, str):
        try:
            data = _DECODER.decode(whole_text(given))
        except (ValueError, RecursionError):
            return {}, given
        return (data, None) if isinstance(data, dict) else ({}, given)
    if isinstance(given, Mapping):
        return dict(given), None
    return {}, _spelled(given)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _number(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else float(_no_constant(digits))


#: One for all calls: to make one takes longer than to read most arguments.
_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_number)


def as_text(value: Any) -> str:
    """A value as text: a text as it is, nothing as empty, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else _spelled(value)


_spelled = json.JSONEncoder(ensure_ascii=False).encode
