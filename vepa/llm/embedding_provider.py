"""A provider's embedding model behind litellm, sent like any question to a language model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.errors import ModelError, SettingError, Where
from vepa.llm.budget import Budget
from vepa.llm.cache import AnswerCache
from vepa.llm.embedding_cache import KeptVectors
from vepa.llm.prices import check_price, estimate, guess_tokens, mode_of
from vepa.llm.sending import Sender, Sending, Worst
from vepa.llm.settings import ModelSettings
from vepa.llm.tally import Tally

__all__ = ["ProviderEmbedder"]

#: Texts and guessed tokens in one HTTP request: what the strictest of the known providers take.
_TEXTS, _TOKENS = 96, 80_000

Vector = npt.NDArray[np.float64]


@dataclass
class _Batch:
    """The vectors of one HTTP request, with the provider's counts."""

    vectors: list[Vector]
    prompt: int | None
    usage: Any = None
    completion: int | None = 0


class ProviderEmbedder:
    """Any embedding model that litellm reaches; safe to share by threads.

    Parameters
    ----------
    name
        `PROVIDER/MODEL`.
    settings
        How it is asked.
    budget
        What it may take.
    cache
        Where vectors are kept.

    Raises
    ------
    SettingError
        When no provider is known for the name, or the model is known not to embed.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        budget: Budget | None = None,
        cache: AnswerCache | None = None,
    ):
        mode = mode_of(name)
        # A server of one's own may call its models as it likes.
        if mode not in (None, "embedding") and settings.api_base is None:
            raise SettingError(
                f"{name!r} is a model for {mode}, and gives no vectors of texts",
                where=Where(field="embedder"),
                remedy="name an embedding model, for example openai/text-embedding-3-small",
            )
        check_price(name, settings, budget)
        self.name = name
        self._settings = settings
        self._sender = Sender(name, settings, budget)
        self._kept = KeptVectors(name, settings, cache)

    def vectors(self, texts: Sequence[str], tally: Tally) -> Vector:
        """Vectors of texts, shape (texts, dimensions); a text that occurs twice is asked once.

        Raises
        ------
        ModelError
            When no usable vectors came; those of earlier requests are kept in the cache.
        BudgetError
            When the next HTTP request might break a budget; it was not sent.
        """
        distinct = list(dict.fromkeys(texts))
        found = self._kept.find(distinct)
        missing = [text for text in distinct if text not in found]
        tally.source = "provider" if missing else "cache"
        if missing:
            self._sender.check_key()
        until = time.monotonic() + self._settings.deadline
        for batch in _batches(missing):
            asked = dict(zip(batch, self._ask(batch, tally, until), strict=True))
            found |= asked
            sizes = sorted({len(vector) for vector in found.values()})
            if len(sizes) > 1:
                raise self._malformed(f"vectors of {sizes[0]} and of {sizes[-1]} numbers")
            self._kept.keep(asked)
        return np.stack([found[text] for text in texts])

    def _ask(self, texts: Sequence[str], tally: Tally, until: float) -> list[Vector]:
        tokens = sum(map(guess_tokens, texts))
        worst = Worst(tokens, 0, estimate(self.name, tokens, 0, self._settings))
        answer = self._sender.send(Sending(lambda _: self._exchange(texts), worst, tally, until))
        if answer is None:
            raise ModelError(f"{self.name}: the provider declines these texts", "bad_request")
        if len(answer.vectors) != len(texts):
            raise self._malformed(f"{len(answer.vectors)} vectors for {len(texts)} texts")
        for vector in answer.vectors:
            # Here, before they are kept: a cache must not hold what nothing can use.
            if vector.ndim != 1 or not np.isfinite(vector).all() or not vector.any():
                raise self._malformed("a vector that is empty, all zeros, or not of numbers")
        return answer.vectors

    def _exchange(self, texts: Sequence[str]) -> _Batch:
        sender = self._sender
        response = sender.litellm.embedding(input=list(texts), **sender.access())
        return _read(response)

    def _malformed(self, what: str) -> ModelError:
        return ModelError(f"{self.name}: the answer is no list of vectors: {what}", "malformed")


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Texts as they fit in HTTP requests; one that is too long goes alone, and never cut."""
    batch: list[str] = []
    tokens = 0
    for text in texts:
        more = guess_tokens(text)
        if batch and (len(batch) == _TEXTS or tokens + more > _TOKENS):
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += more
    if batch:
        yield batch


def _read(response: Any) -> _Batch:
    """The vectors in the order of the texts; what is none stands as an empty one."""
    rows = list(response.data or ())
    places = [_part(row, "index") for row in rows]
    if sorted(places, key=str) == sorted(range(len(rows)), key=str):
        rows = [row for _, row in sorted(zip(places, rows, strict=True), key=lambda pair: pair[0])]
    usage = getattr(response, "usage", None)
    return _Batch([_vector(_part(row, "embedding")) for row in rows], _tokens(usage))


def _part(row: Any, name: str) -> Any:
    return row.get(name) if isinstance(row, dict) else getattr(row, name, None)


def _vector(numbers: Any) -> Vector:
    try:
        return np.array(numbers, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        return np.zeros(0)


def _tokens(usage: Any) -> int | None:
    """What the provider counted; nothing, or nothing for a text, is no count."""
    found = getattr(usage, "prompt_tokens", None)
    return found if isinstance(found, int) and found > 0 else None
