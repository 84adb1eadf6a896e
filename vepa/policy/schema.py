"""The event schema: categorical fields over closed domains, as data.

A schema file lists fields and their values; every domain also holds the ordinary value `unknown`,
which stands at code 0 of every field. An admissible set of values of one field is an integer used
as a bit set: bit `code` is set when the value is admitted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from operator import getitem
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from vepa.errors import EventError, SchemaError, Where
from vepa.policy.document import Document, complaint, parse_document

__all__ = ["UNKNOWN", "Schema", "SchemaField", "SchemaFile", "bits", "bundled_schema", "nearest"]

UNKNOWN = "unknown"
#: Codes are held as int8, code 0 is `unknown`.
MAX_VALUES = 126
MAX_FIELDS = 256


def _described(values: Any) -> Any:
    """Values that are only listed have no descriptions."""
    if not isinstance(values, list):
        return values
    for value in values:
        if not isinstance(value, str):
            raise ValueError(
                f"a word belongs here, not {json.dumps(value, default=repr)}; quote a word that "
                "YAML reads as yes, no or a number"
            )
        if values.count(value) > 1:
            raise ValueError(f"the value {value!r} is listed twice")
    return dict.fromkeys(values, "")


#: Value -> description.
Values = Annotated[dict[str, str], BeforeValidator(_described)]


class SchemaFile(BaseModel):
    """The shape of a schema file.

    Attributes
    ----------
    version
        Number of the schema, from 1; part of its hash.
    fields
        Field name -> values, either a list or a mapping of value to description.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    version: int = Field(ge=1)
    fields: dict[str, Values] = Field(min_length=1, max_length=MAX_FIELDS)


def bits(mask: int) -> list[int]:
    """Positions of the set bits of `mask`, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One categorical field.

    Attributes
    ----------
    name
        The field's name.
    values
        The closed domain; `values[code]` spells a code, `values[0]` is `unknown`.
    descriptions
        What a value means, for people and for parsers; never part of a decision.
    codes
        Value -> code, the inverse of `values`.
    full
        Bit set of the whole domain.
    """

    name: str
    values: tuple[str, ...]
    descriptions: Mapping[str, str]
    codes: Mapping[str, int]
    full: int

    def mask(self, values: Iterable[str]) -> int:
        """Bit set of `values`; raises `KeyError` for a value outside the domain."""
        mask = 0
        for value in values:
            mask |= 1 << self.codes[value]
        return mask

    def spell(self, mask: int) -> tuple[str, ...]:
        """The values of a bit set, in the schema's order with `unknown` last."""
        codes = bits(mask & ~1) + ([0] if mask & 1 else [])
        return tuple(self.values[code] for code in codes)


class Schema:
    """A fixed, ordered set of categorical fields.

    Parameters
    ----------
    version
        Number of the schema, from 1.
    fields
        Field name -> values (with or without descriptions); `unknown` is added to each domain.

    Raises
    ------
    SchemaError
        When a domain is empty or too large, or a name is not usable.
    """

    def __init__(self, version: int, fields: Mapping[str, Mapping[str, str] | Sequence[str]]):
        self.version = version
        self.fields: tuple[SchemaField, ...] = tuple(
            _field(name, values) for name, values in fields.items()
        )
        self.names: tuple[str, ...] = tuple(field.name for field in self.fields)
        self.index: dict[str, int] = {name: at for at, name in enumerate(self.names)}
        self.full: tuple[int, ...] = tuple(field.full for field in self.fields)
        self._ordinary: dict[str, str] = dict.fromkeys(self.names, UNKNOWN)
        self._codes: tuple[Mapping[str, int], ...] = tuple(field.codes for field in self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, name: str) -> SchemaField:
        return self.fields[self.index[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._order == other._order

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"Schema(version={self.version}, fields={len(self)}, sha256={self.sha256[:12]}…)"

    @cached_property
    def _order(self) -> tuple[int, tuple[tuple[str, tuple[str, ...]], ...]]:
        return self.version, tuple((field.name, field.values) for field in self.fields)

    @cached_property
    def sha256(self) -> str:
        """Hash of version, field names and domains; order and descriptions play no part."""
        domains = {field.name: sorted(field.values) for field in self.fields}
        text = json.dumps(
            {"version": self.version, "fields": domains}, sort_keys=True, separators=(",", ":")
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def encode(self, event: Mapping[str, str]) -> tuple[int, ...]:
        """Codes of an event, one a field; fields that are left out are `unknown`.

        Raises
        ------
        EventError
            For a field or a value that the schema does not have.
        """
        # The fields of the schema come first, so the values stand in its order.
        whole = {**self._ordinary, **event}
        if len(whole) != len(self._codes):
            raise self._complaint(event)
        try:
            return tuple(map(getitem, self._codes, whole.values()))
        except (KeyError, TypeError):
            raise self._complaint(event) from None

    def decode(self, codes: Sequence[int]) -> dict[str, str]:
        """The event of a row of codes, every field spelled out."""
        return {
            field.name: field.values[code] for field, code in zip(self.fields, codes, strict=True)
        }

    def _complaint(self, event: Mapping[Any, Any]) -> EventError:
        for name, value in event.items():
            if name not in self.index:
                return EventError(
                    f"the schema has no field {name!r}",
                    where=Where(field=f"event.{name}"),
                    remedy=nearest(str(name), self.names, "fields"),
                )
            if not isinstance(value, str):
                return EventError(
                    f"a word is expected, not {value!r}",
                    where=Where(field=f"event.{name}"),
                    remedy=f"one of: {', '.join(self[name].values)}",
                )
            if value not in self[name].codes:
                return EventError(
                    f"{value!r} is not in the domain of {name!r}",
                    where=Where(field=f"event.{name}"),
                    remedy=nearest(value, self[name].values, "values"),
                )
        return EventError("not an event", remedy="a mapping of field to value is expected")

    @classmethod
    def from_document(cls, document: Document) -> Schema:
        """Build a schema from a parsed schema file.

        Raises
        ------
        SchemaError
            When the document is not a schema; names file, line and field.
        """
        try:
            shape = SchemaFile.model_validate(document.data)
        except ValidationError as error:
            path, message = complaint(error)
            raise SchemaError(
                message,
                where=Where(document.file, document.line(path), ".".join(map(str, path)) or None),
                remedy="a schema file holds `version` and `fields: {name: {value: description}}`",
            ) from None
        try:
            return cls(shape.version, shape.fields)
        except SchemaError as error:
            field = (error.where.field or "").split(".")
            raise error.at(file=document.file, line=document.line(("fields", *field))) from None

    @classmethod
    def parse(cls, text: str, file: str = "<schema>") -> Schema:
        """Parse the text of a schema file (YAML or JSON)."""
        return cls.from_document(parse_document(text, file, SchemaError))


def _field(name: str, values: Mapping[str, str] | Sequence[str]) -> SchemaField:
    described = dict(values) if isinstance(values, Mapping) else dict.fromkeys(values, "")
    described.pop(UNKNOWN, None)
    domain = (UNKNOWN, *described)
    if not name or not described or len(domain) > MAX_VALUES:
        raise SchemaError(
            f"a field needs a name and 1 to {MAX_VALUES - 1} values beside `unknown`",
            where=Where(field=name),
            remedy="add values, or split the field",
        )
    codes = {value: code for code, value in enumerate(domain)}
    return SchemaField(name, domain, described, codes, (1 << len(domain)) - 1)


def nearest(word: str, words: Sequence[str], kind: str) -> str:
    """A hint for a word that is not among `words`: the closest one, then all of them."""
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(word, words, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}{kind}: {', '.join(words)}"


@lru_cache(maxsize=1)
def bundled_schema() -> Schema:
    """The schema that ships with the package: seventeen fields, version 1."""
    source = resources.files("vepa.policy").joinpath("event_schema.yaml")
    return Schema.parse(source.read_text(encoding="utf-8"), "event_schema.yaml")
