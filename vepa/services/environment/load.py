"""Reading environment files: every fault with file, line, field and remedy."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from vepa.errors import InputError, SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import bundled_schema, nearest
from vepa.project import Project
from vepa.services.drivers import DRIVERS
from vepa.services.environment import checked
from vepa.services.environment.model import Environment
from vepa.services.environment.names import unknown_names
from vepa.services.environment.outside import all_drivers_known, named_beyond
from vepa.services.environment.tool import Tool
from vepa.services.template_reading import check_expression, check_templates

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError as ArgumentError

__all__ = [
    "check_arguments",
    "content_hash",
    "load_environment",
    "load_environments",
    "load_seed",
    "read_environment",
    "where_in",
]

#: Deeper than any schema asks; walking further would end in a RecursionError.
_DEEPEST = 100
#: More faults of one call are not told at once.
_MOST = 5
_PLACED = re.compile(r"(?P<place>[a-z_]+(\.\w+)*): (?P<rest>.*)", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_REMEDY = "docs/adding-a-service.md describes every key"


def load_environment(path: str | Path, *, trusted: bool = False) -> Environment:
    """Read one `environment.yaml`; one that has passed all checks before is not checked again.

    Parameters
    ----------
    path
        The file.
    trusted
        Leaves out the checks of templates, schemas and examples: for a file that an office was
        started from (its hash is compared), where they have passed already.

    Raises
    ------
    SettingError
        When the file is no environment; names file, line and field of the first fault.
    """
    record = None if trusted else checked.record_of(Path(path))
    known = trusted or checked.passed(record)
    environment, wrong = read_environment(path, trusted=known)
    if environment is None or wrong:
        raise wrong[0]
    if not known and all_drivers_known(environment):
        checked.remember(record)
    return environment


def read_environment(
    path: str | Path, *, trusted: bool = False
) -> tuple[Environment | None, list[SettingError]]:
    """Read one `environment.yaml`, or find all that is wrong with it.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    path = Path(path)
    document = parse_document(read_text(path), name_of(path), SettingError)
    try:
        environment = Environment.model_validate(document.data)
    except ValidationError as error:
        return None, [_wrong(item, document) for item in error.errors(include_url=False)]
    environment._folder = path.parent.absolute()
    return environment, [] if trusted else _in_content(environment, document)


def _wrong(item: Any, document: Document) -> SettingError:
    place, message = tuple(item["loc"]), plain_words(item)
    named = None if place else _PLACED.fullmatch(message)
    if named:  # of what holds between several keys
        keys = named["place"].split(".")
        place = tuple(int(key) if key.isdigit() else key for key in keys)
        message = named["rest"]
    first = str(place[0]) if place else ""
    known = not place or first in Environment.model_fields
    return SettingError(
        message,
        where=Where(document.file, document.line(place), ".".join(map(str, place)) or None),
        remedy=_REMEDY if known else nearest(first, list(Environment.model_fields), "keys"),
    )


def _in_content(environment: Environment, document: Document) -> list[SettingError]:
    """What the models cannot see: the folder's name, templates, schemas, events, files."""
    found: list[SettingError] = []

    def fault(place: Sequence[str | int], message: str, remedy: str = _REMEDY) -> None:
        where = Where(document.file, document.line(tuple(place)), ".".join(map(str, place)))
        found.append(SettingError(message, where=where, remedy=remedy))

    if environment.name != environment.folder.name:
        fault(("name",), f"the folder is called {environment.folder.name!r}", "use the same name")
    for at, name in enumerate(environment.seed.files):
        if not (environment.folder / name).is_file():
            fault(("seed", "files", at), f"no such file: {name}", "paths are below the folder")
    for path, step in environment.all_steps():
        wrong = check_templates(step.request)
        for expression in (step.each, step.when, *step.capture.values()):
            wrong = wrong or (check_expression(expression) if expression else None)
        if wrong:
            fault(path, wrong)
    for place, expression in _expressions(environment):
        wrong = check_expression(expression)
        if wrong:
            fault(place, wrong)
    for place, name, known in unknown_names(environment):
        fault(place, f"no template here knows {name!r}", nearest(name, sorted(known), "names"))
    for name in environment.drivers:
        if name not in DRIVERS:
            fault(("drivers", name), f"no driver {name!r}", nearest(name, list(DRIVERS), "drivers"))
    for place, message, remedy in named_beyond(environment):
        fault(place, message, remedy)
    for at, tool in enumerate(environment.tools):
        _check_tool(environment, at, tool, fault)
    return found


def _check_tool(environment: Environment, at: int, tool: Tool, fault: Callable[..., None]) -> None:
    try:
        tool.metadata(environment.name).check_against(bundled_schema())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        fault(("tools", at), plain_words(first))
    except InputError as error:
        place = ("tools", at, *(error.where.field or "").split("."))
        fault(place, f"{tool.name}: {error.message}", error.remedy or _REMEDY)
    unfit = _no_schema(json.dumps(tool.parameters, sort_keys=True, default=str))
    if unfit is not None:
        fault(("tools", at, "parameters"), f"{tool.name}: no JSON schema: {unfit}")
        return
    for number, example in enumerate(tool.examples):
        complaint = _complaint(tool, example)
        if complaint:
            fault(("tools", at, "examples", number), f"{tool.name}: {complaint}")


@lru_cache(maxsize=4096)
def _no_schema(text: str) -> str | None:
    """Why this is no JSON schema; remembered, since it takes 10 ms and files are read again."""
    # Imported where it is used: a seventh of what it takes to import the services.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError as JsonSchemaError

    try:
        Draft202012Validator.check_schema(json.loads(text))
    except JsonSchemaError as error:
        return str(error.message)
    return None


def _expressions(environment: Environment) -> list[tuple[tuple[str | int, ...], str]]:
    found: list[tuple[tuple[str | int, ...], str]] = [(("state", "value"), environment.state.value)]
    for at, tool in enumerate(environment.tools):
        if tool.result is not None:
            found.append((("tools", at, "result"), tool.result))
    for at, assertion in enumerate(environment.assertions):
        found.append((("assertions", at, "check"), assertion.check))
    return found


def check_arguments(tool: Tool, arguments: Any) -> None:
    """Hold a call's arguments against the tool's schema.

    Raises
    ------
    InputError
        Naming the argument and what is allowed.
    """
    complaint = _complaint(tool, arguments)
    if complaint:
        known = ", ".join(tool.parameters["properties"]) or "none"
        raise InputError(
            f"{tool.name}: {complaint}",
            where=Where(field="arguments"),
            remedy=f"arguments: {known}; `vepa tools list --json` has the schemas",
        )


def _complaint(tool: Tool, arguments: Any) -> str | None:
    from jsonschema import Draft202012Validator

    unfit = _unfit(arguments)
    if unfit:
        return unfit
    validator = Draft202012Validator(tool.parameters)
    faults = [_told(fault) for fault in validator.iter_errors(arguments)]
    return "; ".join(faults[:_MOST]) or None


def _told(fault: ArgumentError) -> str:
    place = ".".join(map(str, fault.absolute_path))
    return f"{place}: {fault.message}" if place else fault.message


def _unfit(arguments: Any) -> str | None:
    """What no protocol can carry: half characters, numbers that are none, endless nesting."""
    rest: list[tuple[Any, int]] = [(arguments, 0)]
    while rest:
        value, depth = rest.pop()
        if depth > _DEEPEST:
            return f"nested more than {_DEEPEST} deep"
        if isinstance(value, str) and _HALF.search(value):
            return "a text has half of a character (a lone surrogate, \\ud800 to \\udfff)"
        if isinstance(value, float) and not math.isfinite(value):
            return f"{value} is no number of JSON"
        if isinstance(value, dict):
            rest += [(part, depth + 1) for pair in value.items() for part in pair]
        elif isinstance(value, list):
            rest += [(part, depth + 1) for part in value]
    return None


def where_in(environment: Environment, path: Sequence[str | int]) -> Where:
    """File, line and field of a part of an environment file, for what goes wrong later."""
    file = name_of(environment.file)
    try:
        line = parse_document(read_text(environment.file), file, SettingError).line(tuple(path))
    except InputError:  # gone since
        line = None
    return Where(file, line, ".".join(map(str, path)) or None)


def load_environments(
    project: Project, names: Sequence[str] = (), *, field: str = "NAME"
) -> list[Environment]:
    """The named environments of a project, or all of them, sorted by name.

    Parameters
    ----------
    project
        Where they are looked for.
    names
        Which ones.
    field
        What the user gave the names with, for errors.

    Raises
    ------
    SettingError
        When a name is unknown, or a file is wrong.
    """
    files = {path.parent.name: path for path in project.all("environments", "*/environment.yaml")}
    for name in names:
        if name not in files:
            raise SettingError(
                f"there is no environment {name!r}",
                where=Where(field=field),
                remedy=nearest(name, sorted(files), "environments"),
            )
    wanted = sorted(set(names)) if names else sorted(files)
    return [load_environment(files[name]) for name in wanted]


def load_seed(environment: Environment) -> dict[str, Any]:
    """The content of all seed files together: `seed` in templates.

    Raises
    ------
    SettingError
        When a file is no mapping, or two files have the same key.
    """
    merged: dict[str, Any] = {}
    for name in environment.seed.files:
        file = environment.folder / name
        data = parse_document(read_text(file), name_of(file), SettingError).data
        if not isinstance(data, dict):
            raise SettingError("a seed file is a mapping", where=Where(str(file), 1))
        twice = set(merged) & set(data)
        if twice:
            raise SettingError(
                f"the key {min(twice)!r} is in another seed file too", where=Where(str(file))
            )
        merged.update(data)
    return merged


def content_hash(environment: Environment, *others: Path) -> str:
    """SHA-256 over names and bytes of the environment's files and of `others` (the world)."""
    digest = hashlib.sha256()
    files = [
        path
        for path in sorted(environment.folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    ]
    named = [(path.relative_to(environment.folder).as_posix(), path) for path in files]
    for name, path in [*named, *((path.name, path) for path in others)]:
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
