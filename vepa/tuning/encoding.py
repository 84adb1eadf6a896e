"""Examples as token ids, and batches of them in an order that a seed fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from random import Random
from typing import TYPE_CHECKING, Any

from vepa.llm.local import completion_ids, prompt_ids
from vepa.tuning.balancing import balanced_order
from vepa.tuning.examples import Example

if TYPE_CHECKING:  # pragma: no cover
    import torch

__all__ = ["IGNORED", "Batch", "Encoded", "batches", "collated", "encoded", "in_order_of_length"]

#: Label of a token without loss, as torch's cross entropy has it.
IGNORED = -100
#: So many batches are sorted by length together: their texts are about as long as each other, and
#: the order is still about as random as before.
_WINDOW = 8


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example: what is asked, and what is learned."""

    prompt: list[int]
    completion: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.completion)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of equal length.

    Attributes
    ----------
    ids, labels
        Shape (rows, tokens); a label is the id itself, or `IGNORED`.
    mask
        1 where a token is, 0 where a row is filled up; None where several examples lie in one row.
    places
        Place of each token in its own example.
    """

    ids: torch.Tensor
    labels: torch.Tensor
    mask: torch.Tensor | None
    places: torch.Tensor


def encoded(example: Example, tokenizer: Any) -> Encoded:
    """The ids of an example.

    Raises
    ------
    SettingError
        When the tokenizer has no chat template.
    """
    messages = [turn.model_dump() for turn in example.prompt]
    return Encoded(
        prompt_ids(tokenizer, messages),
        completion_ids(tokenizer, messages, example.completion[0].content),
    )


def batches(
    examples: Sequence[Example], lengths: Sequence[int], size: int, seed: int, *, balanced: bool
) -> Iterator[list[int]]:
    """Positions of examples, batch by batch, without end; the same arguments, the same batches.

    Parameters
    ----------
    examples, lengths
        Of the train split; tokens of each.
    size
        Examples a batch.
    seed
        Of the order.
    balanced
        Whether verdicts and triggers are drawn evenly, and not every example once a pass.
    """
    order = balanced_order(examples, seed) if balanced else _passes(len(examples), seed)
    random = Random(seed)
    while window := list(islice(order, size * _WINDOW)):
        window.sort(key=lambda at: lengths[at])
        cut = [window[at : at + size] for at in range(0, len(window), size)]
        random.shuffle(cut)
        yield from cut


def _passes(count: int, seed: int) -> Iterator[int]:
    random = Random(seed)
    positions = list(range(count))
    while positions:
        random.shuffle(positions)
        yield from positions


def in_order_of_length(examples: Sequence[Encoded], size: int) -> Iterator[list[Encoded]]:
    """Batches that are filled up as little as can be."""
    ordered = sorted(examples, key=len)
    for at in range(0, len(ordered), size):
        yield ordered[at : at + size]


def collated(examples: Sequence[Encoded], filler: int, *, packed: bool) -> Batch:
    """One batch.

    Parameters
    ----------
    examples
        What is in it.
    filler
        The id that shorter rows are filled up with.
    packed
        Whether all lie in one row one after the other, each with places from 0: transformers then
        lets none see another.
    """
    import torch

    ids = [each.prompt + each.completion for each in examples]
    labels = [[IGNORED] * len(each.prompt) + each.completion for each in examples]
    places = [list(range(len(each))) for each in examples]
    if packed:
        # The first label of an example is never learned from the end of the one before it: it is
        # of the prompt, and prompts are never empty.
        return Batch(
            torch.tensor([list(chain(*ids))]),
            torch.tensor([list(chain(*labels))]),
            None,
            torch.tensor([list(chain(*places))]),
        )
    width = max(map(len, ids))

    def filled(rows: list[list[int]], by: int) -> torch.Tensor:
        return torch.tensor([row + [by] * (width - len(row)) for row in rows])

    mask = [[1] * len(row) for row in ids]
    return Batch(filled(ids, filler), filled(labels, IGNORED), filled(mask, 0), filled(places, 0))
