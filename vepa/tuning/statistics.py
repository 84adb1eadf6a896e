"""How long examples are, and what is cut off of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from vepa.parsing.lora import Tokenizer
from vepa.tuning.examples import Example

__all__ = ["statistics_of"]

_QUANTILES = {"p50": 0.5, "p95": 0.95, "max": 1.0}


def statistics_of(examples: Sequence[Example], tokenizer: Tokenizer) -> dict[str, Any]:
    """Figures of one split.

    Parameters
    ----------
    examples
        Of the split.
    tokenizer
        Counts prompts and completions, without the marks of a chat format.

    Returns
    -------
    dict
        JSON data: `examples`, `groups`, `strata` (stratum -> examples), `shortened` (examples of
        whose trace something is not shown), `left_out` (steps), and `mean`, `p50`, `p95`, `max`
        under `trace`, `shown`, `prompt` and `completion`, in tokens.
    """
    counted = {
        "trace": [example.whole for example in examples],
        "shown": [example.tokens for example in examples],
        "prompt": [sum(_count(turn.content, tokenizer) for turn in e.prompt) for e in examples],
        "completion": [_count(e.completion[0].content, tokenizer) for e in examples],
    }
    return {
        "examples": len(examples),
        "groups": len({example.group for example in examples}),
        "strata": dict(sorted(Counter(example.stratum for example in examples).items())),
        "shortened": sum(example.cut for example in examples),
        "left_out": sum(example.left_out for example in examples),
        "tokens": {name: _spread(values) for name, values in counted.items()},
    }


def _count(text: str, tokenizer: Tokenizer) -> int:
    return len(tokenizer.cut(text))


def _spread(values: Sequence[int]) -> dict[str, float] | None:
    if not values:
        return None
    found = {"mean": round(float(np.mean(values)), 1)}
    for name, share in _QUANTILES.items():
        found[name] = float(np.quantile(values, share, method="higher"))
    return found
