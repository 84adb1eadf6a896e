"""Chats as token ids: what a text says is never taken for a sign of the chat format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vepa.errors import SettingError, Where

__all__ = ["completion_ids", "prompt_ids"]

#: Stands for the text of a turn while the template is filled in; no template trims or changes it.
_PLACE = "\ue000{}\ue001"


def prompt_ids(tokenizer: Any, messages: Sequence[dict[str, str]]) -> list[int]:
    """The ids up to where the assistant begins to answer.

    Parameters
    ----------
    tokenizer
        Of transformers, with a chat template.
    messages
        `role` and `content`, without the answer.

    Raises
    ------
    SettingError
        When the tokenizer has no chat template, or the template refuses the messages.
    """
    return _ids(tokenizer, _rendered(tokenizer, messages, ask=True), messages)


def completion_ids(tokenizer: Any, messages: Sequence[dict[str, str]], answer: str) -> list[int]:
    """The ids of an answer and of the end of its turn; they follow `prompt_ids` of the messages.

    Raises
    ------
    SettingError
        As `prompt_ids` does.
    """
    whole = [*messages, {"role": "assistant", "content": answer}]
    rendered = _rendered(tokenizer, whole, ask=False)
    last = _PLACE.format(len(messages))
    tail = tokenizer.encode(rendered.partition(last)[2], add_special_tokens=False)
    return [*_plain(tokenizer, answer), *_end_of_turn(tokenizer, tail)]


def _end_of_turn(tokenizer: Any, tail: Sequence[int]) -> list[int]:
    """What ends the turn: up to the first special id of the template, or else the end of text."""
    special = set(tokenizer.all_special_ids)
    for at, each in enumerate(tail):
        if each in special:
            return list(tail[: at + 1])
    return [tokenizer.eos_token_id]


def _rendered(tokenizer: Any, messages: Sequence[dict[str, str]], *, ask: bool) -> str:
    if not tokenizer.chat_template:
        raise _unusable("its tokenizer has no chat template")
    from jinja2 import TemplateError

    places = [
        {"role": message["role"], "content": _PLACE.format(at)}
        for at, message in enumerate(messages)
    ]
    try:
        # Models that can think first are asked not to; the others ignore the option.
        text: str = tokenizer.apply_chat_template(
            places, tokenize=False, add_generation_prompt=ask, enable_thinking=False
        )
    except TemplateError as error:
        raise _unusable(f"its chat template refuses the messages: {error}") from None
    return text


def _unusable(why: str) -> SettingError:
    return SettingError(
        f"this base model cannot be asked in a chat: {why}",
        where=Where(field="base"),
        remedy="name an instruction-tuned model",
    )


def _ids(tokenizer: Any, rendered: str, messages: Sequence[dict[str, str]]) -> list[int]:
    """Ids of a filled-in template: its own signs are special, those in the texts are not."""
    found: list[int] = []
    for at, message in enumerate(messages):
        before, _, rendered = rendered.partition(_PLACE.format(at))
        found += tokenizer.encode(before, add_special_tokens=False)
        found += _plain(tokenizer, message["content"])
    return found + list(tokenizer.encode(rendered, add_special_tokens=False))


def _plain(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    return ids
