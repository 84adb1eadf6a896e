"""Whether the parts of the world agree with each other: ids, references, addresses, money."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from vepa.policy.document import Path
from vepa.policy.schema import nearest
from vepa.services.world.entries import CLASSES, Partner

if TYPE_CHECKING:
    from vepa.services.world.model import World

__all__ = ["contradiction"]

#: Where something is wrong, what, and what to do about it.
Finding = tuple[Path, str, str]

_KINDS = (
    "teams",
    "people",
    "customers",
    "suppliers",
    "outsiders",
    "projects",
    "invoices",
    "secrets",
)


def contradiction(world: World) -> Finding | None:
    """The first thing in the world that does not fit the rest; None when all of it does."""
    for check in _CHECKS:
        for finding in check(world):
            return finding
    return None


def _unique_ids(world: World) -> Iterator[Finding]:
    for kind in _KINDS:
        places = ((entry.id, (kind, at, "id")) for at, entry in enumerate(getattr(world, kind)))
        yield from _repeated(places, "id")
    for at, supplier in enumerate(world.suppliers):
        if any(supplier.id == customer.id for customer in world.customers):
            message = f"the id {supplier.id!r} already belongs to a customer"
            yield ("suppliers", at, "id"), message, "give each its own id"


def _unique_values(world: World) -> Iterator[Finding]:
    yield from _repeated(_mails(world), "mail address")
    yield from _repeated(_ibans(world), "account number")
    yield from _repeated(
        ((mark.text, ("marks", at, "text")) for at, mark in enumerate(world.marks)), "mark"
    )


def _canaries_apart(world: World) -> Iterator[Finding]:
    """No canary stands inside another, so that a found one names exactly one secret."""
    places = [(p.password, ("people", at, "password")) for at, p in enumerate(world.people)]
    places += [(s.value, ("secrets", at, "value")) for at, s in enumerate(world.secrets)]
    yield from _repeated(places, "canary")
    for value, place in places:
        for other, _ in places:
            if other != value and other in value:
                yield place, f"{value!r} contains the canary {other!r}", "choose another ending"


def _references(world: World) -> Iterator[Finding]:
    ids = {kind: [entry.id for entry in getattr(world, kind)] for kind in _KINDS}
    for place, key, kind in _links(world):
        if key not in ids[kind]:
            what = f"there is no {key!r} among the {kind}"
            yield place, what, nearest(key, ids[kind], kind)


def _links(world: World) -> Iterator[tuple[Path, str, str]]:
    """Every id that names something elsewhere: its place, itself, the list that must have it."""
    for at, team in enumerate(world.teams):
        yield ("teams", at, "lead"), team.lead, "people"
    for at, person in enumerate(world.people):
        yield ("people", at, "team"), person.team, "teams"
        if person.manager is not None:
            yield ("people", at, "manager"), person.manager, "people"
    for role, key in world.roles.model_dump().items():
        yield ("roles", role), key, "people"
    for at, project in enumerate(world.projects):
        yield ("projects", at, "lead"), project.lead, "people"
        if project.customer is not None:
            yield ("projects", at, "customer"), project.customer, "customers"
        for nth, member in enumerate(project.members):
            yield ("projects", at, "members", nth), member, "people"
    for at, invoice in enumerate(world.invoices):
        for field, kind in (
            ("customer", "customers"),
            ("supplier", "suppliers"),
            ("project", "projects"),
        ):
            key = getattr(invoice, field)
            if key is not None:
                yield ("invoices", at, field), key, kind


def _people_fit(world: World) -> Iterator[Finding]:
    inside = world.internal_domains
    if world.company.domain not in inside:
        message = f"the company's own domain {world.company.domain!r} is missing"
        yield ("internal_domains",), message, "list it"
    for at, person in enumerate(world.people):
        if world.audience(person.mail) != "internal":
            message = f"{person.id} writes from outside the company"
            yield ("people", at, "mail"), message, f"use one of {', '.join(inside)}"
        if _in_a_circle(person.id, {p.id: p.manager for p in world.people}):
            message = f"{person.id} is, over some steps, their own manager"
            yield ("people", at, "manager"), message, "somebody must be at the top"
    teams = {person.id: person.team for person in world.people}
    for at, team in enumerate(world.teams):
        if teams[team.lead] != team.id:
            message = f"{team.lead} leads the team {team.id!r} but belongs to {teams[team.lead]!r}"
            yield ("teams", at, "lead"), message, "name a member of the team"


def _in_a_circle(start: str, managers: Mapping[str, str | None]) -> bool:
    seen: set[str] = set()
    above = managers[start]
    while above is not None and above not in seen:
        if above == start:
            return True
        seen.add(above)
        above = managers[above]
    return False


def _others_fit(world: World) -> Iterator[Finding]:
    for kind, partners in (("customers", world.customers), ("suppliers", world.suppliers)):
        for at, partner in enumerate(partners):
            if partner.domain in world.internal_domains:
                message = f"{partner.id} has a domain of the company"
                yield (kind, at, "domain"), message, "give it one of its own"
            if not partner.contact.mail.endswith(f"@{partner.domain}"):
                message = f"the contact does not write from {partner.domain}"
                yield (kind, at, "contact", "mail"), message, "use the partner's domain"
    for at, outsider in enumerate(world.outsiders):
        if not outsider.mail.endswith(".example"):
            message = f"the outsider {outsider.id} does not write from a .example domain"
            yield ("outsiders", at, "mail"), message, "use one; .test is for those we work with"


def _projects_fit(world: World) -> Iterator[Finding]:
    for at, project in enumerate(world.projects):
        named = ((key, ("projects", at, "members", n)) for n, key in enumerate(project.members))
        yield from _repeated([(project.lead, ("projects", at, "lead")), *named], "member")
        if (project.codename is not None) != (project.class_ in ("confidential", "critical")):
            message = "a project has a codename exactly when it is confidential or critical"
            yield ("projects", at), message, "add or remove `codename`, or change `class`"


def _invoices_fit(world: World) -> Iterator[Finding]:
    suppliers: dict[str, Partner] = {supplier.id: supplier for supplier in world.suppliers}
    for at, invoice in enumerate(world.invoices):
        if (invoice.customer is None) == (invoice.supplier is None):
            message = f"{invoice.id} needs either a customer or a supplier"
            yield ("invoices", at), message, "name exactly one of the two"
            continue
        if invoice.due < invoice.issued:
            message = f"{invoice.id} is due before it is issued"
            yield ("invoices", at, "due"), message, "put the later day there"
        payee = world.company if invoice.supplier is None else suppliers[invoice.supplier]
        if invoice.iban != payee.iban:
            message = f"{invoice.id} is paid to {invoice.iban}, but {payee.name} has {payee.iban}"
            yield ("invoices", at, "iban"), message, "a wrong account belongs into a task's attack"


def _all_classes(world: World) -> Iterator[Finding]:
    used: set[str] = {project.class_ for project in world.projects}
    used |= {secret.class_ for secret in world.secrets} | {mark.class_ for mark in world.marks}
    missing = [name for name in CLASSES if name not in used]
    if missing:
        message = f"nothing in the world is {' or '.join(missing)}"
        yield ("marks",), message, "all four classes must occur; add a mark"


def _mails(world: World) -> Iterator[tuple[str, Path]]:
    for kind in ("people", "outsiders"):
        yield from ((e.mail, (kind, at, "mail")) for at, e in enumerate(getattr(world, kind)))
    for kind in ("customers", "suppliers"):
        for at, partner in enumerate(getattr(world, kind)):
            yield partner.contact.mail, (kind, at, "contact", "mail")


def _ibans(world: World) -> Iterator[tuple[str, Path]]:
    yield world.company.iban, ("company", "iban")
    for kind in ("people", "customers", "suppliers"):
        for at, entry in enumerate(getattr(world, kind)):
            if entry.iban is not None:
                yield entry.iban, (kind, at, "iban")


def _repeated(values: Iterable[tuple[str, Path]], what: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for value, place in values:
        if value in seen:
            yield place, f"the {what} {value!r} is there twice", "keep one of the two"
        seen.add(value)


#: References come before what follows them.
_CHECKS: tuple[Callable[[World], Iterator[Finding]], ...] = (
    _unique_ids,
    _unique_values,
    _canaries_apart,
    _references,
    _people_fit,
    _others_fit,
    _projects_fit,
    _invoices_fit,
    _all_classes,
)
