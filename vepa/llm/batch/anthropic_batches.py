"""Anthropic's message batches: one call takes all requests, one file brings all answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from types import SimpleNamespace
from typing import Any

from vepa.errors import MissingExtraError
from vepa.files import utf8_text
from vepa.llm.batch.faults import calling, plain_word, quiet, result_lines, unreadable
from vepa.llm.batch.records import BatchRow
from vepa.llm.batch.vendors import Entries, Foreign, Limits, Result, Sight, Standing, number_of
from vepa.llm.messages import ModelRequest, Shape, ToolCall
from vepa.llm.prices import supports
from vepa.llm.settings import ModelSettings
from vepa.llm.shapes import strict_enough
from vepa.llm.wire import Answer, Mode, finished, parameters

__all__ = ["AnthropicBatches"]

#: No clock of ours and the vendor's are a day apart.
_SLACK = 86_400.0
_KINDS = {
    "authentication_error": "refused_key",
    "permission_error": "refused_key",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "api_error": "failed",
    "timeout_error": "failed",
}
#: Whose fault it was: what the vendor failed at may be asked again.
_AGAIN = {"rate_limit_error", "overloaded_error", "api_error", "timeout_error"}
_FINISHES = {"tool_use": "tool_calls", "stop_sequence": "stop"}


class AnthropicBatches:
    """See `Vendor`.

    Parameters
    ----------
    model
        `anthropic/NAME`.
    settings
        How it is asked.
    key
        Kept in the client alone.

    Raises
    ------
    MissingExtraError
        When the client is not installed.
    """

    limits = Limits(requests=100_000, bytes=256_000_000)

    def __init__(self, model: str, settings: ModelSettings, key: str):
        try:
            from anthropic import Anthropic
        except ImportError:
            raise MissingExtraError("anthropic", "pipeline") from None
        quiet()
        self._model, self._name = model, model.partition("/")[2]
        self._settings = settings.model_copy(update={"stream": False})
        self.place = f"anthropic {settings.api_base or ''}"
        base = settings.api_base.removesuffix("/v1") if settings.api_base else None
        self._client = Anthropic(
            api_key=key, base_url=base, timeout=settings.timeout, max_retries=0
        )

    def mode(self, request: ModelRequest) -> Mode:
        """See `Vendor`."""
        if request.shape is None:
            return None
        if self._settings.structured != "auto":
            return self._settings.structured
        native = supports(self._model, "native_structured_output")
        return "schema" if native and strict_enough(request.shape.schema_) else "tool"

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """See `Vendor`."""
        mode = self.mode(request)
        found = parameters(request, self._settings, None if mode == "schema" else mode)
        found.pop("seed", None)  # a wish, which it does not know
        spoken = found.pop("messages")
        told = [each["content"] for each in spoken if each["role"] == "system"]
        found["messages"] = [each for each in spoken if each["role"] != "system"]
        if told:
            found["system"] = "\n\n".join(told)
        if request.shape is not None and mode == "schema":
            form = {"type": "json_schema", "schema": request.shape.schema_}
            found["output_config"] = {"format": form}
        if request.shape is not None and mode == "tool":
            offer = found["tools"][0]["function"]
            found["tools"] = [
                {
                    "name": offer["name"],
                    "description": offer["description"],
                    "input_schema": offer["parameters"],
                }
            ]
            found["tool_choice"] = {"type": "tool", "name": offer["name"]}
        return {"model": self._name, **found}

    def entry(self, entry_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """See `Vendor`."""
        return {"custom_id": entry_id, "params": body}

    def prepare(self, token: str, entries: Entries) -> str:  # noqa: ARG002
        """Which batch is its newest one now: ours will be newer."""
        with calling():
            page = self._client.messages.batches.list(limit=1)
            return str(page.data[0].id) if page.data else ""

    def submit(self, token: str, prepared: str, entries: Entries) -> str:  # noqa: ARG002
        """See `Vendor`."""
        requests: list[Any] = list(entries())
        with calling():
            made: Any = self._client.messages.batches.create(requests=requests)
            found = getattr(made, "id", None)
            if not isinstance(found, str) or not found:
                raise unreadable()
            return found

    def look_for(self, row: BatchRow, known: Collection[str], foreign: Foreign) -> Sight:
        """By size and age, then by the ids in its results."""
        unclear = False
        with calling():
            for batch in self._client.messages.batches.list(limit=100):
                if batch.id == row.prepared or batch.created_at.timestamp() < row.at - _SLACK:
                    break
                counts = batch.request_counts
                total = sum(getattr(counts, name) for name in type(counts).model_fields)
                if batch.id in known or total != row.count:
                    continue
                if batch.processing_status != "ended":
                    unclear = True
                elif self._is_of(row.token, batch.id):
                    return "found", batch.id
                else:
                    foreign(batch.id)
        return ("unclear" if unclear else "absent"), None

    def _is_of(self, token: str, vendor_id: str) -> bool:
        return any(
            number_of(token, name) is not None for name, _ in result_lines(self._file(vendor_id))
        )

    def fence(self, row: BatchRow) -> None:
        """Nothing here can stop a call that is still on its way."""

    def standing(self, vendor_id: str) -> Standing:
        """See `Vendor`."""
        with calling():
            batch = self._client.messages.batches.retrieve(vendor_id)
            if not isinstance(batch.processing_status, str):
                raise unreadable()
            counts = batch.request_counts
            done = counts.succeeded + counts.errored + counts.canceled + counts.expired
            return Standing(
                ended=batch.processing_status == "ended",
                done=done,
                total=done + counts.processing,
            )

    def results(self, vendor_id: str, standing: Standing) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ARG002
        """See `Vendor`."""
        yield from result_lines(self._file(vendor_id))

    def _file(self, vendor_id: str) -> str:
        """All results as text; by the address that the key belongs to, whatever a batch names."""
        import httpx2

        with calling():
            response = self._client.get(
                f"/v1/messages/batches/{vendor_id}/results", cast_to=httpx2.Response
            )
            return response.content.decode("utf-8", "replace")

    def read(self, raw: dict[str, Any], shape: Shape | None, mode: Mode) -> Result:
        """See `Vendor`."""
        result = raw.get("result")
        kind = result.get("type") if isinstance(result, dict) else None
        if not isinstance(result, dict) or kind not in (
            "succeeded",
            "errored",
            "expired",
            "canceled",
        ):
            return Result(kind="malformed", code="unreadable_answer")
        if kind in ("expired", "canceled"):
            return Result(kind=kind, again=True)
        if kind == "errored":
            error = result.get("error")
            inner = error.get("error", error) if isinstance(error, dict) else {}
            code = plain_word(inner.get("type")) if isinstance(inner, dict) else None
            return Result(None, _KINDS.get(code or "", "bad_request"), code, code in _AGAIN)
        try:
            return Result(answer=_answer(result["message"], shape, mode))
        except (KeyError, TypeError, AttributeError):
            return Result(kind="malformed", code="unreadable_answer")


def _answer(message: dict[str, Any], shape: Shape | None, mode: Mode) -> Answer:
    blocks = message["content"]
    usage = message.get("usage") or {}
    read = [usage.get(name) or 0 for name in _READ]
    answer = Answer(
        text="".join(str(block["text"]) for block in blocks if block["type"] == "text"),
        calls=[
            ToolCall(
                id=str(block["id"]),
                name=utf8_text(block["name"]),
                arguments=utf8_text(json.dumps(block["input"], ensure_ascii=False)),
            )
            for block in blocks
            if block["type"] == "tool_use"
        ],
        model=str(message.get("model") or ""),
        usage=SimpleNamespace(
            prompt_tokens=sum(read) if "input_tokens" in usage else None,
            completion_tokens=usage.get("output_tokens"),
        ),
    )
    reason = str(message.get("stop_reason"))
    return finished(answer, _FINISHES.get(reason, reason), False, shape, mode)


#: What was read: anew, into a cache and out of one.
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
