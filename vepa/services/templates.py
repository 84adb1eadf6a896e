"""Templates of the environment files: Jinja2 in its sandbox, with native values.

A string that is one expression, `{{ args.limit }}`, becomes the value itself (a number stays a
number); any other string becomes text. A mapping's key or a list's item whose value is `omit` is
left out, so optional arguments need no logic: `{{ args.limit | default(omit) }}`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import StrictUndefined, TemplateError, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from vepa.errors import InputError

__all__ = [
    "OMIT",
    "TemplateFault",
    "engine",
    "evaluate",
    "is_plain",
    "render",
    "whole_expression",
]


class TemplateFault(InputError):  # noqa: N818 - what is wrong with it
    """A template that cannot be filled from what is there.

    Attributes
    ----------
    why
        The reason alone, without the template.
    """

    why: str = ""


#: What filling a template may end with, whatever an agent or a service put into it.
_FAULTS = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
    re.error,
)


class _Omit:
    def __repr__(self) -> str:
        return "omit"


#: A value that leaves its key or item out.
OMIT = _Omit()

_WHOLE = re.compile(r"\s*\{\{(?P<expression>(?:(?!\{\{|\}\}).)*)\}\}\s*", re.DOTALL)


def _findall(text: str, pattern: str) -> list[Any]:
    return re.findall(pattern, str(text))


def _replaced(text: str, pattern: str, by: str) -> str:
    return re.sub(pattern, by, str(text))


def _path(text: object) -> str:
    return "/".join(_part(part) for part in str(text).split("/"))


def _part(text: object) -> str:
    quoted = quote(str(text), safe="")
    # HTTP clients resolve `..` before they send: `team/../hr` would reach another resource than
    # the one that a tool's rules were held against. Escaped, it is for the service to judge.
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted


def _unquoted(text: object) -> str:
    return unquote(str(text))


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _hmac_sha1(text: str, key: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha1).hexdigest()


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _pick(value: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """A mapping with these keys only; `plan.id` reaches inside and is called that."""
    found: dict[str, Any] = {}
    for key in keys:
        inner: Any = value
        for part in key.split("."):
            if not isinstance(inner, Mapping) or part not in inner:
                break
            inner = inner[part]
        else:
            found[key] = inner
    return found


def _has(text: object, part: object) -> bool:
    return str(part).casefold() in str(text).casefold()


@pass_context
def _each(context: Context, items: Iterable[Any], expression: str) -> list[Any]:
    names = context.get_all()
    return [evaluate(expression, {**names, "it": item}) for item in items]


@pass_context
def _where(context: Context, items: Iterable[Any], expression: str) -> list[Any]:
    names = context.get_all()
    return [item for item in items if evaluate(expression, {**names, "it": item})]


def _pairs(items: Iterable[Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    return [{"of": item, "value": value} for item in items for value in item[key]]


#: Filters beside Jinja2's own; docs/adding-a-service.md lists them.
FILTERS: dict[str, Callable[..., Any]] = {
    "b64": _b64,  # text -> base64
    "each": _each,  # items, expression about `it` -> the expression's values
    "findall": _findall,  # text, pattern -> matches
    "hmac_sha1": _hmac_sha1,  # text, key -> hex signature, as some interfaces ask for
    "json": _compact,  # value -> JSON text, no HTML escapes
    "pairs": _pairs,  # items, key of a list -> {of: item, value: one of its list}, all of them
    "part": _part,  # one part of a URL's path, slashes escaped
    "path": _path,  # a URL's path, slashes kept
    "pick": _pick,  # mapping, keys -> the mapping with those keys only
    "replaced": _replaced,  # text, pattern, replacement -> text
    "unquoted": _unquoted,  # a part of a URL -> the text that it stands for
    "where": _where,  # items, expression about `it` -> the items for which it is true
}


@lru_cache(maxsize=1)
def engine() -> ImmutableSandboxedEnvironment:
    """Jinja2 as all templates here use it."""
    engine = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    engine.filters.update(FILTERS)
    engine.tests["has"] = _has  # text, part -> whether it contains it, letter case ignored
    engine.globals["omit"] = OMIT
    return engine


@lru_cache(maxsize=4096)
def _compiled(text: str) -> tuple[bool, Callable[..., Any]]:
    whole = whole_expression(text)
    if whole is not None:
        return True, _expression(whole)
    return False, engine().from_string(text).render


@lru_cache(maxsize=4096)
def _expression(text: str) -> Callable[..., Any]:
    return engine().compile_expression(text, undefined_to_none=False)


def _told(error: Exception, text: str) -> TemplateFault:
    if isinstance(error, TemplateFault):  # of an expression inside: `each`, `where`
        return error
    shown = text if len(text) <= 120 else text[:117] + "..."
    fault = TemplateFault(
        f"template {shown!r}: {error}",
        remedy="docs/adding-a-service.md lists what a template may use",
    )
    fault.why = str(error)
    return fault


def _settled(value: Any) -> Any:
    """The value itself, where nothing in it is undefined."""
    if isinstance(value, StrictUndefined):
        raise TemplateError(value._undefined_message)
    if isinstance(value, Mapping):
        for item in value.values():
            _settled(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _settled(item)
    return value


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Raises
    ------
    TemplateFault
        When it names something that is not there, or fails.
    """
    try:
        return _settled(_expression(expression)(**context))
    except (*_FAULTS, TemplateFault) as error:
        raise _told(error, expression) from None


def render(value: Any, context: Mapping[str, Any]) -> Any:
    """The value with every template in it filled; numbers, lists and mappings are walked.

    Raises
    ------
    TemplateFault
        When a template names something that is not there, or fails.
    """
    if isinstance(value, str):
        return _rendered(value, context)
    if isinstance(value, Mapping):
        pairs = ((_rendered(key, context), render(item, context)) for key, item in value.items())
        return {key: item for key, item in pairs if item is not OMIT}
    if isinstance(value, (list, tuple)):
        items = (render(item, context) for item in value)
        return [item for item in items if item is not OMIT]
    return value


def _rendered(text: str, context: Mapping[str, Any]) -> Any:
    if is_plain(text):
        return text
    try:
        whole, call = _compiled(text)
        return _settled(call(**context)) if whole else call(**context)
    except (*_FAULTS, TemplateFault) as error:
        raise _told(error, text) from None


def is_plain(text: str) -> bool:
    """Whether a text has no template in it."""
    return "{{" not in text and "{%" not in text and "{#" not in text


def whole_expression(text: str) -> str | None:
    """The expression that a text is as a whole, so that it becomes a value; None where not."""
    whole = _WHOLE.fullmatch(text)
    return whole["expression"] if whole else None
