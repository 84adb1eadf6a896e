"""The form of the answer, and what it is filed under: both made from data, at run time."""

from __future__ import annotations

from typing import Any

from vepa.corpus.trajectory import Trajectory
from vepa.files import canonical_json, sha256_of
from vepa.llm.messages import Item, Shape
from vepa.llm.prompts import Prompt
from vepa.policy.event import Unit
from vepa.policy.schema import UNKNOWN, Schema

__all__ = ["TEMPLATE", "answer_shape", "item_of", "told_fields"]

#: Folder of the prompt, and the template's id in recorded answers.
TEMPLATE = "parse"


def answer_shape(schema: Schema) -> Shape:
    """What an answer has to be: one object, a word of the domain for every field.

    Parameters
    ----------
    schema
        The event schema; `unknown` stands last in every list.
    """
    properties = {
        field.name: {"type": "string", "enum": [*field.values[1:], UNKNOWN]}
        for field in schema.fields
    }
    return Shape(
        name=TEMPLATE,
        schema_={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    )


def told_fields(schema: Schema) -> list[dict[str, Any]]:
    """The fields as the prompt's template takes them: names, values and what these mean."""
    return [
        {
            "name": field.name,
            "values": [
                {"name": value, "about": " ".join(field.descriptions.get(value, "").split())}
                for value in field.values[1:]
            ],
        }
        for field in schema.fields
    ]


def item_of(
    trajectory: Trajectory, prompt: Prompt, unit: Unit = "trajectory", name: str | None = None
) -> Item:
    """What a recorded parse is found by.

    Parameters
    ----------
    trajectory
        The trace; for the units `call` and `step` the steps up to the one that is described.
    prompt
        The prompt `parse`.
    unit
        What the event describes. A whole trace and its last step have the same content, so the
        unit is part of the hash of the two smaller ones.
    name
        Id of the event; it tells only where the same content was read twice, with two results.
    """
    content = trajectory.content_hash
    if unit != "trajectory":
        content = sha256_of(canonical_json({"content": content, "unit": unit}))
    return Item(hash=content, template=prompt.id, version=prompt.version, name=name)
