"""OpenAI's batch API: a file of requests goes up, a file of answers comes down."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterator
from types import SimpleNamespace
from typing import IO, Any, Literal

from vepa.errors import MissingExtraError
from vepa.files import utf8_text
from vepa.llm.batch.faults import (
    calling,
    kind_of_status,
    plain_word,
    quiet,
    result_lines,
    unreadable,
)
from vepa.llm.batch.records import BatchRow
from vepa.llm.batch.vendors import Entries, Foreign, Limits, Result, Sight, Standing
from vepa.llm.failures import AttemptError
from vepa.llm.messages import ModelRequest, Shape, ToolCall
from vepa.llm.prices import supports
from vepa.llm.settings import ModelSettings
from vepa.llm.wire import Answer, Mode, finished, parameters

__all__ = ["OpenAIBatches"]

_URL: Literal["/v1/chat/completions"] = "/v1/chat/completions"
#: Under which our token stands in a batch's metadata.
_LABEL = "vepa_batch"
_ENDED = {"failed", "completed", "expired", "cancelled"}
_UNFINISHED = {"batch_expired": "expired", "batch_cancelled": "canceled"}
#: No clock of ours and the vendor's are a day apart.
_SLACK = 86_400.0


class OpenAIBatches:
    """See `Vendor`.

    Parameters
    ----------
    model
        `openai/NAME`.
    settings
        How it is asked.
    key
        Kept in the client alone.

    Raises
    ------
    MissingExtraError
        When the client is not installed.
    """

    limits = Limits(requests=50_000, bytes=200_000_000)

    def __init__(self, model: str, settings: ModelSettings, key: str):
        try:
            from openai import OpenAI
        except ImportError:
            raise MissingExtraError("openai", "pipeline") from None
        quiet()
        self._model, self._name = model, model.partition("/")[2]
        self._settings = settings.model_copy(update={"stream": False})
        self.place = f"openai {settings.api_base or ''}"
        self._client = OpenAI(
            api_key=key, base_url=settings.api_base, timeout=settings.timeout, max_retries=0
        )

    def mode(self, request: ModelRequest) -> Mode:
        """See `Vendor`."""
        if request.shape is None:
            return None
        if self._settings.structured != "auto":
            return self._settings.structured
        if supports(self._model, "response_schema"):
            return "schema"
        return "tool" if supports(self._model, "function_calling") else "json"

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """See `Vendor`."""
        mode = self.mode(request)
        found = parameters(request, self._settings, mode)
        # `max_tokens` is refused by reasoning models; this name is taken by all.
        found["max_completion_tokens"] = found.pop("max_tokens")
        if mode == "json":
            found["response_format"] = {"type": "json_object"}
        return {"model": self._name, **found}

    def entry(self, entry_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """See `Vendor`."""
        return {"custom_id": entry_id, "method": "POST", "url": _URL, "body": body}

    def prepare(self, token: str, entries: Entries) -> str:
        """Upload the file; its id."""
        with tempfile.TemporaryFile() as file:
            for entry in entries():
                file.write(json.dumps(entry).encode() + b"\n")
            file.seek(0)
            return self._uploaded(token, file)

    def _uploaded(self, token: str, file: IO[bytes]) -> str:
        with calling():
            made = self._client.files.create(file=(f"vepa-{token}.jsonl", file), purpose="batch")
            return _id_of(made)

    def submit(self, token: str, prepared: str, entries: Entries) -> str:  # noqa: ARG002
        """See `Vendor`."""
        with calling():
            made = self._client.batches.create(
                input_file_id=prepared,
                endpoint=_URL,
                completion_window="24h",
                metadata={_LABEL: token},
            )
            return _id_of(made)

    def look_for(self, row: BatchRow, known: Collection[str], foreign: Foreign) -> Sight:  # noqa: ARG002
        """By our token, which each batch carries."""
        with calling():
            for batch in self._client.batches.list(limit=100):
                if (batch.metadata or {}).get(_LABEL) == row.token:
                    return "found", _id_of(batch)
                if batch.created_at < row.at - _SLACK:
                    break
        return "absent", None

    def fence(self, row: BatchRow) -> None:
        """Delete the file of requests: a batch that is only made now does not find it."""
        try:
            with calling():
                self._client.files.delete(row.prepared)
        except AttemptError as fault:
            if fault.status != 404:
                raise

    def standing(self, vendor_id: str) -> Standing:
        """See `Vendor`."""
        with calling():
            batch = self._client.batches.retrieve(vendor_id)
            counts, status = batch.request_counts, batch.status
            if not isinstance(status, str):
                raise unreadable()
        refused = None
        if status == "failed":
            codes = [plain_word(each.code) for each in (batch.errors and batch.errors.data) or ()]
            refused = next((code for code in codes if code), "validation_failed")
        return Standing(
            ended=status in _ENDED,
            done=counts.completed + counts.failed if counts else 0,
            total=counts.total if counts else 0,
            refused=refused,
            unfinished={"expired": "expired", "cancelled": "canceled"}.get(status),  # type: ignore[arg-type]
            files=tuple(file for file in (batch.output_file_id, batch.error_file_id) if file),
        )

    def results(self, vendor_id: str, standing: Standing) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ARG002
        """See `Vendor`."""
        for file in standing.files:
            with calling():
                content = self._client.files.content(file).content
            yield from result_lines(content.decode("utf-8", "replace"))

    def read(self, raw: dict[str, Any], shape: Shape | None, mode: Mode) -> Result:
        """See `Vendor`."""
        error, response = raw.get("error"), raw.get("response")
        if isinstance(error, dict):
            code = plain_word(error.get("code"))
            unfinished = _UNFINISHED.get(code or "")
            return Result(kind=unfinished or "failed", code=code, again=True)
        status = response.get("status_code") if isinstance(response, dict) else None
        body = response.get("body") if isinstance(response, dict) else None
        if not isinstance(status, int):
            return Result(kind="malformed", code="unreadable_answer")
        if status != 200:
            inner = body.get("error") if isinstance(body, dict) else None
            code = (
                plain_word(inner.get("code") or inner.get("type"))
                if isinstance(inner, dict)
                else None
            )
            again = status in (408, 409, 429) or status >= 500
            return Result(kind=kind_of_status(status), code=code, again=again)
        try:
            return Result(answer=_answer(body, shape, mode))
        except (KeyError, TypeError, IndexError, AttributeError):
            return Result(kind="malformed", code="unreadable_answer")


def _id_of(made: Any) -> str:
    found = getattr(made, "id", None)
    if not isinstance(found, str) or not found:
        raise unreadable()
    return found


def _answer(body: Any, shape: Shape | None, mode: Mode) -> Answer:
    choice = body["choices"][0]
    message, refusal = choice["message"], choice["message"].get("refusal")
    usage = body.get("usage") or {}
    answer = Answer(
        text=message.get("content") or refusal or "",
        calls=[
            ToolCall(
                id=str(call["id"]),
                name=utf8_text(call["function"]["name"]),
                arguments=utf8_text(call["function"]["arguments"]),
            )
            for call in message.get("tool_calls") or ()
        ],
        model=str(body.get("model") or ""),
        usage=SimpleNamespace(
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
        ),
    )
    return finished(answer, choice.get("finish_reason"), bool(refusal), shape, mode)
