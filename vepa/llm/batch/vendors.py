"""What a vendor's batch API has to be able to do, and which vendors there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from vepa.errors import ModelError, SettingError, Where
from vepa.llm.batch.records import BatchRow
from vepa.llm.messages import ModelRequest, Shape
from vepa.llm.settings import ModelSettings
from vepa.llm.wire import Answer, Mode

__all__ = [
    "VENDORS",
    "Entries",
    "Foreign",
    "Limits",
    "Result",
    "Sight",
    "Standing",
    "Vendor",
    "entry_id",
    "number_of",
    "open_vendor",
    "variable_of",
    "vendor_of",
]

_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
#: Vendors whose batch APIs are known here.
VENDORS = tuple(_KEYS)


@dataclass(frozen=True)
class Limits:
    """What one batch may hold: requests, and bytes of all of them."""

    requests: int
    bytes: int


@dataclass(frozen=True)
class Standing:
    """How a batch stands at the vendor.

    Attributes
    ----------
    ended
        Whether nothing more will come of it.
    done, total
        Requests.
    refused
        The vendor's word where it refused the batch as a whole, before any work.
    unfinished
        Why requests without a result have none: not worked on, so not charged. None where every
        request has a result.
    files
        Where the results are, for vendors that have files.
    """

    ended: bool
    done: int
    total: int
    refused: str | None = None
    unfinished: Literal["expired", "canceled"] | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """What came of one request.

    Attributes
    ----------
    answer
        The answer; None where there is none.
    kind, code
        As in `ModelError`, or `expired` and `canceled`, and the vendor's own word.
    again
        Whether it may be asked again: the vendor was at fault, and charged nothing.
    """

    answer: Answer | None = None
    kind: str = "failed"
    code: str | None = None
    again: bool = False


#: The vendor's id of a batch that was in doubt; not there; or somebody's who may be us.
Sight = tuple[Literal["found"], str] | tuple[Literal["absent", "unclear"], None]
#: The entries of a batch, made anew each time: they are large.
Entries = Callable[[], Iterator[dict[str, Any]]]
Foreign = Callable[[str], None]


class Vendor(Protocol):
    """One vendor's batch API, through its own client. Every call may raise `AttemptError`."""

    limits: Limits
    #: The vendor and its address: a key is the hash of this and of what is sent.
    place: str

    def mode(self, request: ModelRequest) -> Mode:
        """How the structured answer is asked for."""
        ...

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """What is sent for a request."""
        ...

    def entry(self, entry_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """A request as an entry of a batch."""
        ...

    def prepare(self, token: str, entries: Entries) -> str:
        """What is free and comes before; what it says is written down before `submit`."""
        ...

    def submit(self, token: str, prepared: str, entries: Entries) -> str:
        """The one call that costs; the vendor's id."""
        ...

    def look_for(self, row: BatchRow, known: Collection[str], foreign: Foreign) -> Sight:
        """Look for a batch that may have been taken.

        Parameters
        ----------
        row
            As the journal has it.
        known
            The vendor's ids that are accounted for.
        foreign
            Told about each that turned out to be another one.
        """
        ...

    def fence(self, row: BatchRow) -> None:
        """Where that can be done, make sure that a call still on its way comes to nothing."""
        ...

    def standing(self, vendor_id: str) -> Standing:
        """How a batch stands."""
        ...

    def results(self, vendor_id: str, standing: Standing) -> Iterator[tuple[str, dict[str, Any]]]:
        """All that came of it, by the ids of its requests; what cannot be read is left out."""
        ...

    def read(self, raw: dict[str, Any], shape: Shape | None, mode: Mode) -> Result:
        """What came of one request.

        Parameters
        ----------
        raw
            One of `results`.
        shape, mode
            The structured answer that was asked for (its name is enough), and how.
        """
        ...


def entry_id(token: str, number: int) -> str:
    """Of a request in a batch: it says whose it is."""
    return f"{token}-{number}"


def number_of(token: str, found: str) -> int | None:
    """Back again; None for what is not of this batch."""
    mine, _, number = found.rpartition("-")
    return int(number) if mine == token and number.isascii() and number.isdigit() else None


def vendor_of(model: str) -> str | None:
    """The vendor whose batch API takes a model; None for one without."""
    vendor, _, rest = model.partition("/")
    return vendor if vendor in _KEYS and rest else None


def variable_of(model: str, settings: ModelSettings) -> str:
    """The environment variable that holds the key; a named one never falls back to the usual."""
    return settings.key_variable or _KEYS[model.partition("/")[0]]


def open_vendor(model: str, settings: ModelSettings) -> Vendor:
    """The batch API for a model.

    Raises
    ------
    SettingError
        When it has none.
    ModelError
        `refused_key`: there is no key.
    MissingExtraError
        When the vendor's client is not installed.
    """
    vendor = vendor_of(model)
    if vendor is None:
        raise SettingError(
            f"{model} cannot be asked in bulk",
            where=Where(field="model"),
            remedy="models with a batch API are openai/NAME and anthropic/NAME; ask others one by "
            "one",
        )
    variable = variable_of(model, settings)
    key = os.environ.get(variable)
    if not key:
        raise ModelError(
            f"{model}: there is no key; it is read from the environment variable {variable}",
            "refused_key",
        )
    if vendor == "openai":
        from vepa.llm.batch.openai_batches import OpenAIBatches

        return OpenAIBatches(model, settings, key)
    from vepa.llm.batch.anthropic_batches import AnthropicBatches

    return AnthropicBatches(model, settings, key)
