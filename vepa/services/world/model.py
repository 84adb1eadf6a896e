"""The world as one record, and how it is read from its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from vepa.errors import InputError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import complaint, parse_document
from vepa.policy.schema import nearest
from vepa.services.world import checks, fields
from vepa.services.world.entries import (
    Company,
    Domain,
    Entry,
    Invoice,
    Mark,
    Moment,
    Outsider,
    Partner,
    Person,
    Project,
    Roles,
    Secret,
    Team,
)

__all__ = ["World", "load_world"]

#: One address, alone or behind a display name in the usual angle brackets.
_ADDRESS = re.compile(r"(?:[^<>@]*<)?\s*[^<>@,;:\s]+@(?P<host>[^<>@,;:\s]+)\s*>?")

_E = TypeVar("_E", Team, Person, Partner, Outsider, Project, Invoice, Secret)


class World(Entry):
    """The seeded world.

    Attributes
    ----------
    world
        Version of this format.
    clock
        The moment at which every episode begins, in UTC.
    internal_domains
        Mail domains whose addresses are inside the company.
    """

    world: Literal[1]
    company: Company
    clock: Moment
    internal_domains: list[Domain] = Field(min_length=1)
    teams: list[Team] = Field(min_length=1)
    people: list[Person] = Field(min_length=1)
    roles: Roles
    customers: list[Partner] = Field(min_length=1)
    suppliers: list[Partner] = Field(min_length=1)
    outsiders: list[Outsider] = Field(min_length=1)
    projects: list[Project] = Field(min_length=1)
    invoices: list[Invoice] = Field(min_length=1)
    secrets: list[Secret] = Field(min_length=1)
    marks: list[Mark] = Field(min_length=1)

    @property
    def now(self) -> datetime:
        """The seed clock, aware, in UTC."""
        return datetime.strptime(self.clock, fields.MOMENT).replace(tzinfo=UTC)

    def person(self, key: str) -> Person:
        """The person with this id.

        Raises
        ------
        InputError
            When there is none; so do the other look-ups by id.
        """
        return _one(self.people, key, "person", "people")

    def team(self, key: str) -> Team:
        """The team with this id."""
        return _one(self.teams, key, "team", "teams")

    def customer(self, key: str) -> Partner:
        """The customer with this id."""
        return _one(self.customers, key, "customer", "customers")

    def supplier(self, key: str) -> Partner:
        """The supplier with this id."""
        return _one(self.suppliers, key, "supplier", "suppliers")

    def outsider(self, key: str) -> Outsider:
        """The outsider with this id."""
        return _one(self.outsiders, key, "outsider", "outsiders")

    def project(self, key: str) -> Project:
        """The project with this id."""
        return _one(self.projects, key, "project", "projects")

    def invoice(self, key: str) -> Invoice:
        """The invoice with this id."""
        return _one(self.invoices, key, "invoice", "invoices")

    def secret(self, key: str) -> Secret:
        """The secret with this id; a person's password stands with the person."""
        return _one(self.secrets, key, "secret", "secrets")

    def role(self, name: str) -> Person:
        """The person whose account the persona role `name` works with."""
        roles = self.roles.model_dump()
        if name not in roles:
            raise InputError(
                f"there is no persona role {name!r}", remedy=nearest(name, list(roles), "roles")
            )
        return self.person(roles[name])

    def canaries(self) -> tuple[str, ...]:
        """Every credential of the world, passwords included, each once."""
        return tuple(secret for secret, _ in self._credentials())

    def marks_index(self) -> dict[str, str]:
        """Class by string: credentials, account numbers, codenames and marks.

        The company's own account stands on every invoice and is internal; all others are
        confidential. Salaries are bare numbers and therefore not in it.
        """
        index: dict[str, str] = dict(self._credentials())
        index[self.company.iban] = "internal"
        index.update((person.iban, "confidential") for person in self.people if person.iban)
        index.update((each.iban, "confidential") for each in (*self.customers, *self.suppliers))
        for project in self.projects:
            if project.codename is not None:
                index[project.codename] = project.class_
        index.update((mark.text, mark.class_) for mark in self.marks)
        return index

    def audience(self, mail_address: str) -> Literal["internal", "external"]:
        """Whether an address, with or without a display name, is inside the company.

        Only exactly the internal domains are: neither their subdomains nor look-alikes. What is
        no single address is external.
        """
        found = _ADDRESS.fullmatch(mail_address.strip())
        inside = found is not None and found["host"].lower() in self.internal_domains
        return "internal" if inside else "external"

    def _credentials(self) -> Iterator[tuple[str, str]]:
        yield from ((person.password, "critical") for person in self.people)
        yield from ((secret.value, secret.class_) for secret in self.secrets)


def load_world(path: str | Path) -> World:
    """Read the world and check that it holds together.

    Raises
    ------
    InputError
        When the file is missing, malformed or contradicts itself; names file, line, field and
        remedy.
    """
    document = parse_document(read_text(path), name_of(path), InputError)
    try:
        world = World.model_validate(document.data)
    except ValidationError as error:
        place, message = complaint(error)
        remedy = "see the comments in environments/world.yaml"
    else:
        found = checks.contradiction(world)
        if found is None:
            return world
        place, message, remedy = found
    where = Where(document.file, document.line(place), ".".join(map(str, place)) or None)
    raise InputError(message, where=where, remedy=remedy) from None


def _one(entries: Sequence[_E], key: str, what: str, kind: str) -> _E:
    for entry in entries:
        if entry.id == key:
            return entry
    raise InputError(
        f"there is no {what} {key!r} in the world",
        remedy=nearest(key, [entry.id for entry in entries], kind),
    )
