"""A question with a fixed set of answers, as token ids: the tree that its answers make.

Answers are scored over the tree, not by all of their tokens: at each place where answers part, the
model's probabilities of the ways that lead to an answer are made to sum to 1, and an answer's
probability is the product along its way. So the probabilities of all answers sum to 1, nothing but
an answer can come out, and the rest of a word that nothing else shares costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Question", "Tree", "tree_of"]


@dataclass(frozen=True)
class Tree:
    """Where answers part.

    Attributes
    ----------
    tokens
        Ids of the inner nodes below the root that have to be read to know what comes next.
    parents
        Position of each one's parent in `tokens`, smaller than its own; -1 for the root.
    branches
        (node, ids): the ids that may come after a node; -1 for the root. At least two each.
    paths
        Per answer: (position in `branches`, position in its ids), from the root on.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    branches: tuple[tuple[int, tuple[int, ...]], ...]
    paths: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class Question:
    """One question of a series.

    Attributes
    ----------
    name
        Of the field.
    head
        Ids before the answer, such as `domain:`.
    options
        Answer -> its ids, the end included, so that none begins as another one ends.
    tree
        Of the options.
    """

    name: str
    head: tuple[int, ...]
    options: dict[str, tuple[int, ...]]
    tree: Tree = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", tree_of(list(self.options.values())))


def tree_of(options: Sequence[Sequence[int]]) -> Tree:
    """The tree of some answers.

    Parameters
    ----------
    options
        Ids of each answer; distinct, none empty, and none the beginning of another.

    Raises
    ------
    ValueError
        When two are the same, or one is the beginning of another.
    """
    if any(not option for option in options):
        raise ValueError("an answer has no token")
    ordered = sorted(tuple(option) for option in options)
    for one, other in pairwise(ordered):
        if other[: len(one)] == one:
            raise ValueError("an answer is another one, or its beginning")
    grown = _Growing()
    grown.split((), ordered, -1)
    return Tree(
        tuple(grown.tokens),
        tuple(grown.parents),
        tuple((node, tuple(ids)) for node, ids in grown.branches),
        tuple(tuple(grown.paths[tuple(option)]) for option in options),
    )


class _Growing:
    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.branches: list[tuple[int, list[int]]] = []
        self.paths: dict[tuple[int, ...], list[tuple[int, int]]] = {}

    def split(self, start: tuple[int, ...], members: list[tuple[int, ...]], node: int) -> None:
        """Grow what comes after a node that all members go through."""
        while len(members) > 1 and len({each[len(start)] for each in members}) == 1:
            # All go on the same way: the next node is read, and nothing is decided.
            start = members[0][: len(start) + 1]
            node = self._node(start[-1], node)
        for each in members:
            self.paths.setdefault(each, [])
        if len(members) < 2:
            return
        ids = sorted({each[len(start)] for each in members})
        branch = len(self.branches)
        self.branches.append((node, ids))
        for at, id_ in enumerate(ids):
            below = [each for each in members if each[len(start)] == id_]
            for each in below:
                self.paths[each].append((branch, at))
            if len(below) > 1:
                self.split((*start, id_), below, self._node(id_, node))

    def _node(self, token: int, parent: int) -> int:
        self.tokens.append(token)
        self.parents.append(parent)
        return len(self.tokens) - 1
