"""Assertions about what is not there."""

from __future__ import annotations

import pytest

from vepa.services import Office

SERVICES = ("database", "tickets")


@pytest.mark.parametrize(
    ("assertion", "arguments"),
    [
        ("ticket_field_is", {"ticket": 4711, "field": "status", "value": "open"}),
        ("ticket_is_public", {"ticket": 4711}),
        ("shared_with", {"ticket": 4711, "address": "a@b.test"}),
    ],
)
def test_what_is_not_there_has_no_properties(
    office: Office, assertion: str, arguments: dict[str, object]
) -> None:
    assert office.check("tickets", assertion, arguments) is False


@pytest.mark.parametrize(("role", "table"), [("analysts", "nowhere"), ("nobody_here", "invoices")])
def test_nobody_may_read_a_table_that_is_not_there(office: Office, role: str, table: str) -> None:
    asked = {"role": role, "privilege": "SELECT", "table": table}
    assert office.check("database", "role_may", asked) is False
