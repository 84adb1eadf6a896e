"""A draft as a model wrote it: text, plain data, an id that is safe, and a file that reads well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from vepa.collect.authoring.reasons import Reason, from_errors
from vepa.errors import InputError, SettingError
from vepa.policy.document import parse_document

__all__ = ["MOST_CHARACTERS", "Draft", "open_draft", "pretty_yaml", "staged"]

#: The largest of the project's own tasks has a fifth of it.
MOST_CHARACTERS = 40_000
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_ID = 60


class Draft:
    """A text that is a YAML mapping with a safe id.

    Attributes
    ----------
    text
        As it was written.
    data
        Its plain data.
    id
        Lower-case letters, digits and single dashes, so that no path can hide in it.
    """

    def __init__(self, text: str, data: dict[str, Any], id: str):
        self.text = text
        self.data = data
        self.id = id


def open_draft(text: str) -> tuple[Draft | None, list[Reason]]:
    """Read a draft with the house's strict reader, or say why it is none.

    Parameters
    ----------
    text
        What a model calls a YAML file.
    """
    if len(text) > MOST_CHARACTERS:
        message = f"{len(text)} characters, {MOST_CHARACTERS} at most"
        return None, [Reason("too_large", "", message, "write less")]
    try:
        data = parse_document(text, "draft", SettingError).data
    except InputError as error:
        return None, from_errors([error], "malformed")
    if not isinstance(data, dict):
        remedy = "write the keys of the file at the first level"
        return None, [Reason("malformed", "", "a mapping belongs here", remedy, 1)]
    name = data.get("id")
    if not isinstance(name, str) or len(name) > _LONGEST_ID or not _ID.fullmatch(name):
        shown = repr(name)[:80]
        message = f"{shown} is not an id: lower-case letters, digits and single dashes"
        remedy = f"choose another, of at most {_LONGEST_ID} characters"
        return None, [Reason("unsafe_id", "id", message, remedy)]
    return Draft(text, data, name), []


@contextmanager
def staged(draft: Draft, text: str | None = None) -> Iterator[Path]:
    """A file of the draft's name, for readers of files; gone afterwards.

    Parameters
    ----------
    draft
        Whose id names the file.
    text
        Its content, the draft's own when left out.
    """
    with TemporaryDirectory(prefix="vepa-draft-") as folder:
        path = Path(folder) / f"{draft.id}.yaml"
        path.write_text(draft.text if text is None else text, "utf-8")
        yield path


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = None
    if "\n" in text.strip("\n"):
        style = "|"
    elif len(text) > 75:
        style = ">"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)


def pretty_yaml(data: Mapping[str, Any]) -> str:
    """Plain data as a YAML file for people: keys in their order, long texts folded, no comments.

    What is written is only what was checked: comments of a draft do not survive.

    Raises
    ------
    SettingError
        When the data cannot be read back as it is.
    """
    for dumper in (_Dumper, yaml.SafeDumper):
        text = yaml.dump(
            dict(data), Dumper=dumper, sort_keys=False, allow_unicode=True, width=90
        )  # fmt: skip
        if parse_document(text, "draft", SettingError).data == data:
            return str(text)
    raise SettingError("this text cannot be written as YAML", remedy="use plain characters")
