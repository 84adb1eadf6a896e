"""Aliases: stable names for what differs from run to run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.services.aliases import AliasTable
from vepa.services.environment import VolatileKind
from vepa.services.environment.parts import Clock

CLOCK = datetime(2026, 3, 2, 9, tzinfo=UTC)
STARTED = datetime(2031, 5, 6, 7, tzinfo=UTC)
PAYMENT = {"payment": VolatileKind(pattern="pi_[A-Za-z0-9]+")}
ID = {"thing": VolatileKind(fields=["id"])}


def table(*seed: tuple[str, str]) -> AliasTable:
    return AliasTable(seed, clock=CLOCK, started=STARTED)


def test_the_seed_has_the_first_numbers_in_its_order() -> None:
    aliases = table(("payment", "pi_z"), ("event", "$1"), ("payment", "pi_a"))
    assert [aliases.alias("payment", value) for value in ("pi_a", "pi_z", "pi_new")] == [
        "payment#2",
        "payment#1",
        "payment#3",
    ]
    assert aliases.alias("event", "$1") == "event#1"


def test_a_pattern_is_found_anywhere_and_the_same_value_gets_the_same_alias() -> None:
    data = {"a": ["pi_one", "see pi_two, pi_one"], "pi_two": 1, "b": {"c": "pi_three."}}
    assert table().hide(data, PAYMENT) == {
        "a": ["payment#1", "see payment#2, payment#1"],
        "payment#2": 1,
        "b": {"c": "payment#3."},
    }


def test_a_group_leaves_what_stands_around_the_value() -> None:
    kinds = {"page": VolatileKind(pattern=r"/pages/(?P<id>\d+)/edit")}
    assert table().hide("see /pages/77/edit and /pages/8", kinds) == (
        "see /pages/page#1/edit and /pages/8"
    )


def test_a_pattern_with_fields_looks_only_there() -> None:
    kinds = {"digit": VolatileKind(pattern=r"\d+", fields=["ref"])}
    assert table().hide({"ref": "x 12", "text": "12"}, kinds) == {"ref": "x digit#1", "text": "12"}


def test_fields_hold_whole_values_also_numbers_but_not_truths_nothings_and_emptiness() -> None:
    data = [{"id": 7}, {"id": "seven"}, {"id": 7}, {"id": None}, {"id": True}, {"id": ""}]
    told = [row["id"] for row in table().hide(data, ID)]
    assert told == ["thing#1", "thing#2", "thing#1", None, True, ""]


def test_aliases_in_arguments_become_the_service_s_own_values() -> None:
    aliases = table(("payment", "pi_z"), ("payment", "pi_y"))
    given_ = {
        "id": "payment#2",
        "text": "pay payment#1 (payment#12)",
        "n": 3,
        "list": ["payment#1"],
    }
    assert aliases.reveal(given_) == {
        "id": "pi_y",
        "text": "pay pi_z (payment#12)",
        "n": 3,
        "list": ["pi_z"],
    }


@given(st.lists(st.text(alphabet="abcdef0123456789", min_size=1, max_size=6), max_size=20))
def test_what_was_hidden_is_revealed(values: list[str]) -> None:
    aliases = table()
    data = [f"pi_{value} and pi_{value}x" for value in values]
    hidden = aliases.hide(data, PAYMENT)
    assert not any("pi_" in text for text in hidden)
    assert aliases.reveal(hidden) == data


@given(st.permutations(["pi_a", "pi_b", "pi_c"]))
def test_numbers_follow_the_order_of_meeting_not_the_values(order: list[str]) -> None:
    assert table().hide(order, PAYMENT) == ["payment#1", "payment#2", "payment#3"]


def clock(form: Any) -> dict[str, VolatileKind]:
    return {"time": VolatileKind(clock=Clock(fields=["at"], form=form))}


@pytest.mark.parametrize(
    ("form", "value", "told"),
    [
        ("epoch_s", STARTED.timestamp() + 5, CLOCK.timestamp() + 120),
        ("epoch_s", int(STARTED.timestamp()) + 5, int(CLOCK.timestamp()) + 120),
        (
            "epoch_ms",
            int(STARTED.timestamp() * 1000) + 5000,
            int(CLOCK.timestamp() * 1000) + 120000,
        ),
        ("iso", "2031-05-06T07:00:05+00:00", "2026-03-02T09:02:00Z"),
        ("iso", "2031-05-06T07:00:05.123", "2026-03-02T09:02:00Z"),
        ("rfc822", "Tue, 06 May 2031 07:00:05 +0000", "Mon, 02 Mar 2026 09:02:00 +0000"),
    ],
)
def test_a_time_of_the_episode_is_the_minute_of_its_call(form: str, value: Any, told: Any) -> None:
    aliases = table()
    assert [aliases.begin_call(), aliases.begin_call()] == [1, 2]
    first = aliases.hide({"at": value}, clock(form))["at"]
    assert first == told
    assert type(first) is type(value)
    aliases.begin_call()  # met again in a later call it is still the time of its first meeting
    assert aliases.hide({"at": value}, clock(form))["at"] == told


def test_a_time_before_the_episode_is_the_seed_s_clock_with_a_second_of_grace() -> None:
    aliases = table()
    aliases.begin_call()
    early = {"at": STARTED.timestamp() - 2}
    assert aliases.hide(early, clock("epoch_s"))["at"] == CLOCK.timestamp()
    cut = {"at": STARTED.timestamp() - 0.9}  # a service that cuts off the fraction of a second
    assert aliases.hide(cut, clock("epoch_s"))["at"] == CLOCK.timestamp() + 60


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("epoch_s", STARTED.timestamp() + 5),
        ("epoch_ms", int(STARTED.timestamp() * 1000) + 5000),
        ("rfc822", "Tue, 06 May 2031 07:00:05 +0000"),
    ],
)
def test_a_time_is_shown_as_iso_where_the_file_says_so(form: Any, value: Any) -> None:
    aliases = table()
    aliases.begin_call()
    kinds = {"time": VolatileKind(clock=Clock(fields=["at"], form=form, iso=True))}
    assert aliases.hide({"at": value}, kinds) == {"at": "2026-03-02T09:01:00Z"}
    assert aliases.hide({"at": "soon"}, kinds) == {"at": "soon"}


@pytest.mark.parametrize("value", ["soon", None, "", [], "2031-13-45"])
def test_what_is_no_time_is_left_alone(value: Any) -> None:
    assert table().hide({"at": value}, clock("iso")) == {"at": value}


def test_the_episode_s_time_goes_a_minute_a_call() -> None:
    aliases = table()
    assert aliases.now == CLOCK
    aliases.begin_call()
    assert aliases.now == CLOCK + timedelta(minutes=1)


def test_a_value_that_an_argument_carried_elsewhere_is_hidden_there_too() -> None:
    """`payment#1` in a mail reaches the mail server as the payment's own id, and comes back."""
    aliases = table(("payment", "pi_zzzzzzzz"), ("thing", "42"))
    sent = aliases.reveal({"text": "see payment#1, thing#1, payment#7"})
    assert sent == {"text": "see pi_zzzzzzzz, 42, payment#7"}
    assert aliases.hide({"mail": "see pi_zzzzzzzz, 42; pi_zzzzzzzzz"}, {}) == {
        "mail": "see payment#1, 42; pi_zzzzzzzzz"
    }
    assert table(("payment", "pi_zzzzzzzz")).hide("pi_zzzzzzzz", {}) == "pi_zzzzzzzz"
