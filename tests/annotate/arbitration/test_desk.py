"""The folder of an annotation: what is disputed gets into the queue, and what stands is written."""

from __future__ import annotations

import pytest
from disputed import ALLOW, NAMED, REFUSE, TAXONOMY, item, label, opened
from errands import errand

from vepa.annotate.arbitration.desk import (
    SETTLED,
    fill_queue,
    open_queue,
    read_judged,
    write_settled,
)
from vepa.annotate.items import items_of
from vepa.corpus.labels import write_labels
from vepa.corpus.settled import stream_settled
from vepa.errors import InputError

CORPUS = [errand(f"errand-{number}", user=f"Answer mail {number} of Ben.") for number in range(3)]


def labels(*, disputed=()):
    """Two labels a step; the first step of the numbered errands is disputed."""
    return [
        label(step, name, REFUSE if name == "b" and at == 0 and number in disputed else ALLOW)
        for number, trace in enumerate(CORPUS)
        for at, step in enumerate(items_of(trace))
        for name in ("a", "b")
    ]


@pytest.fixture
def folder(tmp_path):
    write_labels(tmp_path / "labels.jsonl", labels(disputed=(0, 2)))
    return tmp_path


def test_disputes_get_into_the_queue_as_the_annotators_saw_them(folder):
    with opened(folder) as queue:
        assert fill_queue(queue, read_judged(folder), CORPUS) == 2
        assert fill_queue(queue, read_judged(folder), CORPUS) == 0
        found = queue.open_disputes()
    assert [each.item for each in found] == [item(0).hash, item(2).hash]
    assert found[0].shown == item(0).shown
    assert found[0].reasons == ["decision", "triggers"]


def test_what_stands_is_written_and_what_does_not_is_told(folder):
    with opened(folder) as queue:
        fill_queue(queue, read_judged(folder), CORPUS)
        queue.settle(queue.claim("ada").token, REFUSE)
        settlement = write_settled(folder, queue)
    stands = list(stream_settled(folder / SETTLED))
    assert len(stands) == 8
    assert [each.item for each in settlement.open] == [item(2).hash]
    by = {(each.trajectory, each.step): each for each in stands}
    assert (by["errand-0", 1].how, by["errand-0", 1].by) == ("person", ["ada"])
    assert by["errand-0", 3].how == "agreed"
    assert by["errand-0", 1].taxonomy == NAMED


def test_a_corpus_that_is_another_one_is_refused(folder):
    changed = [errand("errand-0", user="Something else."), *CORPUS[1:]]
    with opened(folder) as queue:
        with pytest.raises(InputError, match="1 disputed steps"):
            fill_queue(queue, read_judged(folder), changed)
        assert queue.state().total == 0


def test_a_folder_without_labels_or_queue_says_what_makes_them(tmp_path, folder):
    with pytest.raises(InputError, match=r"labels\.jsonl"):
        open_queue(tmp_path / "none", TAXONOMY)
    with pytest.raises(InputError, match=r"queue\.sqlite") as caught:
        open_queue(folder, TAXONOMY)
    assert "arbitrate run" in caught.value.remedy
    assert not (folder / "queue.sqlite").exists()
