"""Spans and log records as exporters of OpenTelemetry write them down, as plain values.

- OTLP/JSON, one request a line or one document: `resourceSpans[].scopeSpans[].spans[]` (before
  1.0 `instrumentationLibrarySpans`), `resourceLogs[].scopeLogs[].logRecords[]`, camel case or, of
  converters, snake case; attributes are `[{key, value: {stringValue | intValue | ..}}]`, integers
  are numbers or digits
- spans printed by SDKs: `{name, context: {trace_id, span_id}, parent_id, start_time, attributes}`
  with hexadecimal ids and a mapping of attributes, JavaScript's with times as `[seconds, nanos]`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from vepa.errors import InputError, Where

__all__ = ["Found", "found_in", "is_telemetry"]

_GROUPS = {
    "resourceSpans": "spans", "resource_spans": "spans", "scopeSpans": "spans",
    "scope_spans": "spans", "instrumentationLibrarySpans": "spans", "spans": "spans",
    "resourceLogs": "logs", "resource_logs": "logs", "scopeLogs": "logs",
    "scope_logs": "logs", "logRecords": "logs", "log_records": "logs",
}  # fmt: skip
#: Mappings that some exporters nest instead of writing dots.
_NESTED = frozenset(
    {
        "llm", "openinference", "tool", "tool_call", "input", "output", "gen_ai", "session",
        "agent", "retrieval", "traceloop",
    }
)  # fmt: skip
_NANOS = 1_000_000_000

#: A span or log record: `kind` (`span` or `log`), `trace`, `span`, `parent`, `name`, `start`, `end`
#: (nanoseconds), `attributes`, `events` (of the same keys), `body`, `error`.
Found = dict[str, Any]


def is_telemetry(data: Any) -> bool:
    """Whether it looks like one of these."""
    if not isinstance(data, dict):
        return False
    if any(name != "spans" and isinstance(data.get(name), list) for name in _GROUPS):
        return True
    spans = data.get("spans")
    if isinstance(spans, list):
        return bool(spans) and is_telemetry(spans[0])
    trace, span = _ids(data)
    return trace is not None and span is not None and ("attributes" in data or "body" in data)


def found_in(data: Any, place: str = "") -> Iterator[tuple[str, Found]]:
    """All spans and log records in a record, each with its place (a dot at its end).

    Raises
    ------
    InputError
        With the place of what is none.
    """
    if not isinstance(data, dict):
        raise InputError("an object belongs here", where=Where(field=place.strip(".") or None))
    groups = [name for name in _GROUPS if name in data]
    for name in groups:
        items = data[name]
        if items is None:
            continue
        if not isinstance(items, list):
            raise InputError("an array belongs here", where=Where(field=f"{place}{name}"))
        for at, each in enumerate(items):
            yield from found_in(each, f"{place}{name}.{at}.")
    if not groups and not {"resource", "scope", "schemaUrl"} >= set(data):
        yield place, _one(data, place)


def _ids(data: Mapping[str, Any]) -> tuple[Any, Any]:
    for inner in ("context", "spanContext", "span_context", "_spanContext"):
        if isinstance(data.get(inner), dict):
            data = {**data, **data[inner]}
    return _of(data, "traceId", "trace_id"), _of(data, "spanId", "span_id")


def _of(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _one(data: dict[str, Any], place: str) -> Found:
    is_log = "body" in data or "severityNumber" in data or "severity_number" in data
    trace, span = _ids(data)
    found: Found = {"kind": "log" if is_log else "span"}
    for name, value in (("trace", trace), ("span", span)):
        if value in (None, "") and is_log:
            continue
        if not isinstance(value, str) or not value:
            raise InputError(
                f"a {found['kind']} without {name} id",
                where=Where(field=f"{place}{name}Id"),
                remedy="ids are texts, in hexadecimal digits",
            )
        found[name] = value.removeprefix("0x")
    found["name"] = _name(_of(data, "name", "eventName", "event_name"), place)
    found["attributes"] = _attributes(data.get("attributes"), f"{place}attributes")
    if is_log:
        found["start"] = _time(
            _of(data, "timeUnixNano", "observedTimeUnixNano", "timestamp"), f"{place}timeUnixNano"
        )
        found["body"] = _body(data.get("body"), f"{place}body")
        found["name"] = found["name"] or _name(found["attributes"].get("event.name"), place)
        return found
    found["parent"] = _parent(data)
    found["start"] = _time(
        _of(data, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"),
        f"{place}startTimeUnixNano",
    )
    found["end"] = _time(
        _of(data, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"),
        f"{place}endTimeUnixNano",
    )
    found["events"] = list(_events(data.get("events"), f"{place}events"))
    found["error"] = _failure(data.get("status"), found["attributes"])
    return found


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str | None):
        raise InputError("a name is a text", where=Where(field=f"{place}name"))
    return value or ""


def _parent(data: Mapping[str, Any]) -> str | None:
    above = _of(data, "parentSpanId", "parent_span_id", "parent_id", "parentId")
    inner = data.get("parentSpanContext")
    if above is None and isinstance(inner, dict):
        above = inner.get("spanId")
    return above.removeprefix("0x") if isinstance(above, str) and above else None


def _events(data: Any, place: str) -> Iterator[Found]:
    if data is None:
        return
    if not isinstance(data, list):
        raise InputError("an array belongs here", where=Where(field=place))
    for at, each in enumerate(data):
        if not isinstance(each, dict):
            raise InputError("an event is an object", where=Where(field=f"{place}.{at}"))
        given = _attributes(each.get("attributes"), f"{place}.{at}.attributes")
        name = _name(each.get("name") or given.get("event.name"), f"{place}.{at}.")
        yield {"name": name, "attributes": given}


def _failure(status: Any, attributes: Mapping[str, Any]) -> str | None:
    """What went wrong, or None."""
    code = _of(status, "code", "status_code", "statusCode") if isinstance(status, dict) else status
    if code not in (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error", "error"):
        return None
    told = _of(status, "message", "description") if isinstance(status, dict) else None
    return str(told or attributes.get("exception.message") or "error")


# -- values ----------------------------------------------------------------------------------------


def _attributes(data: Any, place: str) -> dict[str, Any]:
    if data is None:
        return {}
    found: dict[str, Any] = {}
    if isinstance(data, list):
        for at, each in enumerate(data):
            if not isinstance(each, dict) or not isinstance(each.get("key"), str):
                raise InputError("an attribute without a key", where=Where(field=f"{place}.{at}"))
            found[each["key"]] = _value(each.get("value"), f"{place}.{at}.value")
        return found
    if not isinstance(data, dict):
        raise InputError(
            "an array of attributes or a mapping belongs here", where=Where(field=place)
        )
    for name, value in data.items():
        if name in _NESTED and isinstance(value, dict | list):
            found.update(_flat(value, name))
        else:
            found[name] = value
    return found


def _flat(data: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Names with dots of a nested value; a list of texts stays one."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _flat(value, f"{path}.{name}")
    elif isinstance(data, list) and any(isinstance(each, dict) for each in data):
        for at, value in enumerate(data):
            yield from _flat(value, f"{path}.{at}")
    else:
        yield path, data


def _value(data: Any, place: str) -> Any:
    """An `AnyValue` as a plain one."""
    if data is None or data == {}:
        return None
    if not isinstance(data, dict):
        raise InputError(
            'an attribute\'s value is an object such as {"stringValue": …}',
            where=Where(field=place),
        )
    kind, value = next(iter(data.items()))
    kind = kind.replace("_v", "V")
    if kind in ("stringValue", "bytesValue", "boolValue", "doubleValue"):
        return value
    if kind == "intValue":
        try:
            return int(value)
        except (TypeError, ValueError):
            raise InputError(
                f"an integer belongs here, not {value!r}", where=Where(field=f"{place}.intValue")
            ) from None
    if kind not in ("arrayValue", "kvlistValue"):
        raise InputError(f"{kind!r} is no kind of value", where=Where(field=place))
    inner = value.get("values") if isinstance(value, dict) else None
    if kind == "kvlistValue":
        return _attributes(inner or [], f"{place}.kvlistValue.values")
    if not isinstance(inner, list | None):
        raise InputError("an array belongs here", where=Where(field=f"{place}.arrayValue.values"))
    return [_value(each, f"{place}.arrayValue.values.{at}") for at, each in enumerate(inner or [])]


def _body(data: Any, place: str) -> Any:
    """A log record's body: of OTLP an `AnyValue`, of a printed record the value itself."""
    if isinstance(data, dict) and len(data) == 1:
        (name,) = data
        if name.endswith(("Value", "_value")):
            return _value(data, place)
    return data


def _time(value: Any, place: str) -> int:
    """Nanoseconds since 1970; 0 where there is none."""
    if value is None:
        return 0
    try:
        if isinstance(value, list) and len(value) == 2:
            return int(value[0]) * _NANOS + int(value[1])
        if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
            return int(value)
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            since = time.replace(tzinfo=time.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
            return (since.days * 86400 + since.seconds) * _NANOS + since.microseconds * 1000
    except (TypeError, ValueError):
        pass
    raise InputError(f"{value!r} is no time", where=Where(field=place))
