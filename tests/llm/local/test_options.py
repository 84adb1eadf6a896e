"""The tree of answers: every answer has its own way, and nothing else has one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.llm.local.options import Question, tree_of

END = 9
#: An end that stands nowhere else: none is the beginning of another.
OPTIONS = st.lists(
    st.lists(st.integers(0, 3), max_size=5).map(lambda ids: (*ids, END)),
    min_size=1,
    max_size=12,
    unique=True,
)


def test_answers_that_differ_at_once_need_no_node():
    tree = tree_of([(1, END), (2, 3, END), (4, 4, 4, END)])
    assert tree.tokens == ()
    assert tree.branches == ((-1, (1, 2, 4)),)
    assert tree.paths == (((0, 0),), ((0, 1),), ((0, 2),))


def test_what_answers_share_is_read_once():
    tree = tree_of([(5, 6, 1, END), (5, 6, 2, END), (7, END)])
    assert tree.tokens == (5, 6)
    assert tree.parents == (-1, 0)
    assert tree.branches == ((-1, (5, 7)), (1, (1, 2)))
    assert tree.paths == (((0, 0), (1, 0)), ((0, 0), (1, 1)), ((0, 1),))


def test_a_lone_answer_decides_nothing():
    assert tree_of([(1, 2, END)]).paths == ((),)


@pytest.mark.parametrize("options", [[(1, 2), (1, 2)], [(1,), (1, 2)], [()]])
def test_answers_that_cannot_be_told_apart_are_refused(options):
    with pytest.raises(ValueError, match="answer"):
        tree_of(options)


@pytest.mark.property
@given(OPTIONS, st.data())
def test_probabilities_along_the_ways_sum_to_one(options, data):
    tree = tree_of(options)
    shares = []
    for _, ids in tree.branches:
        raw = data.draw(st.lists(st.floats(0.01, 1), min_size=len(ids), max_size=len(ids)))
        shares.append([each / sum(raw) for each in raw])
    assert sum(math.prod(shares[b][at] for b, at in path) for path in tree.paths) == pytest.approx(
        1
    )


@pytest.mark.property
@given(OPTIONS)
def test_each_way_spells_its_answer(options):
    tree = tree_of(options)
    assert all(parent < at for at, parent in enumerate(tree.parents))
    assert all(len(ids) > 1 for _, ids in tree.branches)
    for option, path in zip(options, tree.paths, strict=True):
        for branch, at in path:
            node, ids = tree.branches[branch]
            spelled = []
            while node >= 0:
                spelled.append(tree.tokens[node])
                node = tree.parents[node]
            start = [*reversed(spelled), ids[at]]
            assert list(option[: len(start)]) == start


def test_a_question_has_the_tree_of_its_options():
    question = Question("domain", (1,), {"a": (2, END), "b": (3, END)})
    assert question.tree == tree_of([(2, END), (3, END)])
