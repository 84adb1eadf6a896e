"""What all files of this room share: closed models, and faults told with file, line and field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import nearest

__all__ = ["Id", "Part", "Trigger", "fault", "read_part"]

#: Keys of the fourteen triggers; the same words as in the taxonomy of the annotators.
TRIGGERS = (
    "unconfirmed_or_over_privileged_action",
    "flawed_planning_or_reasoning",
    "incorrect_tool_parameters",
    "choosing_malicious_tool",
    "tool_misuse_in_specific_context",
    "failure_to_validate_tool_outputs",
    "insecure_interaction_or_execution",
    "procedural_deviation_or_inaction",
    "inefficient_or_wasteful_execution",
    "generation_of_harmful_offensive_content",
    "instruction_for_harmful_illegal_activity",
    "generation_of_malicious_executables",
    "unauthorized_information_disclosure",
    "provide_inaccurate_misleading_or_unverified_information",
)


def _id(text: str) -> str:
    words = text.split("-")
    if not all(word.isascii() and word.isalnum() and word == word.lower() for word in words):
        raise ValueError(f"{text!r} is not an id: lower-case letters, digits and dashes")
    return text


def _trigger(text: str) -> str:
    if text not in TRIGGERS:
        raise ValueError(f"{text!r} is no trigger; {nearest(text, TRIGGERS, 'triggers')}")
    return text


Id = Annotated[str, AfterValidator(_id)]
Trigger = Annotated[str, AfterValidator(_trigger)]


class Part(BaseModel):
    """Base of all parts: closed, strict, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


P = TypeVar("P", bound=Part)


def fault(
    document: Document, place: Sequence[str | int], message: str, remedy: str
) -> SettingError:
    """An error at a place of a document."""
    where = Where(document.file, document.line(tuple(place)), ".".join(map(str, place)) or None)
    return SettingError(message, where=where, remedy=remedy)


def read_part(
    path: str | Path, model: type[P], page: str
) -> tuple[P | None, Document, list[SettingError]]:
    """Read one YAML file against its model.

    Parameters
    ----------
    path
        The file.
    model
        What it should be.
    page
        The page that describes its keys, for remedies.

    Returns
    -------
    tuple
        The record (None when there are faults), the document, and all faults.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    try:
        return model.model_validate(document.data), document, []
    except ValidationError as error:
        return (
            None,
            document,
            [_told(item, document, model, page) for item in error.errors(include_url=False)],
        )


def _told(item: Any, document: Document, model: type[Part], page: str) -> SettingError:
    place = tuple(part for part in item["loc"] if _in_file(part))
    first = str(item["loc"][0]) if item["loc"] else ""
    known = not first or first in model.model_fields
    remedy = f"{page} describes every key"
    if not known:
        remedy = nearest(first, list(model.model_fields), "keys")
    return fault(document, place, plain_words(item), remedy)


def _in_file(part: str | int) -> bool:
    """Whether a part of a place is a key or an index, not a word of pydantic's own."""
    return isinstance(part, int) or not part.startswith(("function-", "tagged-", "list["))
