"""What requests take: tokens guessed before, dollars before and after. No network, ever."""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vepa.errors import MissingExtraError, SettingError, Where
from vepa.llm.budget import Budget
from vepa.llm.messages import ModelRequest
from vepa.llm.settings import ModelSettings

__all__ = [
    "check_price",
    "count_tokens",
    "dollars_of",
    "estimate",
    "guess_tokens",
    "mode_of",
    "price_known",
    "supports",
]

_MAP = "model_prices_and_context_window_backup.json"
_OFFLINE = ("scripted/", "recorded/")
#: Where tokenizers cut: words (also within camelCase), numbers, gaps, signs.
_PIECES = re.compile(
    r"[A-Za-z0-9+/=_-]{24,}|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[ \t]+|\s|[!-/:-@\[-`{-~]|[^\x00-\x7f]+|.",
    re.DOTALL,
)
#: From this length on, what has no gap is a key, a hash or a file in base64, not a word.
_NO_WORD = 24
_A_MESSAGE, _A_TOOL, _A_REQUEST = 8, 24, 16
_LONG = 200_000
_EMBEDDING = "embedding"


def count_tokens(request: ModelRequest, model: str) -> int:  # noqa: ARG001 - see below
    """Tokens of a request, guessed on the high side from its text alone.

    The text is cut where tokenizers cut: a token for every three letters or two digits of a
    piece, for every sign and for every byte outside of ASCII, four for every five characters of
    what has no gap, and a few for every message and tool. tests/llm compares it with a real
    tokenizer. None is loaded here: some would be fetched from the network.

    Parameters
    ----------
    request
        The request.
    model
        Taken for the day when models differ; all are counted alike.
    """
    texts: list[str] = []
    for message in request.messages:
        texts.append(message.content)
        texts += [call.name + call.arguments + call.id for call in message.calls]
        texts.append(message.answers or "")
    for offer in request.tools:
        schema = json.dumps(offer.parameters, ensure_ascii=False)
        texts += [offer.name, offer.description, schema]
    if request.shape is not None:
        texts.append(json.dumps(request.shape.schema_, ensure_ascii=False))
    fixed = _A_REQUEST + _A_MESSAGE * len(request.messages)
    fixed += _A_TOOL * (len(request.tools) + (request.shape is not None))
    return fixed + sum(_guess(text) for text in texts)


def guess_tokens(text: str) -> int:
    """Tokens of a text alone, guessed like those of a request."""
    return _guess(text)


@lru_cache(maxsize=1024)  # a conversation is sent again with every step
def _guess(text: str) -> int:
    return sum(_weight(piece) for piece in _PIECES.findall(text))


def _weight(piece: str) -> int:
    first = piece[0]
    if first == " ":  # one space belongs to the word behind it
        return min(1, len(piece) - 1)
    if not first.isascii():
        return len(piece.encode("utf-8", "surrogatepass"))
    if len(piece) >= _NO_WORD:
        return -(-len(piece) * 4 // 5)
    size = 3 if first.isalpha() else 2
    return -(-len(piece) // size)


def estimate(
    model: str,
    prompt_tokens: int,
    completion_tokens: int,
    settings: ModelSettings | None = None,
    *,
    batch: bool = False,
) -> float | None:
    """US dollars that so many tokens cost, from the settings or litellm's own price map.

    litellm is not imported for it: its map is read.

    Parameters
    ----------
    model
        As `open_model` takes it.
    prompt_tokens, completion_tokens
        Tokens.
    settings
        Their `prices` go first, as they stand.
    batch
        Whether a batch API is asked: what the map says for it, or else half.

    Returns
    -------
    float or None
        None where no price is known.
    """
    if model.startswith(_OFFLINE):
        return 0.0
    if settings is not None and settings.prices is not None:
        prices = settings.prices
        return (prompt_tokens * prices.prompt + completion_tokens * prices.completion) / 1e6
    entry = _entry(model)
    if entry is None:
        return None
    long = "_above_200k_tokens" if prompt_tokens > _LONG else ""
    prompt = entry.get(f"input_cost_per_token{long}", entry.get("input_cost_per_token"))
    completion = entry.get(f"output_cost_per_token{long}", entry.get("output_cost_per_token"))
    if completion is None and entry.get("mode") == _EMBEDDING:
        completion = 0.0  # nothing is written, and some entries leave it out
    if prompt is None or completion is None:
        return None
    if batch:
        prompt = entry.get(f"input_cost_per_token{long}_batches", prompt / 2)
        completion = entry.get(f"output_cost_per_token{long}_batches", completion / 2)
    return float(prompt_tokens * prompt + completion_tokens * completion)


def price_known(model: str, settings: ModelSettings | None = None) -> bool:
    """Whether `estimate` has a price."""
    return estimate(model, 1, 1, settings) is not None


def check_price(model: str, settings: ModelSettings, budget: Budget | None) -> None:
    """Raise `SettingError` where a budget of dollars meets a model without a known price."""
    if budget is not None and budget.counts_dollars and not price_known(model, settings):
        raise SettingError(
            f"{model}: a budget of dollars is set, and the price of this model is not known",
            where=Where(field="prices"),
            remedy="give `prices: {prompt: …, completion: …}` (US dollars a million tokens, 0 for "
            "a model of your own) in the model's settings, or budget tokens instead",
        )


def dollars_of(
    model: str, prompt: int, completion: int, settings: ModelSettings, usage: Any = None
) -> float | None:
    """What a whole answer cost: litellm's reckoning, which knows of cached and reasoning tokens.

    Parameters
    ----------
    model, prompt, completion, settings
        As in `estimate`.
    usage
        The provider's own count, as litellm carries it.
    """
    if settings.prices is None and usage is not None and _entry(model) is not None:
        reckoned = _reckoned(model, prompt, completion, usage)
        if reckoned is not None:
            return reckoned
    return estimate(model, prompt, completion, settings)


def _reckoned(model: str, prompt: int, completion: int, usage: Any) -> float | None:
    from vepa.llm.engine import load_litellm

    try:
        parts = load_litellm().cost_per_token(
            model=model,
            prompt_tokens=prompt,
            completion_tokens=completion,
            usage_object=usage,
        )
        return float(sum(parts))
    except Exception:  # noqa: BLE001 - a gap in its map; the plain product still stands
        return None


def supports(model: str, what: str) -> bool:
    """Whether the price map says that a model has something, such as `response_schema`."""
    return bool((_entry(model) or {}).get(f"supports_{what}"))


def mode_of(model: str) -> str | None:
    """What a model is for, by the price map (`chat`, `embedding`, …); None without an entry."""
    found = (_entry(model) or {}).get("mode")
    return None if found is None else str(found)


def _entry(model: str) -> dict[str, Any] | None:
    known = _price_map()
    if model in known:
        return known[model]
    provider, _, rest = model.partition("/")
    entry = known.get(rest)
    if entry is not None and entry.get("litellm_provider") == provider:
        return entry
    return None


@cache
def _price_map() -> dict[str, dict[str, Any]]:
    found = find_spec("litellm")
    if found is None or found.origin is None:
        raise MissingExtraError("litellm", "pipeline")
    known: dict[str, dict[str, Any]] = json.loads(
        (Path(found.origin).parent / _MAP).read_text("utf-8")
    )
    return known
