"""What can be known of a template without filling it: its syntax, and the names that it takes.

An environment has hundreds of templates, and every command reads it; so each text is parsed once,
for all questions together, and compiled only where parsing alone does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import TemplateSyntaxError, meta, nodes
from jinja2.parser import Parser

from vepa.services.templates import engine, is_plain, whole_expression

__all__ = ["check_expression", "check_templates", "members_in", "names_in"]

#: What `name.x` may be of any mapping.
_METHODS = frozenset({"get", "items", "keys", "values"})
#: Statements that give no names: what stands in them is looked up where the template is filled.
_OPEN = (nodes.Output, nodes.If)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one text holds.

    Attributes
    ----------
    wrong
        What is wrong with its syntax.
    names
        Those that it takes from its context.
    members
        Name and `x` of every `name.x` and `name['x']`.
    """

    wrong: str | None
    names: frozenset[str] = frozenset()
    members: frozenset[tuple[str, str]] = frozenset()


def check_expression(text: str) -> str | None:
    """What is wrong with the syntax of an expression, or None."""
    wrong = _read_expression(text).wrong
    return None if wrong is None else f"expression {text!r}: {wrong}"


def check_templates(value: Any) -> str | None:
    """What is wrong with the syntax of the first broken template in a value, or None."""
    if isinstance(value, str):
        wrong = _read(value).wrong
        return None if wrong is None else f"template {value!r}: {wrong}"
    return next((wrong for wrong in map(check_templates, _items(value)) if wrong), None)


def names_in(value: Any, expression: bool = False) -> set[str]:
    """The names that a value's templates (or an expression) take from their context."""
    if isinstance(value, str):
        return set((_read_expression(value) if expression else _read(value)).names)
    return {name for item in _items(value) for name in names_in(item)}


def members_in(text: str, name: str, expression: bool = False) -> set[str]:
    """What a template (or an expression) takes from a name: `x` of `name.x` or `name['x']`."""
    if name not in text:
        return set()
    reading = _read_expression(text) if expression else _read(text)
    return {member for whose, member in reading.members if whose == name}


def _items(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    return list(value) if isinstance(value, (list, tuple)) else []


def _read(text: str) -> _Reading:
    if is_plain(text):
        return _Reading(None)
    whole = whole_expression(text)
    return _read_template(text) if whole is None else _read_expression(whole)


@lru_cache(maxsize=4096)
def _read_expression(text: str) -> _Reading:
    try:
        parser = Parser(engine(), text, state="variable")
        inner = parser.parse_expression()
        if not parser.stream.eos:  # as `compile_expression` has it
            raise TemplateSyntaxError("chunk after expression", parser.stream.current.lineno)
        tree = nodes.Template([nodes.Output([inner], lineno=1)], lineno=1)
        tree.set_environment(engine())
        return _of(tree, lambda: engine().compile_expression(text))
    except TemplateSyntaxError as error:
        return _Reading(error.message or "no expression")


@lru_cache(maxsize=4096)
def _read_template(text: str) -> _Reading:
    try:
        return _of(engine().parse(text), lambda: engine().from_string(text))
    except TemplateSyntaxError as error:
        return _Reading(error.message or "no template")


def _of(tree: nodes.Template, compiled: Callable[[], object]) -> _Reading:
    parts = list(_walk(tree))
    names = {part.name for part in parts if isinstance(part, nodes.Name)}
    if not all(map(_is_told_by_parsing, parts)):
        compiled()  # raises what is wrong beside the syntax
        names = meta.find_undeclared_variables(tree)
    members = {pair for part in parts for pair in _members(part)}
    return _Reading(None, frozenset(names - set(engine().globals)), frozenset(members))


def _walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    rest = [tree]
    while rest:
        node = rest.pop()
        yield node
        rest.extend(node.iter_child_nodes())


def _is_told_by_parsing(part: nodes.Node) -> bool:
    """Whether a part needs no compiler: it gives no names, and names nothing unknown."""
    if isinstance(part, nodes.Filter):
        return part.name in engine().filters
    if isinstance(part, nodes.Test):
        return part.name in engine().tests
    if isinstance(part, nodes.Name):
        return part.ctx == "load"
    return not isinstance(part, nodes.Stmt) or isinstance(part, _OPEN)


def _members(part: nodes.Node) -> Iterator[tuple[str, str]]:
    if isinstance(part, nodes.Getattr):
        if isinstance(part.node, nodes.Name) and part.attr not in _METHODS:
            yield part.node.name, part.attr
    elif isinstance(part, nodes.Getitem):
        if isinstance(part.node, nodes.Name) and isinstance(part.arg, nodes.Const):
            yield part.node.name, str(part.arg.value)
    elif isinstance(part, nodes.Filter) and part.name in ("each", "where"):
        for argument in part.args:  # expressions inside: `where('it.x == secrets.y')`
            if isinstance(argument, nodes.Const):
                yield from _read_expression(str(argument.value)).members
