"""The one way to texts as vectors, by a provider's model or by hashing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Protocol

from vepa.errors import BudgetError, InputError, ModelError, SettingError, Where
from vepa.files import canonical_json, sha256_of
from vepa.llm.budget import Budget
from vepa.llm.cache import AnswerCache
from vepa.llm.ledger import Ledger
from vepa.llm.settings import ModelSettings
from vepa.llm.tally import Tally

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Embedder", "open_embedder"]

_HASHING = "hashing"
#: What `open_model` opens and nobody can embed with.
_SPEAKERS = ("scripted", "recorded")


class Embedder(Protocol):
    """Whatever turns texts into vectors; safe to share by threads."""

    @property
    def name(self) -> str:
        """As it was asked for: `openai/text-embedding-3-small`, `hashing/1024`."""
        ...

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Vectors of texts.

        Parameters
        ----------
        texts
            None of them blank.

        Returns
        -------
        ndarray of float64, shape (texts, dimensions)
            Rows of length 1, so that a product of two rows is their cosine. Without texts the shape
            is (0, 0).

        Raises
        ------
        InputError
            When a text is blank; nothing was sent.
        ModelError
            When no usable vectors came; kinds as for a language model.
        BudgetError
            When a budget is used up; nothing was sent for what is missing.
        """
        ...


class _Backend(Protocol):
    """What stands behind an opened embedder."""

    def vectors(self, texts: Sequence[str], tally: Tally) -> npt.NDArray[np.float64]:
        """Vectors of any length but 0, shape (texts, dimensions); counts as it goes."""
        ...


def open_embedder(
    name: str,
    *,
    settings: ModelSettings | None = None,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    cache: AnswerCache | str | PathLike[str] | None = None,
) -> Embedder:
    """Open an embedder by its name.

    Parameters
    ----------
    name
        Any embedding model that litellm knows (`openai/text-embedding-3-small`), or `hashing/N`:
        local and the same everywhere, without a model and without meaning.
    settings
        How it is asked; what only matters to answers in words is not looked at.
    budget
        What it may take.
    ledger
        Where every call of `embed` is written down.
    cache
        Keeps vectors of providers, beside answers if it is the same file; hashing needs none.

    Raises
    ------
    SettingError
        When the name leads nowhere, or a budget of dollars meets a model without a known price.
    MissingExtraError
        When the package for it is not installed.
    """
    kind = name.partition("/")[0]
    if kind in _SPEAKERS or not name.strip():
        raise SettingError(
            f"{name!r} is no embedder",
            where=Where(field="embedder"),
            remedy="name an embedding model such as openai/text-embedding-3-small, or hashing/1024 "
            "for one that works offline",
        )
    if kind == _HASHING:
        from vepa.llm.embedding_hashing import HashingEmbedder

        return _Opened(name, HashingEmbedder(name), budget, ledger)
    from vepa.llm.embedding_provider import ProviderEmbedder

    kept = cache if cache is None or isinstance(cache, AnswerCache) else AnswerCache(str(cache))
    backend = ProviderEmbedder(name, settings or ModelSettings(), budget, kept)
    return _Opened(name, backend, budget, ledger)


class _Opened:
    """An embedder as callers hold it: checks of what goes in and comes out, time and ledger."""

    def __init__(self, name: str, backend: _Backend, budget: Budget | None, ledger: Ledger | None):
        self.name = name
        self._backend, self._budget, self._ledger = backend, budget, ledger
        self._dimensions: int | None = None

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """See `Embedder.embed`."""
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("one text; embed takes a sequence of them")
        if not texts:
            return np.zeros((0, 0))
        for number, text in enumerate(texts, 1):
            if not text.strip():
                raise InputError(
                    f"text {number} of {len(texts)} is blank, and has no vector",
                    remedy="leave it out, or give it words",
                )
        if self._budget is not None:
            self._budget.check()
        began, tally = time.monotonic(), Tally()
        try:
            found = self._checked(self._backend.vectors(texts, tally))
        except (ModelError, BudgetError) as error:
            outcome = error.kind if isinstance(error, ModelError) else f"budget_{error.budget}"
            self._note(texts, tally, outcome, time.monotonic() - began)
            raise
        self._note(texts, tally, "stop", time.monotonic() - began)
        return found

    def _checked(self, found: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The same rows with length 1; whatever cannot be compared is an error."""
        import numpy as np

        if self._dimensions is None:
            self._dimensions = found.shape[1]
        if found.shape[1] != self._dimensions:
            raise ModelError(
                f"{self.name}: a vector of {found.shape[1]} numbers, after some of "
                f"{self._dimensions}",
                "malformed",
            )
        # The largest number first: squares of tiny or huge ones would be 0 or endless.
        largest = np.abs(found).max(axis=1, keepdims=True)
        if not np.isfinite(largest).all():
            raise ModelError(f"{self.name}: a vector holds what is no number", "malformed")
        if not largest.all():
            raise ModelError(f"{self.name}: a vector of zeros has no direction", "malformed")
        scaled = found / largest
        unit: npt.NDArray[np.float64] = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
        return unit

    def _note(self, texts: Sequence[str], tally: Tally, outcome: str, seconds: float) -> None:
        if self._ledger is not None:
            self._ledger.write(
                model=self.name,
                request=sha256_of(canonical_json({"embed": list(texts)})),
                seconds=round(seconds, 4),
                outcome=outcome,
                **asdict(tally),
            )
