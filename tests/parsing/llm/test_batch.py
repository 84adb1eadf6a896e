"""Work by several threads: the order of the items, and what an error leaves."""

from __future__ import annotations

import threading

import pytest

from vepa.parsing.llm.batch import in_order


def collected(results):
    """What came, and the error that ended it."""
    found = []
    try:
        found.extend(results)
    except ValueError as error:
        return found, error
    return found, None


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_results_come_in_the_order_of_the_items(workers):
    assert list(in_order(range(50), lambda item: item * 2, workers)) == [
        (item, item * 2) for item in range(50)
    ]


def test_what_is_on_its_way_when_one_fails_is_still_given_out():
    others_run = threading.Semaphore(0)
    failed = threading.Event()

    def work(item: int) -> int:
        if item == 1:
            assert others_run.acquire(timeout=20)
            assert others_run.acquire(timeout=20)
            failed.set()
            raise ValueError("one")
        if item in (2, 3):
            others_run.release()
            assert failed.wait(20)
        return item

    found, error = collected(in_order(range(100), work, 4))
    assert str(error) == "one"
    names = [item for item, _ in found]
    assert names[:3] == [0, 2, 3]
    # A busy machine may have begun a few before the failure was seen; it does not go on to the end.
    assert len(names) <= 20


def test_the_first_of_several_errors_is_the_one_that_is_told():
    def work(item: int) -> int:
        raise ValueError(str(item))

    found, error = collected(in_order(range(20), work, 4))
    assert (found, str(error)) == ([], "0")


def test_nothing_is_begun_after_the_caller_left():
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        return item

    results = in_order(range(1000), work, 3)
    assert next(results) == (0, 0)
    results.close()
    assert len(begun) <= 7
