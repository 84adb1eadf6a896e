"""Limits of a provider: as many at once, as many a minute, first come first served."""

from __future__ import annotations

import threading
import time

import pytest
from model_servers import Say, Slow

from vepa.errors import ModelError
from vepa.llm import Rates
from vepa.llm.failures import AttemptError
from vepa.llm.limits import Limiter


def run_through(limiter: Limiter, count: int, tokens: int, hold: float = 0.0) -> list[float]:
    """Moments at which each of `count` threads was let through."""
    moments: list[float] = []
    lock = threading.Lock()

    def work() -> None:
        with limiter.slot(tokens, time.monotonic() + 60) as slot:
            with lock:
                moments.append(slot.at)
            time.sleep(hold)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(moments)


def worst_window(moments: list[float], window: float) -> int:
    return max(sum(start <= at < start + window for at in moments) for start in moments)


def test_requests_in_any_window():
    moments = run_through(Limiter(100, requests=5, window=0.4), 17, tokens=1)
    assert len(moments) == 17
    assert worst_window(moments, 0.399) == 5
    assert moments[-1] - moments[0] >= 3 * 0.4


def test_tokens_in_any_window():
    moments = run_through(Limiter(100, tokens=100, window=0.4), 9, tokens=30)
    assert worst_window(moments, 0.399) == 3


def test_a_request_larger_than_the_limit_goes_alone():
    limiter = Limiter(100, tokens=10, window=0.3)
    moments = run_through(limiter, 2, tokens=50)
    assert moments[1] - moments[0] >= 0.3


def test_what_it_took_counts_and_not_the_worst_case():
    limiter = Limiter(1, tokens=100, window=30)
    for _ in range(9):
        with limiter.slot(90, time.monotonic() + 1) as slot:
            slot.settle(1)
    with pytest.raises(AttemptError), limiter.slot(95, time.monotonic() + 0.05):
        pass


def test_what_was_not_sent_does_not_count():
    limiter = Limiter(1, requests=1, window=30)
    with limiter.slot(1, time.monotonic() + 1) as slot:
        slot.cancel()
    with limiter.slot(1, time.monotonic() + 0.2):
        pass


def test_first_come_first_served():
    limiter = Limiter(1)
    order: list[int] = []
    gate = limiter.slot(1, time.monotonic() + 60)
    gate.__enter__()
    threads = []
    for number in range(12):

        def work(number: int = number) -> None:
            # A large request in front is not overtaken by the small ones behind it.
            with limiter.slot(10_000 if number == 0 else 1, time.monotonic() + 60):
                order.append(number)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        while len(limiter._line) <= number:
            time.sleep(0.001)
    gate.__exit__(None, None, None)
    for thread in threads:
        thread.join()
    assert order == list(range(12))


def test_a_place_that_does_not_come_in_time():
    limiter = Limiter(1)
    with limiter.slot(1, time.monotonic() + 60):
        began = time.monotonic()
        with pytest.raises(AttemptError), limiter.slot(1, began + 0.1):
            pass
        assert 0.1 <= time.monotonic() - began < 5
    with limiter.slot(1, time.monotonic() + 1):  # whoever gave up left the line
        pass


def test_a_pause_past_the_deadline_is_not_waited_for():
    limiter = Limiter(1)
    limiter.pause(3600)
    began = time.monotonic()
    with pytest.raises(AttemptError) as caught, limiter.slot(1, began + 60):
        pass
    assert time.monotonic() - began < 5
    assert caught.value.wait == pytest.approx(3600, abs=5)


def test_a_slot_is_free_again_after_an_error():
    limiter = Limiter(1)
    with pytest.raises(KeyError), limiter.slot(1, time.monotonic() + 1):
        raise KeyError
    with limiter.slot(1, time.monotonic() + 0.2):
        pass


def test_models_of_one_provider_share_the_stricter_limit(openai, hello):
    from concurrent.futures import ThreadPoolExecutor

    wide = openai.model([Slow("x", before=0.2)], concurrency=8)
    narrow = openai.model([Slow("x", before=0.2)], concurrency=2)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda n: (wide if n % 2 else narrow).ask(hello), range(10)))
    assert openai.server.most_at_once == 2


def test_rates_hold_over_the_wire(openai, hello):
    model = openai.model([Say("x")], rates=Rates(requests=2), deadline=1.5)
    model.ask(hello)
    model.ask(hello)
    with pytest.raises(ModelError) as caught:
        model.ask(hello)
    assert (caught.value.kind, openai.server.requests) == ("rate_limited", 2)


def test_tokens_a_minute_hold_over_the_wire(openai, hello):
    model = openai.model([Say("x")], rates=Rates(tokens=280), deadline=1.5)
    model.ask(hello)
    with pytest.raises(ModelError) as caught:
        model.ask(hello)
    assert (caught.value.kind, openai.server.requests) == ("rate_limited", 1)
