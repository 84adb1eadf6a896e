"""How many tokens a trace may be shown in."""

from __future__ import annotations

from vepa.errors import SettingError, Where

__all__ = ["check_trace_tokens"]


def check_trace_tokens(tokens: int, least: int) -> None:
    """Hold a budget of tokens against the least that any trace fits into.

    Raises
    ------
    SettingError
        When it is smaller.
    """
    if tokens < least:
        raise SettingError(
            f"a trace cannot be shown in {tokens} tokens",
            where=Where(field="trace_tokens"),
            remedy=f"give it {least} or more",
        )
