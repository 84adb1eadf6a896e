"""Text to data that remembers its lines: YAML for people, JSON for machines.

Plain data only: strings, numbers, booleans, null, lists, mappings with distinct string keys. Tags,
anchors, aliases and merge keys are refused, because a policy must read the same to everybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import ValidationError

from vepa.errors import InputError, PolicyError, Where

__all__ = ["Document", "Path", "complaint", "parse_document"]

Path = tuple[str | int, ...]
MAX_DEPTH = 32
#: Commas, colons, brackets and line ends of a YAML text: a bound on its values, each of which
#: takes half a kilobyte while it is read.
MAX_YAML_SIGNS = 2_000_000
#: A text that is meant as JSON rather than as YAML in braces.
_LIKE_JSON = re.compile(r'\s*[{\[]\s*["{\[\]}]')

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SCALARS: dict[str, Callable[[str], Any]] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:timestamp": str,
    "tag:yaml.org,2002:value": str,
    "tag:yaml.org,2002:null": lambda _: None,
    "tag:yaml.org,2002:bool": lambda text: text.lower() in ("yes", "true", "on"),
    "tag:yaml.org,2002:float": lambda text: _number(text, float),
    "tag:yaml.org,2002:int": lambda text: _number(text, int),
}


def _number(text: str, kind: type[int] | type[float]) -> Any:
    try:
        return kind(text.replace("_", ""))
    except ValueError:
        # Octal, hexadecimal, sexagesimal, .inf: numbers to YAML 1.1, of no use to our files.
        return float("nan")


@dataclass(slots=True)
class Document:
    """Parsed data and where it came from.

    Attributes
    ----------
    data
        Plain Python data.
    file
        Name of the source, for messages.
    """

    data: Any
    file: str
    _text: str | None = None
    _lines: dict[Path, int] | None = field(default=None, repr=False)

    def line(self, path: Path) -> int | None:
        """Line (from 1) of the value at `path`, or of the nearest parent that is there."""
        if self._lines is None:
            # JSON was read by the fast parser; its lines are needed only for a message.
            self._lines = {}
            if self._text is not None:
                try:
                    self._lines = _compose(self._text, self.file, InputError)[1]
                except InputError:
                    self._lines = {}
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)


def parse_document(
    text: str, file: str = "<text>", error: type[InputError] = PolicyError
) -> Document:
    """Parse YAML or JSON (told apart by a leading brace or bracket).

    Raises
    ------
    InputError
        Of the class `error`: malformed, empty, duplicate keys, tags or aliases, nested too deep.
    """
    if not text.strip():
        raise error("the file is empty", where=Where(file, 1), remedy="write its content")
    if text.lstrip()[0] in "{[":
        document = _json(text, file, error)
        if document is not None:
            return document
    data, lines = _compose(text, file, error)
    return Document(data, file, None, lines)


def _json(text: str, file: str, error: type[InputError]) -> Document | None:
    """A JSON document; None when the text is YAML that begins with a brace."""
    try:
        data = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
        if "\\u" in text:
            json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as fault:
        try:
            _compose(text, file, error)
        except InputError:
            if _LIKE_JSON.match(text) is None:
                raise
            raise error(
                f"malformed JSON: {fault.msg} (column {fault.colno})",
                where=Where(file, fault.lineno),
                remedy="check quotes, commas and brackets there and on the line before",
            ) from None
        return None
    except UnicodeEncodeError:
        raise error(
            "an escape that stands for no character (half of a surrogate pair)",
            where=Where(file),
            remedy="write the character itself, in UTF-8",
        ) from None
    except (ValueError, RecursionError) as fault:
        _compose(text, file, error)  # raises the same complaint with its line, if it can
        raise error(
            f"malformed JSON: {fault}", where=Where(file, 1), remedy="write it as JSON has it"
        ) from None
    _check_depth(data, file, error)
    return Document(data, file, text)


def complaint(error: ValidationError) -> tuple[Path, str]:
    """Path and message of the first complaint of a pydantic model, in plain words."""
    first = error.errors(include_url=False, include_context=True)[0]
    return tuple(first["loc"]), plain_words(first)


_KINDS = {
    "bool": "yes/no value",
    "int": "number",
    "float": "number",
    "NoneType": "value",
    "dict": "mapping",
}


def plain_words(item: Any) -> str:
    """One sentence for a complaint of pydantic's (an entry of `ValidationError.errors()`)."""
    kind, given = item["type"], item.get("input")
    if kind == "string_type":
        shown = json.dumps(given, default=repr)[:60]
        what = _KINDS.get(type(given).__name__, type(given).__name__)
        return f"a word belongs here, not the {what} {shown}"
    if kind == "literal_error":
        shown = json.dumps(given, default=repr)[:60]
        return f"{item['ctx']['expected']} belongs here, not {shown}"
    words = {
        "missing": "this key is missing",
        "extra_forbidden": "this key is not known here",
        "dict_type": "a mapping belongs here",
        "model_type": "a mapping belongs here",
        "list_type": "a list belongs here",
        "int_type": "a whole number belongs here",
        "too_short": "at least one belongs here",
    }
    return words.get(kind, str(item["msg"]).removeprefix("Value error, "))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("duplicate key")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _check_depth(data: Any, file: str, error: type[InputError]) -> None:
    level = [data]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    raise error(f"nested deeper than {MAX_DEPTH} levels", where=Where(file, 1), remedy="flatten it")


def _compose(text: str, file: str, error: type[InputError]) -> tuple[Any, dict[Path, int]]:
    """Data and lines of a YAML text."""
    if sum(map(text.count, ",:[{\n")) > MAX_YAML_SIGNS:
        raise error(
            "too many values for one YAML file",
            where=Where(file),
            remedy="write it as JSON, or split it",
        )
    builder = _Builder(file, error)
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is None:
            raise error(
                "the file holds only comments", where=Where(file, 1), remedy="write its content"
            )
        return builder.build(root, ()), builder.lines
    except yaml.MarkedYAMLError as fault:
        raise error(
            f"malformed YAML: {fault.problem or fault.context}",
            where=Where(file, _line_of(fault, text)),
            remedy="check indentation, quotes and brackets on this line and the one before",
        ) from None
    except yaml.YAMLError as fault:
        raise error(
            f"malformed YAML: {str(fault).splitlines()[0]}",
            where=Where(file),
            remedy="the file must be plain text",
        ) from None
    except RecursionError:
        raise error("nested too deep", where=Where(file), remedy="flatten it") from None


def _line_of(fault: yaml.MarkedYAMLError, text: str) -> int | None:
    """The line of a fault; where the text ends too early, that of what it leaves open."""
    mark = fault.problem_mark or fault.context_mark
    if mark is None:
        return None
    last = text.rstrip().count("\n")
    line: int = mark.line
    if line > last:
        opened: int = fault.context_mark.line if fault.context_mark else last
        line = min(opened, last)
    return line + 1


class _Builder:
    """Composed YAML nodes to plain data; remembers the line of every path."""

    def __init__(self, file: str, error: type[InputError]):
        self.file = file
        self.error = error
        self.lines: dict[Path, int] = {}
        self.seen: set[int] = set()

    def build(self, node: Any, path: Path) -> Any:
        if id(node) in self.seen:
            raise self._fault("anchors and aliases are not allowed", node, "write the value out")
        self.seen.add(id(node))
        self.lines[path] = node.start_mark.line + 1
        if len(path) > MAX_DEPTH:
            raise self._fault(f"nested deeper than {MAX_DEPTH} levels", node, "flatten it")
        if isinstance(node, yaml.ScalarNode):
            make = _SCALARS.get(node.tag)
            if make is None:
                raise self._tag(node)
            return make(node.value)
        if isinstance(node, yaml.SequenceNode):
            if node.tag != "tag:yaml.org,2002:seq":
                raise self._tag(node)
            return [self.build(child, (*path, at)) for at, child in enumerate(node.value)]
        if node.tag != "tag:yaml.org,2002:map":
            raise self._tag(node)
        return self._mapping(node, path)

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, child in node.value:
            key = self.build(key_node, (*path, "?", len(data)))
            if not isinstance(key, str):
                raise self._fault(f"the key {key!r} is not a word", key_node, "quote it")
            if key in data:
                raise self._fault(f"duplicate key {key!r}", key_node, "keep one of the two")
            data[key] = self.build(child, (*path, key))
            self.lines[(*path, key)] = key_node.start_mark.line + 1
        return data

    def _tag(self, node: Any) -> InputError:
        return self._fault(f"the YAML tag {node.tag} is not allowed", node, "use plain values")

    def _fault(self, message: str, node: Any, remedy: str) -> InputError:
        return self.error(message, where=Where(self.file, node.start_mark.line + 1), remedy=remedy)
