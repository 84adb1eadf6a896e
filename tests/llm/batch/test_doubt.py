"""What the vendor may have taken is looked for before anything is sent again."""

from __future__ import annotations

import time

import pytest
from batch_clients import FAST, asked, gather, opened
from batch_servers import BatchServer

from vepa.errors import ModelError, SettingError
from vepa.llm.batch.vendors import Limits


def test_a_lost_answer_of_the_paid_call_is_looked_for_and_found(server, wire, tmp_path):
    server.drops = {"create": 1}
    server.shows_after = 0.05
    with opened(server, wire, tmp_path) as model:
        found = gather(model, range(10))
    assert all(each.reply is not None for each in found.values())
    assert server.calls.count("create") == 1
    assert set(server.paid.values()) == {1}


def test_a_call_that_was_not_taken_is_sent_again_only_after_the_doubt(server, wire, tmp_path):
    server.fails = {"create": [500]}
    began = time.monotonic()
    with opened(server, wire, tmp_path) as model:
        gather(model, range(3))
    assert time.monotonic() - began >= FAST.doubt
    assert server.calls.count("create") == 2
    assert server.calls.count("list") >= 2
    assert set(server.paid.values()) == {1}


def test_openai_s_file_is_deleted_before_anything_is_sent_again(server, tmp_path):
    """A call that is still on its way when the doubt ends comes to nothing."""
    server.drops = {"create": 1}
    server.shows_after = 3600
    server.takes = 0.3
    with opened(server, "openai", tmp_path) as model:
        gather(model, range(3))
    assert server.calls.count("delete") == 1
    assert all(server.worked(made) for made in server.batches)
    assert [made.end for made in server.batches] == ["failed", "completed"]
    assert set(server.paid.values()) == {1}


def test_a_batch_that_might_be_ours_holds_everything_up_until_it_shows_whose_it_is(
    server, tmp_path
):
    server.drops = {"create": 1}
    server.takes = 2 * FAST.doubt
    with opened(server, "anthropic", tmp_path) as model:
        wanted = {model.key_of(asked(n)): (lambda n=n: asked(n)) for n in range(3)}
        model.step(wanted)
        other = [(f"theirs-{n}", {"messages": [{"content": "x"}]}) for n in range(3)]
        server.make("anthropic", other)
        gather(model, range(3))
    assert server.calls.count("create") == 1
    assert len(server.paid) == 4
    assert max(server.paid.values()) == 3, "only the other's three equal requests"


def test_two_batches_in_doubt_do_not_take_each_other_for_a_stranger(server, tmp_path):
    server.drops, server.shows_after = {"create": 2}, 3600

    def show_both_at_once(kind, when):
        if kind == "create" and len(server.batches) == 2:
            for made in server.batches:
                made.shown_at = 0

    server.watch = show_both_at_once
    with opened(server, "anthropic", tmp_path, limits=Limits(2, 10**6)) as model:
        gather(model, range(4))
    assert server.calls.count("create") == 2
    assert set(server.paid.values()) == {1}


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "not taken"])
def test_a_process_that_dies_in_the_paid_call_is_followed_by_one_that_looks(
    server, wire, tmp_path, taken
):
    with opened(server, wire, tmp_path) as model:
        vendor = model._sender._vendor
        real = vendor.submit

        def submit(*arguments):
            if taken:
                real(*arguments)
            raise KeyboardInterrupt

        vendor.submit = submit
        with pytest.raises(KeyboardInterrupt):
            model.step({model.key_of(asked(n)): (lambda n=n: asked(n)) for n in range(3)})
    with opened(server, wire, tmp_path) as model:
        assert [each.id for each in model.on_the_way()] == [None]
        gather(model, range(3))
    assert server.calls.count("create") == 1
    assert set(server.paid.values()) == {1}


def test_a_batch_that_the_vendor_forgot_is_not_sent_again_behind_anyone_s_back(
    server, wire, tmp_path
):
    server.takes = 60
    with opened(server, wire, tmp_path) as model:
        model.step({model.key_of(asked(1)): lambda: asked(1)})
    server.batches.clear()
    with opened(server, wire, tmp_path) as model, pytest.raises(ModelError, match="batch_0"):
        gather(model, [1])
    assert server.calls.count("create") == 1


def test_another_address_does_not_look_for_what_is_on_its_way_at_the_first(server, wire, tmp_path):
    server.takes = 60
    with opened(server, wire, tmp_path) as model:
        model.step({model.key_of(asked(1)): lambda: asked(1)})
    with BatchServer() as other, pytest.raises(SettingError, match="another place") as error:
        opened(other, wire, tmp_path).__enter__()
    assert server.base(wire) in str(error.value)
    assert not other.calls
    with opened(server, wire, tmp_path) as model:
        assert len(model.on_the_way()) == 1


def test_one_process_at_a_time(server, wire, tmp_path):
    with (
        opened(server, wire, tmp_path),
        pytest.raises(SettingError, match="another process"),
        opened(server, wire, tmp_path),
    ):
        pass
