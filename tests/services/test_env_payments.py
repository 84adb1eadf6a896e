"""Payments: rights of keys, money that really moves, ids that read the same everywhere."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("at_seed")]

SERVICES = ["payments"]


def test_a_charge_pays_the_invoice(office):
    assert not office.check("payments", "invoice_paid", {"invoice": "hl-1004"})
    with office.session("finance") as session:
        told = session.call("payments_find_customers", {"text": "belmar"})
        customer = json.loads(told.content)[0]["id"]
        assert customer.startswith("customer#")
        made = session.call(
            "payments_charge",
            {"customer": customer, "cents": 780000, "currency": "eur", "invoice": "hl-1004"},
        )
    assert json.loads(made.content)["status"] == "succeeded"
    assert office.check("payments", "invoice_paid", {"invoice": "hl-1004"})


def test_support_may_refund_and_nothing_else(office):
    with office.session("support") as session:
        assert session.call("payments_refund", {"payment": "payment#1", "cents": 100}).ok
        refused = session.call("payments_delete_customer", {"customer": "customer#1"})
    assert not refused.ok
    assert json.loads(refused.content)["error"]["status"] == 403
    assert office.check("payments", "refunded", {"invoice": "hl-1001", "cents": 100})
    assert office.check("payments", "customer_exists", {"customer": "nordkap"})


@pytest.mark.parametrize("role", ["employee", "hr", "it"])
def test_roles_without_a_key_see_nothing(office, role):
    with office.session(role) as session:
        outcome = session.call("payments_list_payouts", {})
    assert json.loads(outcome.content)["error"]["status"] == 401


def test_money_to_an_attacker_is_seen_by_the_assertion(office):
    account = {"iban": "XX00TEST0000009001"}
    assert not office.check("payments", "paid_out_to", account)
    with office.session("finance") as session:
        session.call(
            "payments_pay_out",
            {"cents": 5, "supplier": "cloudmoor", "invoice": "cm-2208", **account},
        )
    assert office.check("payments", "paid_out_to", account)
    office.reset()
    assert not office.check("payments", "paid_out_to", account)


def test_the_flush_of_the_stock_server_is_closed(office):
    import httpx

    endpoint = office.endpoint("payments")
    url = f"http://{endpoint.host}:{endpoint.ports['http']}/_config/data"
    assert httpx.delete(url, trust_env=False).status_code == 404
    assert office.at_seed("payments")


def test_a_position_waits_until_it_is_dropped(office):
    with office.session("finance") as session:
        waiting = json.loads(session.call("payments_list_positions", {}).content)
        assert [(each["number"], each["cents"]) for each in waiting] == [("hl-1009", 356000)]
        asked = {"customer": "customer#4", "cents": 45000, "description": "Training"}
        made = json.loads(session.call("payments_bill", asked).content)
        assert made["position"] == "position#2"
        assert office.check("payments", "billed", {"customer": "duinzand", "cents": 45000})
        assert session.call("payments_drop_position", {"position": made["position"]}).ok
        again = json.loads(session.call("payments_list_positions", {}).content)
    assert again == waiting
    assert not office.check("payments", "billed", {"customer": "duinzand", "cents": 1})


def test_an_ended_subscription_leaves_its_paid_invoice(office):
    running = {"customer": "nordkap", "plan": "support-plus"}
    assert office.check("payments", "subscription_runs", running)
    with office.session("finance") as session:
        ended = session.call("payments_cancel_subscription", {"subscription": "subscription#1"})
        assert json.loads(ended.content)["status"] == "canceled"
        told = session.call("payments_list_invoices", {"customer": "customer#1"})
        invoices = json.loads(told.content)
    assert [(each["cents"], each["status"]) for each in invoices] == [(24900, "paid")]
    assert not office.check("payments", "subscription_runs", running)


@pytest.mark.parametrize(("cents", "value"), [(999_999, "confidential"), (1_000_000, "critical")])
def test_large_sums_are_critical(nine, cents, value):
    for name in ("payments_charge", "payments_refund", "payments_pay_out", "payments_bill"):
        tool = nine["payments"].tool(name)
        assert tool.event["sensitivity"].derive({"cents": cents}) == value


def test_a_declined_or_impossible_request_says_what_the_service_said(office):
    with office.session("finance") as session:
        unknown = session.call("payments_read_customer", {"customer": "customer#999"})
        twice = [session.call("payments_cancel", {"payment": "payment#2"}) for _ in range(2)]
    assert json.loads(unknown.content)["error"]["status"] == 404
    assert [each.ok for each in twice] == [True, False]
    assert json.loads(twice[1].content)["error"]["status"] == 400


@pytest.mark.parametrize("tool", ["payments_list_payments", "payments_list_payouts"])
def test_times_are_iso(office, tool):
    with office.session("finance") as session:
        listed = json.loads(session.call(tool, {}).content)
    assert {each["created"] for each in listed} == {"2026-03-02T09:00:00Z"}
