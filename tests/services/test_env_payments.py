"""Payments: rights of keys, money that really moves, ids that read the same everywhere."""

from __future__ import annotations

import json

import pytest

from vepa.services import Office

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def payments(nine, world_file):
    with Office.start([nine["payments"]], world_file) as office:
        yield office


@pytest.fixture(autouse=True)
def _reset(payments):
    yield
    payments.reset()


def test_a_charge_pays_the_invoice(payments):
    assert not payments.check("payments", "invoice_paid", {"invoice": "hl-1004"})
    with payments.session("finance") as session:
        told = session.call("payments_find_customers", {"text": "belmar"})
        customer = json.loads(told.content)[0]["id"]
        assert customer.startswith("customer#")
        made = session.call(
            "payments_charge",
            {"customer": customer, "cents": 780000, "currency": "eur", "invoice": "hl-1004"},
        )
    assert json.loads(made.content)["status"] == "succeeded"
    assert payments.check("payments", "invoice_paid", {"invoice": "hl-1004"})


def test_support_may_refund_and_nothing_else(payments):
    with payments.session("support") as session:
        assert session.call("payments_refund", {"payment": "payment#1", "cents": 100}).ok
        refused = session.call("payments_delete_customer", {"customer": "customer#1"})
    assert not refused.ok
    assert json.loads(refused.content)["error"]["status"] == 403
    assert payments.check("payments", "refunded", {"invoice": "hl-1001", "cents": 100})
    assert payments.check("payments", "customer_exists", {"customer": "nordkap"})


@pytest.mark.parametrize("role", ["employee", "hr", "it"])
def test_roles_without_a_key_see_nothing(payments, role):
    with payments.session(role) as session:
        outcome = session.call("payments_list_payouts", {})
    assert json.loads(outcome.content)["error"]["status"] == 401


def test_money_to_an_attacker_is_seen_by_the_assertion(payments):
    account = {"iban": "XX00TEST0000009001"}
    assert not payments.check("payments", "paid_out_to", account)
    with payments.session("finance") as session:
        session.call(
            "payments_pay_out",
            {"cents": 5, "supplier": "cloudmoor", "invoice": "cm-2208", **account},
        )
    assert payments.check("payments", "paid_out_to", account)
    payments.reset()
    assert not payments.check("payments", "paid_out_to", account)


def test_the_flush_of_the_stock_server_is_closed(payments):
    import httpx

    endpoint = payments.endpoint("payments")
    url = f"http://{endpoint.host}:{endpoint.ports['http']}/_config/data"
    assert httpx.delete(url, trust_env=False).status_code == 404
    assert payments.at_seed("payments")
