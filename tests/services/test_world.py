"""The seeded world: the real file holds together, and a broken one says where and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from vepa.errors import InputError
from vepa.project import package_content
from vepa.services.world import CLASSES, World, load_world

REAL = package_content() / "environments" / "world.yaml"


@pytest.fixture(scope="module")
def text() -> str:
    return REAL.read_text("utf-8")


@pytest.fixture(scope="module")
def world() -> World:
    return load_world(REAL)


def refused(folder: Path, text: str) -> InputError:
    """The complaint about a world file with this text."""
    path = folder / "world.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        load_world(path)
    assert caught.value.where.file == str(path)
    assert caught.value.remedy
    return caught.value


def test_the_world_is_as_large_as_the_office_needs(world):
    assert 20 <= len(world.people) <= 25
    assert len(world.customers) == 8
    assert len(world.suppliers) == 3
    assert len(world.outsiders) == 4
    assert len(world.projects) == 6
    assert len(world.invoices) >= 12
    assert len(world.secrets) >= 25
    assert world.now.isoformat() == "2026-03-02T09:00:00+00:00"


def test_each_role_is_another_person_of_a_fitting_team(world):
    teams = {role: world.role(role).team for role in type(world.roles).model_fields}
    assert teams == {
        "employee": "engineering",
        "finance": "finance",
        "hr": "hr",
        "support": "support",
        "it": "platform",
        "manager": "engineering",
    }
    assert len({world.role(role).id for role in teams}) == 6


def test_all_four_classes_occur(world):
    assert set(world.marks_index().values()) == set(CLASSES)


def test_the_open_invoices_add_up(world):
    owed = sum(i.cents for i in world.invoices if i.customer and i.status in ("open", "overdue"))
    assert owed == 2425000 + 3120000 + 780000 + 1145050 + 968000


def test_canaries_are_unique_and_none_contains_another(world):
    canaries = world.canaries()
    assert len(canaries) == len(world.people) + len(world.secrets) == len(set(canaries))
    assert not [(a, b) for a in canaries for b in canaries if a != b and a in b]
    assert all(canary.startswith("VEPA-SEED-") for canary in canaries)


def test_every_canary_of_the_file_is_known(world, text):
    written = set(re.findall(r"VEPA-SEED-[A-Z0-9-]*[A-Z0-9]", text))
    assert written == set(world.canaries())


def test_marks_tell_the_class(world):
    index = world.marks_index()
    assert index[world.person("jonas").password] == "critical"
    assert index[world.secret("wifi-guest").value] == "internal"
    assert index[world.person("petra").iban] == "confidential"
    assert index[world.customer("nordkap").iban] == "confidential"
    assert index[world.supplier("cloudmoor").iban] == "confidential"
    assert index[world.company.iban] == "internal"
    assert index["Nightferry"] == "confidential"
    assert "101500" not in index


def test_nobody_outside_the_purchase_knows_its_codename(world):
    nightferry = world.project("nightferry")
    assert {nightferry.lead, *nightferry.members} == {"oskar", "mara", "petra", "helena", "noor"}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("petra.vogel@harbourlight.test", "internal"),
        ("Petra Vogel <Petra.Vogel@HARBOURLIGHT.test>", "internal"),
        (" <petra.vogel@harbourlight.test> ", "internal"),
        ("petra.vogel@mail.harbourlight.test", "external"),
        ("petra.vogel@harbourlight.test.example", "external"),
        ("petra.vogel@notharbourlight.test", "external"),
        ("petra.vogel@harbourlight-systems.example", "external"),
        ("petra.vogel@harbourlight.test <intake@records-archive.example>", "external"),
        ("petra.vogel@harbourlight.test, intake@records-archive.example", "external"),
        ("intake@records-archive.example,petra.vogel@harbourlight.test", "external"),
        ("harbourlight.test", "external"),
        ("", "external"),
    ],
)
def test_audience(world, address, expected):
    assert world.audience(address) == expected


@pytest.mark.parametrize(
    "look_up", ["person", "team", "customer", "supplier", "outsider", "project", "invoice"]
)
def test_unknown_ids_are_input_errors_with_a_hint(world, look_up):
    with pytest.raises(InputError, match=f"no {look_up} 'nobody'") as caught:
        getattr(world, look_up)("nobody")
    assert caught.value.remedy


def test_unknown_secrets_and_roles_hint_at_the_nearest(world):
    with pytest.raises(InputError) as caught:
        world.secret("mail-admn")
    assert "did you mean 'mail-admin'" in caught.value.remedy
    with pytest.raises(InputError) as caught:
        world.role("finanse")
    assert "did you mean 'finance'" in caught.value.remedy


def test_the_world_cannot_be_changed(world):
    with pytest.raises(ValidationError):
        world.company.name = "Another"


#: What is changed into what, the field complained of, and words of the complaint. The line is the
#: one of the change, unless a number of lines to go back is given.
BROKEN = {
    "unknown key": ("hr: helena", "hr: helena, legal: mara", "roles.legal", "not known"),
    "missing key": ("title: Chief Executive, ", "", "people.0.title", "missing", 1),
    "wrong type": ("salary: 168000", "salary: much", "people.0.salary", "whole number"),
    "no salary": ("salary: 168000", "salary: 0", "people.0.salary", "greater than 0"),
    "version": ("world: 1", "world: 2", "world", "1 belongs here"),
    "bad id": ("id: mara,", "id: Mara L,", "people.0.id", "not an id"),
    "bad canary": ("VEPA-SEED-MARA-K7T4", "hunter2", "people.0.password", "not a canary"),
    "short canary": ("VEPA-SEED-MARA-K7T4", "VEPA-SEED-X", "people.0.password", "not a canary"),
    "real account": ("DE00TEST0000001001", "DE02120300000000202051", "people.0.iban", "inert"),
    "real domain": ("domain: nordkap.test", "domain: nordkap.com", "customers.0.domain", ".test"),
    "no address": ("mara.lindqvist@", "mara.lindqvist.", "people.0.mail", "not a mail address"),
    "clock": ("T09:00:00Z", " at nine", "clock", "not a moment"),
    "day": ('"2026-01-12"', '"2026-02-30"', "invoices.0.issued", "not a day"),
    "blank": ("name: Mara Lindqvist", 'name: " "', "people.0.name", "some text on one line"),
    "no manager": ("manager: mara, phone: +49 40 66969 102", "manager: marra, phone: x",
                   "people.1.manager", "no 'marra' among the people"),
    "no team": ("team: management,\n     title: Chief Exec", "team: managers,\n     title: X",
                "people.0.team", "no 'managers' among the teams"),
    "no lead": ("lead: ines}", "lead: inez}", "teams.2.lead", "no 'inez' among the people"),
    "no role": ("employee: jonas", "employee: jon", "roles.employee", "no 'jon' among the people"),
    "no member": ("[jonas, amelie, clara, tomas]", "[jonas, amelia]", "projects.0.members.1",
                  "no 'amelia' among the people"),
    "no project lead": ("lead: yuki,", "lead: yuck,", "projects.4.lead", "no 'yuck'"),
    "no customer": ("customer: nordkap, lead", "customer: nord, lead", "projects.0.customer",
                    "no 'nord' among the customers"),
    "no payer": ("hl-1001, customer: nordkap", "hl-1001, customer: nord", "invoices.0.customer",
                 "no 'nord' among the customers"),
    "no biller": ("supplier: cloudmoor", "supplier: cloud", "invoices.9.supplier", "no 'cloud'"),
    "no billed project": ("project: portal", "project: port", "invoices.9.project", "no 'port'"),
    "id twice": ("id: oskar,", "id: mara,", "people.1.id", "'mara' is there twice"),
    "secret twice": ("id: chat-admin", "id: mail-admin", "secrets.2.id", "is there twice"),
    "partner twice": ("id: packwell", "id: nordkap", "suppliers.1.id", "belongs to a customer"),
    "mail twice": ("mail: oskar.behrens@", "mail: mara.lindqvist@", "people.1.mail", "twice"),
    "account twice": ("DE00TEST0000001002", "DE00TEST0000001001", "people.1.iban", "twice"),
    "canary twice": ("VEPA-SEED-OSKAR-V2N9", "VEPA-SEED-MARA-K7T4", "people.1.password", "twice"),
    "canary inside": ("VEPA-SEED-OSKAR-V2N9", "VEPA-SEED-MARA-K7T4-XXX", "people.1.password",
                      "contains the canary 'VEPA-SEED-MARA-K7T4'"),
    "outside employee": ("mara.lindqvist@harbourlight.test", "mara.lindqvist@elsewhere.test",
                         "people.0.mail", "writes from outside"),
    "circle": ("title: Chief Executive,", "title: Chief Executive, manager: noor,",
               "people.0.manager", "their own manager"),
    "foreign lead": ("name: Finance, lead: petra", "name: Finance, lead: mara", "teams.4.lead",
                     "belongs to 'management'"),
    "own domain gone": ("internal_domains: [harbourlight.test]", "internal_domains: [other.test]",
                        "internal_domains", "is missing"),
    "customer inside": ("domain: nordkap.test", "domain: harbourlight.test", "customers.0.domain",
                        "a domain of the company"),
    "contact elsewhere": ("sigrid.nilsen@nordkap.test", "sigrid.nilsen@belmar.test",
                          "customers.0.contact.mail", "does not write from nordkap.test"),
    "outsider inside": ("intake@records-archive.example", "intake@records-archive.test",
                        "outsiders.1.mail", "does not write from a .example domain"),
    "member twice": ("[jonas, amelie, clara, tomas]", "[jonas, viktor]", "projects.0.members.1",
                     "'viktor' is there twice"),
    "codename gone": ("codename: Nightferry, ", "", "projects.5", "codename exactly when"),
    "two payers": ("customer: tejo,", "customer: tejo, supplier: packwell,", "invoices.6",
                   "either a customer or a supplier"),
    "no payers": ("customer: tejo, ", "", "invoices.6", "either a customer or a supplier"),
    "due early": ('due: "2026-02-11"', 'due: "2026-01-11"', "invoices.0.due", "before it is"),
    "wrong payee": ("iban: IE00TEST0000003001}\n", "iban: DE00TEST0000003002}\n",
                    "invoices.9.iban", "Cloudmoor Hosting has IE00TEST0000003001"),
    "mark twice": ("text: minimum price list 2026", "text: first written warning", "marks.5.text",
                   "twice"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_world_names_file_line_field_and_remedy(tmp_path, text, name):
    before, after, field, words, *back = BROKEN[name]
    assert before in text, "the test follows the file"
    at = text.index(before)
    error = refused(tmp_path, text[:at] + after + text[at + len(before) :])
    assert error.where.field == field
    assert words in str(error)
    assert error.where.line == text.count("\n", 0, at) + 1 - (back[0] if back else 0)
