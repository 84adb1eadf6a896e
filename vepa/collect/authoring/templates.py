"""What a template and a pattern of a model may be, told from their syntax alone.

The house's sandbox keeps templates from Python's insides, but it would still fold `10 ** 10 ** 10`
while it compiles, and a pattern can run for hours. So what a model wrote is parsed, never compiled,
and held against what tasks need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes

from vepa.services.templates import FILTERS

__all__ = ["pattern_fault", "template_fault"]

_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr,
    nodes.Getitem, nodes.Filter, nodes.Test, nodes.Call, nodes.Keyword, nodes.Slice, nodes.List,
    nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Add, nodes.Sub, nodes.Div, nodes.FloorDiv, nodes.Mod,
    nodes.Neg, nodes.Concat, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
    nodes.CondExpr, nodes.For, nodes.If,
)  # fmt: skip
_FILTERS = frozenset(FILTERS) | {
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "format", "int",
    "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "replace", "round", "select", "selectattr", "sort", "string", "sum", "title",
    "tojson", "trim", "truncate", "unique", "upper",
}  # fmt: skip
_METHODS = frozenset({"endswith", "get", "items", "keys", "lower", "split", "startswith", "strip",
                      "upper", "values"})  # fmt: skip
#: Names that Jinja2 itself brings; `range` and its like make much out of nothing.
_NAMES = frozenset({"caller", "cycler", "dict", "joiner", "lipsum", "namespace", "range", "self",
                    "varargs", "kwargs"})  # fmt: skip
_LOOPS = ("each", "where")
_NESTED = "a loop inside a loop has no place in a task's template"
#: A text may grow so many times by replacing.
_GROWTH = 10_000.0
_FORMAT = re.compile(r"[^{}]*(\{\d?(:[,]?(\.\d)?[df%s]?)?\}[^{}]*)*")
_PERCENT = re.compile(r"([^%]|%%|%(0?\d)?(\.\d)?[dsf])*")


@lru_cache(maxsize=1)
def _parser() -> Environment:
    return Environment(autoescape=False)  # noqa: S701 - it parses and renders nothing


def template_fault(text: str, expression: bool = False) -> str | None:
    """Why a template is not let near the engine, or None.

    Parameters
    ----------
    text
        The string with a template in it, or an expression.
    expression
        Whether it is an expression, as in `where('it.x')`.
    """
    if not expression and not re.search(r"\{[{%#]", text):
        return None
    try:
        tree = _parser().parse("{{ (" + text + ") }}" if expression else text)
    except TemplateSyntaxError as error:
        return f"the template cannot be read: {error.message}"
    except RecursionError:
        return "the template is nested too deep"
    return next(_faults(tree, expression), None)


def _faults(tree: nodes.Template, inner: bool) -> Iterator[str]:
    growth = 1.0
    for node in tree.find_all(nodes.Node):
        kind = type(node).__name__
        if not isinstance(node, _NODES):
            yield f"{kind} has no place in a task's template"
        elif isinstance(node, nodes.Name) and (node.name in _NAMES or node.name.startswith("_")):
            yield f"the name {node.name!r} has no place in a task's template"
        elif isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
            yield f"the attribute {node.attr!r} has no place in a task's template"
        elif isinstance(node, nodes.Const) and "__" in str(node.value):
            yield "double underscores have no place in a task's template"
        elif isinstance(node, nodes.Call):
            yield from _call(node)
        elif isinstance(node, nodes.Filter):
            yield from _filter(node)
            growth *= _grows(node)
            if inner and node.name in _LOOPS:
                yield _NESTED
        elif isinstance(node, nodes.For) and any(map(_loops, _body(node))):
            yield _NESTED
    if growth > _GROWTH:
        yield "it replaces so much that the text could grow without bound"


def _body(loop: nodes.For) -> Iterator[nodes.Node]:
    """What is done again and again."""
    parts = [*loop.body, *([loop.test] if loop.test else [])]
    for part in parts:
        yield part
        yield from part.find_all(nodes.Node)


def _loops(node: nodes.Node) -> bool:
    return isinstance(node, nodes.For) or (isinstance(node, nodes.Filter) and node.name in _LOOPS)


def _call(node: nodes.Call) -> Iterator[str]:
    made = node.node
    if not isinstance(made, nodes.Getattr):
        yield "a call of a function has no place in a task's template"
    elif made.attr == "format":
        shape = made.node.value if isinstance(made.node, nodes.Const) else None
        if not isinstance(shape, str) or not _FORMAT.fullmatch(shape):
            yield "`format` is for plain numbers, such as '{:,.2f}'.format(x)"
    elif made.attr not in _METHODS:
        yield f"the method {made.attr!r} has no place in a task's template"


def _filter(node: nodes.Filter) -> Iterator[str]:
    arguments = [arg.value if isinstance(arg, nodes.Const) else None for arg in node.args]
    if node.name not in _FILTERS:
        yield f"the filter {node.name!r} has no place in a task's template"
    elif node.name in _LOOPS:
        expression = arguments[0] if arguments else None
        if not isinstance(expression, str):
            yield f"`{node.name}` takes an expression in quotes"
        else:
            wrong = template_fault(expression, expression=True)
            if wrong:
                yield wrong
    elif node.name in ("findall", "replaced"):
        wrong = pattern_fault(arguments[0]) if arguments and isinstance(arguments[0], str) else "?"
        if wrong:
            yield f"`{node.name}` takes a plain pattern in quotes: {wrong}"
    elif node.name == "map" and node.args and arguments[0] not in _FILTERS - {"map", *_LOOPS}:
        yield "`map` takes an attribute or a plain filter in quotes"
    elif node.name == "format":
        shape = node.node.value if isinstance(node.node, nodes.Const) else None
        if not isinstance(shape, str) or not _PERCENT.fullmatch(shape):
            yield "`format` is for plain numbers, such as '%.2f' | format(x)"


def _grows(node: nodes.Filter) -> float:
    """How many times longer a text may become by replacing."""
    if node.name not in ("replace", "replaced") or len(node.args) < 2:
        return 1.0
    old, new = node.args[:2]
    if not isinstance(old, nodes.Const) or not isinstance(new, nodes.Const):
        return 1000.0
    least = max(1, len(str(old.value))) if node.name == "replace" else 1
    return max(1.0, (len(str(new.value)) + 1) / least)


def pattern_fault(text: str) -> str | None:
    """Why a regular expression is not used, or None: one that may try for hours."""
    if len(text) > 400:
        return "a pattern has at most 400 characters"
    parser: Any = import_module("re._parser")
    try:
        tree = parser.parse(text)
    except (re.error, RecursionError, OverflowError):
        return None  # its own check says so
    endless = list(_repeats(tree, parser.MAXREPEAT, False))
    if any(inside for _, inside in endless):
        return "a repetition inside a repetition, or of a choice"
    if any(times > 4 for times, _ in endless):
        return "more than four repetitions one after the other"
    return None


def _repeats(tree: Any, most: Any, inside: bool) -> Iterator[tuple[int, bool]]:
    """For each sequence of a pattern, its repetitions; and whether one stands inside another."""
    here = 0
    for code, value in tree:
        name = str(code)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, high, body = value
            long = high is most or high > 50
            here += long
            if inside and long:
                yield 0, True
            yield from _repeats(body, most, inside or long)
        elif name == "BRANCH":
            if inside:
                yield 0, True
            for part in value[1]:
                yield from _repeats(part, most, inside)
        elif name == "SUBPATTERN":
            yield from _repeats(value[3], most, inside)
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from _repeats(value[1], most, inside)
        elif name == "ATOMIC_GROUP":
            yield from _repeats(value, most, inside)
        elif name == "GROUPREF_EXISTS":
            for part in value[1:]:
                yield from _repeats(part or [], most, inside)
    yield here, False
