"""An episode as one HTML page that needs no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vepa.collect.page.facts import facts_of, legend
from vepa.collect.page.outline import outline
from vepa.collect.page.signs import visible
from vepa.collect.page.view import LETTERS, Shown, ShownStep, mark_of, name_of_path, pieces
from vepa.corpus.trajectory import Result
from vepa.errors import MissingExtraError
from vepa.parsing.sources import Leaf, Source

__all__ = ["render"]

#: So much of a result stands beside its fold.
_GLIMPSE = 110
#: Deeper lines are set in no further: a phone is narrow.
_DEEPEST = 12


def render(shown: Shown) -> str:
    """The page of an episode; every text of the trace is escaped and made visible.

    Raises
    ------
    MissingExtraError
        When jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "pipeline") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    of = shown.trajectory
    return environment.get_template("episode.html.j2").render(
        {
            "id": of.id,
            "facts": list(facts_of(shown)),
            "tripped": shown.episode.tripped if shown.episode else [],
            "checks": shown.episode.findings if shown.episode else [],
            "versions": shown.episode.versions if shown.episode else {},
            "legend": list(legend()),
            "steps": [_step(each) for each in shown.steps],
            "meant": any(each.intended for each in shown.steps),
        }
    )


def _step(shown: ShownStep) -> dict[str, Any]:
    step = shown.step
    call = step.call
    return {
        "index": step.index,
        "kind": step.kind,
        "tool": call.tool if call else None,
        "where": shown.where,
        "thought": step.thought,
        "text": step.text,
        "arguments": [_argument(leaf) for leaf in shown.leaves],
        "result": _result(step.result) if step.result else None,
        "unanswered": call is not None and step.result is None,
        "quiet": [(name.replace("_", " "), value) for name, value in shown.quiet],
        "event": list(_event(shown.before, shown.after)),
        "has_before": bool(shown.before),
        "intended": shown.intended,
    }


def _argument(leaf: Leaf) -> dict[str, Any]:
    return {
        "name": name_of_path(leaf.path) or "no JSON object",
        "pieces": [(piece.text, _source(piece.source)) for piece in pieces(leaf)],
    }


def _source(source: Source | None) -> dict[str, Any] | None:
    """What a piece links to; the agent's own words and what lies between words link nowhere."""
    if source is None or not (mark := mark_of(source)):
        return None
    told = f"{LETTERS[source.kind][1]}; first in step {source.step}"
    if source.request:
        told += "; part of a third party's request"
    return {
        "kind": source.kind,
        "mark": mark,
        "step": source.step,
        "request": source.request,
        "told": told,
    }


def _result(result: Result) -> dict[str, Any]:
    glimpse = " ".join(visible(result.content[: 4 * _GLIMPSE]).split())
    return {
        "ok": result.ok,
        "error": result.error,
        "seconds": result.seconds,
        "truncated": result.truncated,
        "lines": [(_indent(line), line) for line in outline(result.content).split("\n")],
        "glimpse": glimpse[:_GLIMPSE] + ("…" if len(glimpse) > _GLIMPSE else ""),
    }


def _indent(line: str) -> int:
    """How far a line's continuation is set in, so that it looks like no line of its own."""
    return min(len(line) - len(line.lstrip(" -│")), _DEEPEST)


def _event(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Field by field: what was known before the call, and afterwards."""
    for name in dict.fromkeys((*before, *after)):
        yield name, before.get(name, ""), after.get(name, "")
