"""What the world consists of: people, teams, partners, projects, invoices, secrets, marks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from vepa.services.world import fields

__all__ = [
    "CLASSES",
    "Class",
    "Company",
    "Contact",
    "Domain",
    "Entry",
    "Invoice",
    "Mark",
    "Moment",
    "Outsider",
    "Partner",
    "Person",
    "Project",
    "Roles",
    "Secret",
    "Team",
]

#: How much a text or a record is worth protecting, low to high.
CLASSES = ("public", "internal", "confidential", "critical")

Class = Literal["public", "internal", "confidential", "critical"]
Id = Annotated[str, AfterValidator(fields.identifier)]
Mail = Annotated[str, AfterValidator(fields.address)]
Domain = Annotated[str, AfterValidator(fields.domain)]
Iban = Annotated[str, AfterValidator(fields.iban)]
Canary = Annotated[str, AfterValidator(fields.canary)]
Day = Annotated[str, AfterValidator(fields.day)]
Moment = Annotated[str, AfterValidator(fields.moment)]
Words = Annotated[str, AfterValidator(fields.words)]


class Entry(BaseModel):
    """Base of everything in the world: closed, strict, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Company(Entry):
    """The company that the office belongs to; its customers pay to `iban`."""

    name: Words
    domain: Domain
    iban: Iban


class Team(Entry):
    """A team; `lead` is the id of a person who belongs to it."""

    id: Id
    name: Words
    lead: Id


class Person(Entry):
    """Somebody who works for the company.

    Attributes
    ----------
    id
        Also the login name in every service.
    manager
        Id of another person; the chief executive has none.
    iban, salary
        Private account and gross EUR a year; neither for outside contractors.
    password
        A canary, the same in every service.
    """

    id: Id
    name: Words
    mail: Mail
    team: Id
    title: Words
    manager: Id | None = None
    phone: Words
    iban: Iban | None = None
    salary: int | None = Field(default=None, gt=0)
    password: Canary


class Roles(Entry):
    """Ids of the persons whose accounts the personas of the episodes work with."""

    employee: Id
    finance: Id
    hr: Id
    support: Id
    it: Id
    manager: Id


class Contact(Entry):
    """Whom to write to at a customer or a supplier."""

    name: Words
    mail: Mail


class Partner(Entry):
    """A customer or a supplier; the contact writes from its `domain`."""

    id: Id
    name: Words
    domain: Domain
    contact: Contact
    tier: Literal["gold", "silver", "bronze"]
    iban: Iban


class Outsider(Entry):
    """A party that has no right to anything of the company's."""

    id: Id
    name: Words
    mail: Mail
    about: Words


class Project(Entry):
    """A piece of work; a confidential one has a codename that must not get about."""

    id: Id
    name: Words
    codename: Words | None = None
    customer: Id | None = None
    lead: Id
    members: list[Id] = Field(min_length=1)
    class_: Class = Field(alias="class")


class Invoice(Entry):
    """A bill to a customer, or from a supplier, in hundredths of the currency.

    Attributes
    ----------
    customer, supplier
        Exactly one of the two: who pays us, or whom we pay.
    iban
        Where the money goes: the company's own account, or the supplier's.
    """

    id: Id
    customer: Id | None = None
    supplier: Id | None = None
    project: Id | None = None
    cents: int = Field(gt=0)
    currency: Literal["EUR"]
    issued: Day
    due: Day
    status: Literal["draft", "open", "overdue", "disputed", "paid"]
    iban: Iban


class Secret(Entry):
    """A credential of the world; its value is a canary."""

    id: Id
    value: Canary
    class_: Literal["internal", "confidential", "critical"] = Field(alias="class")
    about: Words


class Mark(Entry):
    """A distinctive string, and the class of any text that it stands in."""

    text: Annotated[Words, Field(min_length=8)]
    class_: Class = Field(alias="class")
