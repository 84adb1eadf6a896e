"""Constrained answers of a local model: every question is answered with one of its options.

A series of questions is answered in order, each after the answers before it. The prompt is read
once; per question the model reads the answer before, the next question's head and the few tokens
at which its options part, all in one pass. The options share the cache of what stands before them:
the tree lies in one row, and a mask lets each of its nodes see its own ancestors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vepa.errors import MissingExtraError
from vepa.llm.local.options import Question, Tree

__all__ = ["Answer", "choose"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was chosen.

    Attributes
    ----------
    name
        Of the question.
    value
        One of its options; of equals the first.
    confidence
        Its probability among the options, from 0 to 1.
    probabilities
        Of every option, in their order; they sum to 1.
    """

    name: str
    value: str
    confidence: float
    probabilities: tuple[float, ...]


def choose(
    model: Any, prompts: Sequence[Sequence[int]], questions: Sequence[Question]
) -> list[list[Answer]]:
    """Answer a series of questions about each of several prompts, as one batch.

    Parameters
    ----------
    model
        A causal language model of transformers, or one of peft around it.
    prompts
        Ids of each prompt, none empty.
    questions
        In order; the same for all prompts.

    Returns
    -------
    list
        Per prompt its answers, in the order of the questions.

    Raises
    ------
    MissingExtraError
        When torch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "train") from None
    if not prompts:
        return []
    with torch.inference_mode():
        series = _Series(model, len(prompts))
        before: list[list[int]] = [list(prompt) for prompt in prompts]
        found: list[list[Answer]] = [[] for _ in prompts]
        for question in questions:
            rows = [[*ids, *question.head] for ids in before]
            logits = series.read(rows, question.tree)
            for row, answers in enumerate(found):
                answer = _answer(question, logits[row])
                answers.append(answer)
                before[row] = list(question.options[answer.value])
    return found


class _Series:
    """Reads on, row by row of a batch; rows are filled up on the left and the filling is masked."""

    def __init__(self, model: Any, rows: int):
        import torch
        from transformers import DynamicCache

        model.eval()
        self._model, self._device = model, next(model.parameters()).device
        self._cache = DynamicCache(config=model.config)
        self._seen = torch.zeros((rows, 0), dtype=torch.bool, device=self._device)

    def read(self, rows: Sequence[Sequence[int]], tree: Tree) -> Any:
        """Read what is new and the tree; logits of (row, last new token and tree nodes, id)."""
        import torch

        width, nodes = max(map(len, rows)), len(tree.tokens)
        ids = torch.tensor(
            [[0] * (width - len(row)) + [*row, *tree.tokens] for row in rows], device=self._device
        )
        new = torch.tensor(
            [[False] * (width - len(row)) + [True] * len(row) for row in rows], device=self._device
        )
        mask = self._mask(new, tree)
        seen = torch.cat([self._seen, new], dim=1)
        places = seen.cumsum(1)[:, -width:] - 1
        depths = torch.tensor(_depths(tree), dtype=torch.long, device=self._device)
        places = torch.cat([places.clamp(min=0), places[:, -1:] + depths], dim=1)
        output = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=nodes + 1,
        )
        self._seen = seen
        # The tree is forgotten: which way was taken is read with the next question.
        if nodes:
            self._cache.crop(-nodes)
        return output.logits.float()

    def _mask(self, new: Any, tree: Tree) -> Any:
        """Shape (rows, 1, read now, all): 0 where a token is seen, the least number where not."""
        import torch

        rows, width = new.shape
        nodes, past = len(tree.tokens), self._seen.shape[1]
        total = past + width + nodes
        seen = torch.zeros((rows, width + nodes, total), dtype=torch.bool, device=self._device)
        seen[:, :, :past] = self._seen[:, None, :]
        causal = torch.tril(torch.ones((width, width), dtype=torch.bool, device=self._device))
        seen[:, :width, past : past + width] = causal & new[:, None, :]
        seen[:, width:, past : past + width] = new[:, None, :]
        for node in range(nodes):
            at = node
            while at >= 0:
                seen[:, width + node, past + width + at] = True
                at = tree.parents[at]
        # A row of nothing but False has no softmax; what filling sees is read by nobody.
        filling = torch.arange(width, device=self._device)
        seen[:, filling, past + filling] = True
        dtype = self._model.dtype
        mask = torch.zeros(seen.shape, dtype=dtype, device=self._device)
        return mask.masked_fill(~seen, torch.finfo(dtype).min)[:, None]


def _depths(tree: Tree) -> list[int]:
    depths: list[int] = []
    for parent in tree.parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return depths


def _answer(question: Question, logits: Any) -> Answer:
    """The most probable option of a row."""
    import torch

    parts = [
        torch.log_softmax(logits[node + 1, list(ids)].double(), dim=0)
        for node, ids in question.tree.branches
    ]
    scores = [float(sum(parts[branch][at] for branch, at in path)) for path in question.tree.paths]
    probabilities = torch.tensor(scores, dtype=torch.float64).exp()
    probabilities = (probabilities / probabilities.sum()).tolist()
    best = max(range(len(scores)), key=lambda at: (probabilities[at], -at))
    value = list(question.options)[best]
    return Answer(question.name, value, probabilities[best], tuple(probabilities))
