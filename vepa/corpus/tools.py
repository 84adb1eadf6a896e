"""What a tool says about itself: its signature, and what a call of it means as a typed event.

The event part is written in YAML by hand, beside the tool. Six of the nine instrumented fields come
from it; the other three (`agent_outcome`, `instruction_origin`, `injection`) are no property of a
tool, the parser finds them in the episode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from vepa.corpus.arguments import argument_texts, path_spellings
from vepa.errors import InputError, Where
from vepa.policy.schema import UNKNOWN, Schema, nearest

__all__ = [
    "METADATA_FIELDS",
    "Effect",
    "FieldValue",
    "Origin",
    "ToolEvent",
    "ToolMetadata",
    "ValueRule",
]

Effect = Literal["read", "write", "destroy"]
Origin = Literal["message_content", "retrieved_content", "tool_output", "none"]
#: The fields of an event that a tool's metadata may give.
METADATA_FIELDS = (
    "action_kind", "resource", "sensitivity", "reversibility", "tool_trust", "recipient",
)  # fmt: skip


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ValueRule(_Strict):
    """One rule of a derived value.

    Attributes
    ----------
    pattern
        Regular expression, searched anywhere in the argument, letter case ignored. A path is tried
        as it is written and as it comes down to (`Team/../HR` is `HR`).
    value
        The field's value when it is found.
    """

    pattern: str
    value: str

    @field_validator("pattern")
    @classmethod
    def _is_pattern(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as fault:
            raise ValueError(f"{pattern!r} is no regular expression: {fault}") from None
        return pattern

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled once."""
        return re.compile(self.pattern, re.IGNORECASE)


class FieldValue(_Strict):
    """How one field of a call's event gets its value. One of three forms:

    - a word: the value itself;
    - `{argument, rules, otherwise}`: the first rule whose pattern is found in the argument;
    - `{argument, resolve: address, otherwise}` (only for `recipient`): the address is inside the
      organisation, outside, or the user's own, by the premises of the episode.

    Attributes
    ----------
    constant
        The value itself; written as a plain word, not under this key.
    argument
        The argument that decides, or several; a dotted path reaches into objects and lists.
    rules
        Tried in this order over all values of the argument.
    resolve
        `address`: mail addresses, Matrix ids, URLs, host names, and ids that the premises know.
    otherwise
        The value when the argument is missing, no rule matches or no address is known.
    """

    constant: str | None = None
    argument: str | list[str] | None = None
    rules: list[ValueRule] | None = Field(default=None, min_length=1)
    resolve: Literal["address"] | None = None
    otherwise: str = UNKNOWN

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"constant": data}
        if isinstance(data, Mapping) and "constant" in data:
            raise ValueError("write the value itself: `field: value`")
        return data

    @model_validator(mode="after")
    def _one_form(self) -> FieldValue:
        forms = (self.constant is not None, self.rules is not None, self.resolve is not None)
        if sum(forms) != 1 or (self.constant is None and not self.arguments):
            raise ValueError(
                "a word, or {argument, rules, otherwise}, or {argument, resolve, otherwise} "
                "belongs here"
            )
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.constant is not None:
            return self.constant
        return {key: value for key, value in handler(self).items() if value is not None}

    @property
    def arguments(self) -> list[str]:
        """The arguments that decide."""
        if isinstance(self.argument, str):
            return [self.argument]
        return self.argument or []

    def texts(self, arguments: Mapping[str, Any]) -> list[str]:
        """Values of the deciding arguments of a call."""
        return [text for name in self.arguments for text in argument_texts(arguments, name)]

    def derive(self, arguments: Mapping[str, Any]) -> str:
        """The value for the arguments of a call; a `resolve` is for who knows the premises."""
        if self.constant is not None:
            return self.constant
        texts = [spelling for text in self.texts(arguments) for spelling in path_spellings(text)]
        for rule in self.rules or []:
            if any(rule.compiled.search(text) for text in texts):
                return rule.value
        return self.otherwise

    def spelled(self) -> Iterator[tuple[str, str]]:
        """Every value that may come out, with its place below the field."""
        if self.constant is not None:
            yield "", self.constant
            return
        for at, rule in enumerate(self.rules or []):
            yield f".rules.{at}.value", rule.value
        yield ".otherwise", self.otherwise


class ToolEvent(_Strict):
    """What a call of a tool means as a typed event; a flat block of a tool's YAML.

    Attributes
    ----------
    event
        Field -> how it gets its value; fields of `METADATA_FIELDS`. A field that is left out is
        `unknown`. `sensitivity` is the base, which marks and carried content raise.
    origin
        What the text in its results is. `none`: only what the service itself says (ids, counts).
    decisive
        Arguments that tell whose instruction a call was: recipient, amount, target.
    carries
        Arguments whose text leaves with the call, or names what leaves (an attachment's path, the
        id of what is forwarded).
    """

    event: dict[str, FieldValue]
    origin: Origin
    decisive: list[str] = []
    carries: list[str] = []

    @field_validator("event")
    @classmethod
    def _known_fields(cls, event: dict[str, FieldValue]) -> dict[str, FieldValue]:
        for name, value in event.items():
            if name not in METADATA_FIELDS:
                raise ValueError(
                    f"metadata gives no field {name!r}; {nearest(name, METADATA_FIELDS, 'fields')}"
                )
            if value.resolve is not None and name != "recipient":
                raise ValueError(f"`resolve` is for `recipient`, not for {name!r}")
        return event

    def check_against(self, schema: Schema) -> None:
        """Hold every value against an event schema.

        Raises
        ------
        InputError
            Names the field and the values that it may have.
        """
        for name, value in self.event.items():
            if name not in schema:
                raise InputError(
                    f"the schema has no field {name!r}",
                    where=Where(field=f"event.{name}"),
                    remedy=nearest(name, schema.names, "fields"),
                )
            for place, word in value.spelled():
                if word not in schema[name].codes:
                    raise InputError(
                        f"{word!r} is not in the domain of {name!r}",
                        where=Where(field=f"event.{name}{place}"),
                        remedy=nearest(word, schema[name].values, "values"),
                    )

    def named_arguments(self) -> Iterator[tuple[str, str]]:
        """Place and name of every argument that the block speaks of."""
        for name, value in self.event.items():
            for argument in value.arguments:
                yield f"event.{name}.argument", argument
        for kind in ("decisive", "carries"):
            for argument in getattr(self, kind):
                yield kind, argument


class ToolMetadata(ToolEvent):
    """A tool as an agent is offered it, with what its calls mean.

    Attributes
    ----------
    name
        Unique within an episode; letters, digits, `_` and `-`.
    environment
        The service that it acts on.
    description
        For the model.
    parameters
        JSON schema of the arguments: an object with `properties`.
    effect
        Whether it reads, writes or destroys state.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    environment: str
    description: str
    parameters: dict[str, Any]
    effect: Effect

    @model_validator(mode="after")
    def _arguments_exist(self) -> ToolMetadata:
        properties = self.parameters.get("properties", {})
        if self.parameters.get("type") != "object" or not isinstance(properties, Mapping):
            raise ValueError("parameters: a JSON schema {type: object, properties: …} belongs here")
        for place, name in self.named_arguments():
            if name.split(".")[0] not in properties:
                raise ValueError(
                    f"{place}: the tool has no argument {name!r}; "
                    + nearest(name, list(properties), "arguments")
                )
        return self
