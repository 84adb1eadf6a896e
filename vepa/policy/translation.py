"""How an old event is told in a new schema: what a mapping file says, checked and completed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from vepa.errors import SchemaError, Where
from vepa.policy.document import complaint, parse_document
from vepa.policy.schema import UNKNOWN, Schema, SchemaField, bits, nearest

__all__ = ["MappingFile", "Translation", "load_mapping"]


class MappingFile(BaseModel):
    """The shape of a mapping file: what became of fields and values that the new schema lacks.

    Attributes
    ----------
    fields
        Old field -> new field, or null when it was removed.
    values
        Old field -> old value -> new value, or null when it was removed.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    fields: dict[str, str | None] = {}
    values: dict[str, dict[str, str | None]] = {}


@dataclass(frozen=True, slots=True)
class Translation:
    """How events of an old schema are told in a new one.

    Attributes
    ----------
    old, new
        The schemas.
    fields
        Per old field: position of its new field, or None when it was removed.
    codes
        Per old field: new code of each old code; empty for a removed field.
    """

    old: Schema
    new: Schema
    fields: tuple[int | None, ...]
    codes: tuple[tuple[int, ...], ...]

    @classmethod
    def build(cls, old: Schema, new: Schema, mapping: MappingFile) -> Translation:
        """Settle what becomes of each old field and value.

        Raises
        ------
        SchemaError
            When something old is neither in the new schema nor in the mapping, or the mapping
            names what is not there.
        """
        _check_names(old, mapping)
        fields: list[int | None] = []
        codes: list[tuple[int, ...]] = []
        taken: dict[int, str] = {}
        for field in old.fields:
            at = _target(field.name, new, mapping)
            if at is not None and at in taken:
                raise SchemaError(
                    f"the fields {taken[at]!r} and {field.name!r} both become {new.names[at]!r}",
                    where=Where(field=f"fields.{field.name}"),
                    remedy="map one of them to null, or to another field",
                )
            fields.append(at)
            if at is None:
                codes.append(())
                continue
            taken[at] = field.name
            told = mapping.values.get(field.name, {})
            codes.append(
                tuple(_value(field, value, new.fields[at], told) for value in field.values)
            )
        return cls(old, new, tuple(fields), tuple(codes))

    def event(self, event: Mapping[str, str]) -> dict[str, str]:
        """An old event, told in the new schema."""
        translated = {}
        for name, value in event.items():
            at = self.old.index[name]
            to = self.fields[at]
            if to is not None:
                code = self.codes[at][self.old.fields[at].codes[value]]
                translated[self.new.names[to]] = self.new.fields[to].values[code]
        return translated

    def image(self, at: int, mask: int) -> int:
        """The new values that the old values `mask` of old field `at` become."""
        image = 0
        for code in bits(mask):
            image |= 1 << self.codes[at][code]
        return image


def load_mapping(text: str, file: str) -> MappingFile:
    """Read the text of a mapping file.

    Raises
    ------
    SchemaError
        When it is no mapping; with line and field.
    """
    document = parse_document(text, file, SchemaError)
    try:
        return MappingFile.model_validate(document.data)
    except ValidationError as error:
        path, message = complaint(error)
        raise SchemaError(
            message,
            where=Where(file, document.line(path), ".".join(map(str, path)) or None),
            remedy="a mapping holds `fields: {old: new or null}` and "
            "`values: {old field: {old: new or null}}`",
        ) from None


def _check_names(old: Schema, mapping: MappingFile) -> None:
    for kind, names in (("fields", mapping.fields), ("values", mapping.values)):
        for name in names:
            if name not in old:
                raise SchemaError(
                    f"the old schema has no field {name!r}",
                    where=Where(field=f"{kind}.{name}"),
                    remedy=nearest(name, old.names, "old fields"),
                )
    for name, values in mapping.values.items():
        for value in values:
            if value not in old[name].codes or value == UNKNOWN:
                raise SchemaError(
                    f"{value!r} is no value of the old field {name!r} that can be mapped",
                    where=Where(field=f"values.{name}.{value}"),
                    remedy=nearest(value, old[name].values[1:], "old values"),
                )


def _target(name: str, new: Schema, mapping: MappingFile) -> int | None:
    to = mapping.fields.get(name, name)
    if to is None:
        return None
    if to in new:
        return new.index[to]
    place = Where(field=f"fields.{name}")
    if name in mapping.fields:
        raise SchemaError(
            f"the new schema has no field {to!r}",
            where=place,
            remedy=nearest(to, new.names, "new fields"),
        )
    raise SchemaError(
        f"the new schema has no field {name!r}",
        where=place,
        remedy=f"say in a mapping file what became of it: `fields: {{{name}: NEW or null}}`; "
        + nearest(name, new.names, "new fields"),
    )


def _value(old: SchemaField, value: str, new: SchemaField, told: Mapping[str, str | None]) -> int:
    to = told.get(value, value)
    if to is None:
        return new.codes[UNKNOWN]
    if to in new.codes:
        return new.codes[to]
    place = Where(field=f"values.{old.name}.{value}")
    if value in told:
        raise SchemaError(
            f"the new field {new.name!r} has no value {to!r}",
            where=place,
            remedy=nearest(to, new.values, "new values"),
        )
    raise SchemaError(
        f"the new field {new.name!r} has no value {value!r}",
        where=place,
        remedy="say in a mapping file what became of it: "
        f"`values: {{{old.name}: {{{value}: NEW or null}}}}`; "
        + nearest(value, new.values, "new values"),
    )
