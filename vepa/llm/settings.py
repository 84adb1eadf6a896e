"""How a model is asked: what a profile may say about it. Keys are no settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vepa.errors import SettingError, Where

__all__ = ["ModelSettings", "Prices", "Rates"]

_SECRET = re.compile(r"key|token|secret|passw|auth|credential|header|bearer", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{1,63}")
_REMEDY = (
    "keys come from the environment only: set the provider's variable (OPENAI_API_KEY, "
    "ANTHROPIC_API_KEY, …), or name another variable with `key_variable`"
)


class _Settings(BaseModel):
    # An error never shows what was written: somebody may have put a key where none belongs.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, allow_inf_nan=False
    )


class Rates(_Settings):
    """How much a provider takes in any 60 seconds.

    Attributes
    ----------
    requests
        HTTP requests; None is no limit.
    tokens
        Tokens, read and written together; None is no limit.
    """

    requests: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)


class Prices(_Settings):
    """What a model costs, in US dollars a million tokens.

    Attributes
    ----------
    prompt, completion
        Of tokens read and of tokens written; 0 for a model of one's own.
    """

    prompt: float = Field(ge=0, strict=False)
    completion: float = Field(ge=0, strict=False)


class ModelSettings(_Settings):
    """All that can be set for a model.

    Attributes
    ----------
    api_base
        Address of the provider, where it is not the provider's own.
    key_variable
        Environment variable that holds the key, where it is not the provider's own.
    temperature, max_tokens
        Used by requests that name none; `max_tokens` is always sent, so that a worst case is known.
    timeout
        Seconds for one HTTP request, from its start to its last byte.
    deadline
        Seconds for one question: limits, retries, waits and the repair together.
    stream
        Whether answers are streamed; what is returned is the same.
    structured
        How structured answers are asked for: `schema` (the provider enforces it), `tool` (a forced
        call), `json` (told in words); `auto` takes the first that the provider is known to have.
    concurrency
        Requests at the same time to one provider.
    rates
        Limits a minute to one provider.
    prices
        Where the price map does not know the model, or knows it wrong.
    max_attempts
        HTTP requests for one answer, retries included.
    first_wait, longest_wait
        Seconds before the first retry, doubled for each that follows, and their bound. What a
        provider says in `Retry-After` goes before them.
    """

    api_base: str | None = None
    key_variable: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2, strict=False)
    max_tokens: int = Field(default=4096, ge=1)
    timeout: float = Field(default=120.0, gt=0, strict=False)
    deadline: float = Field(default=600.0, gt=0, strict=False)
    stream: bool = False
    structured: Literal["auto", "schema", "tool", "json"] = "auto"
    concurrency: int = Field(default=8, ge=1)
    rates: Rates = Rates()
    prices: Prices | None = None
    max_attempts: int = Field(default=5, ge=1, le=20)
    first_wait: float = Field(default=0.5, gt=0, strict=False)
    longest_wait: float = Field(default=30.0, gt=0, strict=False)

    @model_validator(mode="before")
    @classmethod
    def _no_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for name in data:
                if str(name) not in cls.model_fields and _SECRET.search(str(name)):
                    raise SettingError(
                        "a key, or what carries one, is no setting",
                        where=Where(field=str(name) if len(str(name)) <= 40 else None),
                        remedy=_REMEDY,
                    )
        return data

    @field_validator("key_variable")
    @classmethod
    def _a_name(cls, value: str | None) -> str | None:
        if value is not None and not _VARIABLE.fullmatch(value):
            raise SettingError(
                "this is not the name of an environment variable (capitals, digits, underscores)",
                where=Where(field="key_variable"),
                remedy=_REMEDY,
            )
        return value

    @field_validator("api_base")
    @classmethod
    def _plain_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            known, parts = False, urlsplit("")
        if not known:
            raise SettingError(
                "not an address",
                where=Where(field="api_base"),
                remedy="write it like https://models.example/v1",
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise SettingError(
                "an address with a user, a password, a query or a fragment may carry a key",
                where=Where(field="api_base"),
                remedy=_REMEDY,
            )
        return value.rstrip("/")
