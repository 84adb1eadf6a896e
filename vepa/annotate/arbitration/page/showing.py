"""A case as the page shows it: the steps, what was offered and what was known, nobody's opinion.

It is what the annotators were shown: no source of a word, no event, no verdict of a policy. Those
come from a parser, and a label that follows a parser's marks could not judge it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vepa.annotate.arbitration.page.breaking import Text, text_of
from vepa.annotate.arbitration.records import Case
from vepa.corpus.trajectory import Result, Step, Trajectory
from vepa.files import canonical_json
from vepa.parsing.llm.lines import offered_tools
from vepa.viewer.pieces import name_of_path
from vepa.viewer.signs import visible
from vepa.viewer.view import conversation_of

__all__ = ["ShownCase", "ShownResult", "ShownStep", "show_case"]

#: A shorter result of an earlier step stands open.
_OPEN_SIGNS = 240
#: The judged step's own.
_OPEN_JUDGED_SIGNS = 3_000
_GLIMPSE = 100


@dataclass(frozen=True, slots=True)
class ShownResult:
    """What a call gave back; `glimpse` is how it begins, `open` whether it is unfolded."""

    ok: bool
    error: Text | None
    truncated: bool
    text: Text | None
    glimpse: str
    open: bool


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step for a template.

    Attributes
    ----------
    index, kind
        As recorded.
    judged
        Whether it is the one to be judged.
    tool, where
        Of a call.
    speaker
        Who spoke.
    opens
        Name of the conversation that begins with it.
    thought, said, written
        Its texts; `written` is what stands for arguments that are no JSON object.
    arguments
        Path and value of each argument.
    result
        None where none was shown.
    """

    index: int
    kind: str
    judged: bool
    tool: str
    where: str
    speaker: str
    opens: str
    thought: Text | None
    said: Text | None
    written: Text | None
    arguments: Sequence[tuple[str, Text]]
    result: ShownResult | None


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case for a template.

    Attributes
    ----------
    item
        Its content hash.
    judged
        Index of the judged step.
    system
        What the operator told the agent.
    tools
        Name, service, description of each tool, and its parameters.
    known
        What is known of the user's surroundings: name, values.
    steps
        In order.
    """

    item: str
    judged: int
    system: Text | None
    tools: Sequence[tuple[str, str, str, Text]]
    known: Sequence[tuple[str, str]]
    steps: Sequence[ShownStep]


def show_case(case: Case) -> ShownCase:
    """A case for a template."""
    shown = case.shown
    return ShownCase(
        item=case.item,
        judged=case.step,
        system=_text(shown.system),
        tools=[_tool(tool) for tool in offered_tools(shown)],
        known=list(_known(shown)),
        steps=list(_steps(shown, case.step)),
    )


def _steps(shown: Trajectory, judged: int) -> Iterator[ShownStep]:
    offered = {tool.name for tool in offered_tools(shown)}
    before = shown.steps[0].conversation if shown.steps else None
    for step in shown.steps:
        opens = "" if step.conversation == before else conversation_of(step)
        before = step.conversation
        yield _step(step, step.index == judged, offered, opens)


def _step(step: Step, judged: bool, offered: set[str], opens: str) -> ShownStep:
    call = step.call
    where = ""
    if call is not None:
        known = not offered or call.tool in offered
        where = (call.environment or "") if known else "no such tool was offered"
    return ShownStep(
        index=step.index,
        kind=step.kind,
        judged=judged,
        tool=visible(call.tool) if call else "",
        where=visible(where),
        speaker=visible(step.speaker or ""),
        opens=opens,
        thought=_text(step.thought),
        said=_text(step.text),
        written=_text(call.text if call else None),
        arguments=[
            (visible(name_of_path(path)), text_of(value, json_too=True))
            for path, value in _leaves(call.arguments if call else {})
        ],
        result=None if step.result is None else _result(step.result, judged),
    )


def _result(result: Result, judged: bool) -> ShownResult:
    content = result.content
    flat = " ".join(content[: 4 * _GLIMPSE].split())
    cut = len(flat) > _GLIMPSE or len(content) > 4 * _GLIMPSE
    return ShownResult(
        ok=result.ok,
        error=_text(result.error),
        truncated=result.truncated,
        text=text_of(content, json_too=True) if content else None,
        glimpse=visible(flat[:_GLIMPSE]) + ("…" if cut else ""),
        open=len(content) <= (_OPEN_JUDGED_SIGNS if judged else _OPEN_SIGNS),
    )


def _leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Path and text of every value; an empty list or object is one as well."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), arguments)]
    while stack:
        path, value = stack.pop()
        children: list[tuple[str | int, Any]] = []
        if isinstance(value, Mapping):
            children = list(value.items())
        elif isinstance(value, list):
            children = list(enumerate(value))
        if children:
            stack.extend(((*path, name), child) for name, child in reversed(children))
        elif path:
            yield path, value if isinstance(value, str) else canonical_json(value)


def _known(shown: Trajectory) -> Iterator[tuple[str, str]]:
    """What annotators are told: marks of sensitive strings serve a parser that cannot read."""
    premises = shown.premises
    if premises.account:
        yield "Account of the tools", visible(premises.account)
    if premises.own:
        yield "The user's own", visible(", ".join(premises.own))
    if premises.internal_domains:
        yield "Domains of the organisation", visible(", ".join(premises.internal_domains))
    places: dict[str, list[str]] = {}
    for name, place in premises.known.items():
        places.setdefault(place, []).append(name)
    for where, names in places.items():
        yield f"Known as {where}", visible(", ".join(names))


def _tool(tool: Any) -> tuple[str, str, str, Text]:
    parameters = text_of(canonical_json(tool.parameters), json_too=True)
    service = getattr(tool, "environment", None) or ""
    return visible(tool.name), visible(service), visible(tool.description or ""), parameters


def _text(text: str | None) -> Text | None:
    return text_of(text) if text else None
