"""The lines of a trace as a model is shown them: the setting, then one line a step.

Only what happened is read here: never an id, a label, a mark, a format or annotations, and neither
the task, the persona nor the model that an episode was made from, whose names may tell a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vepa.corpus.tools import ToolMetadata
from vepa.corpus.trajectory import OfferedTool, Premises, Step, Trajectory
from vepa.llm.spelling import Writer

__all__ = ["known_line", "offered_tools", "operator_line", "step_line", "tool_line", "whole_lines"]


def whole_lines(trajectory: Trajectory, *, proposed: bool = False) -> Iterator[str]:
    """Every line of a trace, nothing left out.

    Reading them back gives what happened; two traces that differ in it have different lines.

    Parameters
    ----------
    trajectory
        The trace.
    proposed
        Whether the last step is a call that has not run.
    """
    writer = Writer()
    if trajectory.system is not None:
        yield operator_line(trajectory.system, writer)
    if (known := known_line(trajectory.premises, writer)) is not None:
        yield known
    for tool in offered_tools(trajectory):
        yield tool_line(tool, writer)
    last = len(trajectory.steps) - 1
    for step in trajectory.steps:
        yield step_line(step, writer, proposed=proposed and step.index == last)


def offered_tools(trajectory: Trajectory) -> list[ToolMetadata | OfferedTool]:
    """Every tool that the agent was offered."""
    return [*trajectory.tools, *trajectory.offered]


def operator_line(text: str, writer: Writer) -> str:
    """What the operator told the agent."""
    return f'{{"line":"operator","text":{writer.text(text)}}}'


def known_line(premises: Premises, writer: Writer) -> str | None:
    """Which addresses are the user's or the organisation's; None where nothing is known.

    Marks are left out: they are many, and serve a parser that cannot read.
    """
    known = {
        "account": premises.account,
        "user": premises.own,
        "organisation": premises.internal_domains,
        "places": premises.known,
    }
    told = {name: value for name, value in known.items() if value not in (None, [], {})}
    if not told:
        return None
    parts = [f'"{name}":{writer.value(value)}' for name, value in told.items()]
    return f'{{"line":"known",{",".join(parts)}}}'


def tool_line(tool: ToolMetadata | OfferedTool, writer: Writer) -> str:
    """A tool as the agent was offered it; what its author says it means is not shown."""
    service = tool.environment if isinstance(tool, ToolMetadata) else None
    told = _texts(writer, name=tool.name, service=service, description=tool.description)
    return f'{{"line":"tool",{",".join(told)},"parameters":{writer.value(tool.parameters)}}}'


def step_line(step: Step, writer: Writer, *, proposed: bool = False) -> str:
    """One step."""
    parts = [f'"step":{step.index}', f'"kind":"{step.kind}"']
    if step.conversation:
        parts.append(f'"conversation":{step.conversation}')
    parts += _texts(writer, by=step.speaker, thought=step.thought, text=step.text)
    if step.call is not None:
        call = step.call
        parts += _texts(writer, tool=call.tool, service=call.environment)
        parts.append(f'"arguments":{writer.value(call.arguments)}')
        parts += _texts(writer, written=call.text)
        parts.append('"proposed":true' if proposed else f'"result":{_result(step, writer)}')
    return f"{{{','.join(parts)}}}"


def _result(step: Step, writer: Writer) -> str:
    result = step.result
    if result is None:
        return '"not shown"'
    parts = [f'"ok":{"true" if result.ok else "false"}']
    parts += _texts(writer, error=result.error, content=result.content)
    if result.truncated:
        parts.append('"cut":true')
    return f"{{{','.join(parts)}}}"


def _texts(writer: Writer, **texts: Any) -> list[str]:
    return [f'"{name}":{writer.text(text)}' for name, text in texts.items() if text is not None]
