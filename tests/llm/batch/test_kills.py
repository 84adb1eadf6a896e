"""kill -9 at any call, and connections lost: every request is answered, and paid once."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from batch_clients import asked, client, gather, start
from batch_servers import BatchServer, text_of

from vepa.llm import Ledger

COUNT, SIZE = 500, 200
#: Calls of a whole run, each seen before and after it is done: about so many moments.
MOMENTS = 24


def fate_of(body, before):
    """One in ten is not charged at first; one in fifty never has its shape."""
    number = int(text_of(body).split()[-1])
    if not before and number % 10 in (3, 7) and number % 4 == 1:
        return "errored" if number % 10 == 3 else "expired"
    return "garbled" if number % 50 == 0 else "ok"


def run_with_kills(wire, tmp_path, kills, seed):
    """A client that is killed and started again until one comes through."""
    random.seed(seed)
    moments = sorted(random.sample(range(MOMENTS), kills))
    print(f"{wire}: seed {seed}, killed at {moments}")  # noqa: T201
    seen, process = [0], None

    def watch(kind, when):
        if seen[0] in moments and process is not None and process.pid is not None:
            print(f"  killed {when} {kind}")  # noqa: T201
            os.kill(process.pid, signal.SIGKILL)
        seen[0] += 1

    with BatchServer() as server:
        server.fate, server.watch = fate_of, watch
        server.takes, server.drops = 0.02, {"create": 1}
        until = time.monotonic() + 120
        while time.monotonic() < until:
            process = start(wire, server.base(wire), tmp_path, COUNT, SIZE)
            process.join(60)
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL, process.exitcode
        assert process is not None
        assert process.exitcode == 0
        server.watch = lambda kind, when: None
        assert len(server.paid) == COUNT
        assert set(server.paid.values()) == {1}, "something was paid twice"
        asked_for = len(server.bodies())
        again = sum(fate_of(body, 0) in ("errored", "expired") for body in firsts(server))
        assert asked_for == COUNT + again
        created = server.calls.count("create")
        with client(wire, server.base(wire), tmp_path) as model:
            found = gather(model, range(COUNT))
        assert server.calls.count("create") == created
    assert sum(each.fault is None for each in found.values()) == COUNT - COUNT // 50
    lines = [(e.request, e.tags["batch"]) for e in Ledger(tmp_path / "ledger.jsonl").entries()]
    assert len(lines) == len(set(lines)) == asked_for
    assert {request for request, _ in lines} == {asked(n).content_hash for n in range(COUNT)}


def firsts(server):
    """Each body once."""
    return {text_of(body): body for body in server.bodies()}.values()


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_kill_at_a_random_call_and_a_lost_connection_pay_for_nothing_twice(wire, tmp_path):
    run_with_kills(wire, tmp_path, kills=1, seed=random.randrange(10**6))


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_ten_kills_pay_for_nothing_twice(wire, tmp_path):
    run_with_kills(wire, tmp_path, kills=10, seed=random.randrange(10**6))
