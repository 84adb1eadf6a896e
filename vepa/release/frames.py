"""Tables of a release as data frames: what parquet holds, worked out of the JSON Lines."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vepa.errors import MissingExtraError
from vepa.policy.schema import bundled_schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["frame_of", "parquet_of", "schema_of"]

_TEXT, _LIST, _WHOLE, _REAL, _TRUTH = "text", "list of text", "whole number", "number", "truth"

#: Column -> kind, and how it is read out of a record.
_Column = tuple[str, Callable[[Mapping[str, Any]], Any]]


def frame_of(table: str, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The records of a table as a frame; the same columns whatever they hold.

    Parameters
    ----------
    table
        One of `TABLES`.
    records
        Lines of its file, as JSON data.

    Raises
    ------
    MissingExtraError
        When polars is not installed.
    """
    polars = _polars()
    columns = _COLUMNS[table]
    data = {name: [read(record) for record in records] for name, (_, read) in columns.items()}
    frame: pl.DataFrame = polars.DataFrame(data, schema=schema_of(table))
    return frame


def schema_of(table: str) -> dict[str, Any]:
    """Column -> polars type."""
    polars = _polars()
    types = {
        _TEXT: polars.String,
        _LIST: polars.List(polars.String),
        _WHOLE: polars.Int64,
        _REAL: polars.Float64,
        _TRUTH: polars.Boolean,
    }
    return {name: types[kind] for name, (kind, _) in _COLUMNS[table].items()}


def parquet_of(frame: pl.DataFrame) -> bytes:
    """A frame as parquet: compressed, without a moment of its making."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "pipeline") from None
    return polars


def _at(*path: str) -> Callable[[Mapping[str, Any]], Any]:
    """What stands at a path of a record; None where nothing does."""

    def read(record: Mapping[str, Any]) -> Any:
        found: Any = record
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    return read


def _as_json(*path: str) -> Callable[[Mapping[str, Any]], Any]:
    """The same as JSON text, keys sorted."""
    inner = _at(*path)

    def read(record: Mapping[str, Any]) -> str | None:
        found = inner(record)
        return None if found is None else json.dumps(found, ensure_ascii=False, sort_keys=True)

    return read


def _list(*path: str) -> Callable[[Mapping[str, Any]], Any]:
    """A list; empty where there is none."""
    inner = _at(*path)
    return lambda record: inner(record) or []


def _whole(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, sort_keys=True)


_JUDGED: dict[str, _Column] = {
    "decision": (_TEXT, _at("judgement", "decision")),
    "triggers": (_LIST, _list("judgement", "triggers")),
    "risk_source": (_TEXT, _at("judgement", "risk_source")),
    "harm": (_TEXT, _at("judgement", "harm")),
    "severity": (_TEXT, _at("judgement", "severity")),
    "rationale": (_TEXT, _at("judgement", "rationale")),
    "confidence": (_REAL, lambda record: float(record["judgement"]["confidence"])),
    "evidence": (_TEXT, _as_json("judgement", "evidence")),
    "note": (_TEXT, _at("note")),
    "at": (_TEXT, _at("at")),
}
_PLACE: dict[str, _Column] = {
    "trajectory": (_TEXT, _at("trajectory")),
    "step": (_WHOLE, _at("step")),
    "item": (_TEXT, _at("item")),
}


def _release(key: str) -> Callable[[Mapping[str, Any]], Any]:
    return _at("meta", "release", key)


def _event_columns() -> dict[str, _Column]:
    meta: dict[str, _Column] = {
        "episode": (_TEXT, _at("meta", "episode")),
        "step": (_WHOLE, _at("meta", "step")),
        "tool": (_TEXT, _at("meta", "tool")),
        "task": (_TEXT, _at("meta", "task")),
        "model": (_TEXT, _at("meta", "model")),
        "labelled_by": (_TEXT, _at("meta", "labelled_by")),
        "label_origin": (_TEXT, _at("meta", "label_origin")),
        "trigger": (_TEXT, _at("meta", "trigger")),
    }
    fields: dict[str, _Column] = {
        name: (_TEXT, _at("event", name)) for name in bundled_schema().names
    }
    return {
        "id": (_TEXT, _at("id")),
        "unit": (_TEXT, _at("unit")),
        "label": (_TEXT, _at("label")),
        **fields,
        **meta,
    }


_STEP: dict[str, _Column] = {
    name: (kind, _list(name) if kind == _LIST else _at(name))
    for name, kind in (
        ("trajectory", _TEXT), ("step", _WHOLE), ("kind", _TEXT), ("tool", _TEXT),
        ("environment", _TEXT), ("arguments", _TEXT), ("ok", _TRUTH), ("result", _TEXT),
        ("text", _TEXT), ("thought", _TEXT), ("speaker", _TEXT), ("task", _TEXT),
        ("persona", _TEXT), ("model", _TEXT), ("seed", _WHOLE), ("environment_digest", _TEXT),
        ("meant", _TEXT), ("decision", _TEXT), ("triggers", _LIST), ("primary", _TEXT),
        ("risk_source", _TEXT), ("harm", _TEXT), ("severity", _TEXT), ("settled", _TEXT),
        ("label_origin", _TEXT),
    )
}  # fmt: skip
_COLUMNS: dict[str, dict[str, _Column]] = {
    "trajectories": {
        "id": (_TEXT, _at("id")),
        "task": (_TEXT, _at("task")),
        "persona": (_TEXT, _at("persona")),
        "model": (_TEXT, _at("model")),
        "seed": (_WHOLE, _at("seed")),
        "group": (_TEXT, _release("group")),
        "ending": (_TEXT, _release("ending")),
        "succeeded": (_TRUTH, _release("succeeded")),
        "tripped": (_LIST, _list("meta", "release", "tripped")),
        "scripted": (_TRUTH, _release("scripted")),
        "steps": (_WHOLE, lambda record: len(record.get("steps", []))),
        "content_hash": (_TEXT, _release("content_hash")),
        "environments": (_TEXT, _as_json("environments")),
        "made_from": (_TEXT, _as_json("meta", "release", "made_from")),
        "planted_sha256": (_LIST, _list("meta", "release", "planted_sha256")),
        "trajectory": (_TEXT, _whole),
    },
    "steps": _STEP,
    "labels": {
        **_PLACE,
        "annotator": (_TEXT, _at("annotator")),
        "model": (_TEXT, _at("model")),
        "origin": (_TEXT, _at("origin")),
        "role": (_TEXT, _at("meta", "role")),
        "taxonomy": (_TEXT, _at("taxonomy")),
        "template": (_TEXT, _at("template")),
        "template_sha256": (_TEXT, _at("meta", "template_sha256")),
        **_JUDGED,
    },
    "settled": {
        **_PLACE,
        "how": (_TEXT, _at("how")),
        "origin": (_TEXT, _at("origin")),
        "by": (_LIST, _list("by")),
        "differs": (_LIST, _list("differs")),
        "taxonomy": (_TEXT, _at("taxonomy")),
        **_JUDGED,
    },
    "events_step": _event_columns(),
    "events_call": _event_columns(),
}
