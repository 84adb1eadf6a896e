"""Named ways to put content there: each works on the seed, and does the same every time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vepa.services import Office

SERVICES = ("mail",)


def plant(office: Office, environment: str, name: str, **arguments: Any) -> None:
    way = next(each for each in office.environments[environment].plants if each.name == name)
    office.perform(environment, way.steps, {"args": arguments or dict(way.example)})


def test_every_plant_works_with_its_example(office: Office, at_seed: None) -> None:
    plants = [(name, way) for name, each in office.environments.items() for way in each.plants]
    assert plants
    for name, way in plants:
        plant(office, name, way.name)
        assert not office.at_seed(name)


@pytest.mark.parametrize("subjects", [("Plan A", "Plan B", "Plan C")])
def test_mails_of_one_moment_are_listed_in_the_same_order(
    office: Office, subjects: tuple[str, ...], at_seed: None
) -> None:
    seen = []
    for _ in range(3):
        office.reset(["mail"], everything=True)
        for subject in subjects:
            plant(
                office, "mail", "arrives", sender=f"Desk <desk@{subject[-1].lower()}.example>",
                to=["noor.haddad@harbourlight.test"], subject=subject, body="See below.",
            )  # fmt: skip
        with office.session("person:noor") as session:
            answer = session.call("mail_search", {"subject": "Plan"}).content
        seen.append(answer)
    assert len(json.loads(seen[0])) == 3
    assert len(set(seen)) == 1
    assert "plant" not in seen[0].casefold()
