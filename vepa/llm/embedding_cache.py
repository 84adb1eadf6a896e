"""Vectors of a provider kept in a cache of answers: a text is paid for once."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from vepa.files import canonical_json, sha256_of
from vepa.llm.cache import AnswerCache
from vepa.llm.settings import ModelSettings

__all__ = ["KeptVectors"]

Vector = npt.NDArray[np.float64]
_STORED = np.dtype("<f8")


class KeptVectors:
    """The vectors of one embedding model in a cache; no text stands in it.

    Parameters
    ----------
    model
        Name of the embedding model.
    settings
        Its settings: another address is another model.
    cache
        The cache; None keeps nothing.
    """

    def __init__(self, model: str, settings: ModelSettings, cache: AnswerCache | None):
        self._head = {"model": model, "api_base": settings.api_base}
        self._cache = cache

    def find(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Text -> vector, as far as they are kept."""
        if self._cache is None:
            return {}
        read = ((text, self._cache.read(self._key(text))) for text in texts)
        return {text: _vector(kept) for text, kept in read if kept is not None}

    def keep(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of texts; the first of a text stays."""
        if self._cache is not None:
            self._cache.write({self._key(text): _text(each) for text, each in vectors.items()})

    def _key(self, text: str) -> str:
        return sha256_of(canonical_json({**self._head, "embed": text}))


def _text(vector: Vector) -> str:
    return canonical_json({"vector": b64encode(vector.astype(_STORED).tobytes()).decode()})


def _vector(kept: str) -> Vector:
    return np.frombuffer(b64decode(json.loads(kept)["vector"]), _STORED).astype(np.float64)
