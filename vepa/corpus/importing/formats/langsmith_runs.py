"""Runs of LangSmith as an export holds them: flat or nested, whole or in two halves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, ClassVar

from vepa.corpus.importing.format import checked
from vepa.corpus.importing.record import whole_text
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["Run", "merged", "runs_in", "took"]

_TEXTS = ("inputs", "outputs", "extra", "tags", "feedback_stats", "events", "serialized")


class Run(Foreign):
    """One run."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {
            "session_id", "session_name", "app_path", "manifest_id", "in_dataset", "status",
            "prompt_tokens", "completion_tokens", "total_tokens", "prompt_token_details",
            "completion_token_details", "first_token_time", "last_queued_at", "total_cost",
            "prompt_cost", "completion_cost", "prompt_cost_details", "completion_cost_details",
            "parent_run_ids", "child_run_ids", "direct_child_run_ids", "execution_order",
            "child_execution_order", "reference_example_id", "reference_dataset_id", "attachments",
            "inputs_preview", "outputs_preview", "share_token", "trace_tier", "trace_upgrade",
            "ttl_seconds", "price_model_id", "is_root", "trace_first_received_at", "thread_id",
            "trace_min_start_time", "trace_max_start_time", "latency", "tenant_id", "messages",
            "serialized", "events", "modified_at",
        }
    )  # fmt: skip

    id: str
    run_type: str | None = None
    name: str | None = None
    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    start_time: str | int | float | None = None
    end_time: str | int | float | None = None
    trace_id: str | None = None
    parent_run_id: str | None = None
    dotted_order: str | None = None
    extra: dict[str, Any] | None = None
    tags: list[str] | None = None
    feedback_stats: dict[str, Any] | None = None
    inputs_s3_urls: Any = None
    outputs_s3_urls: Any = None
    s3_urls: Any = None
    child_runs: list[dict[str, Any]] | None = None


def runs_in(
    data: Any, trace: Any, parent: str | None, place: str, notes: Notes
) -> Iterator[tuple[str, Any]]:
    """A run and all below it, each with the id of its trace.

    Raises
    ------
    InputError
        With the place of what is no run, or of no known trace.
    """
    if not isinstance(data, dict):
        raise InputError("a run is an object", where=Where(field=place.strip(".") or None))
    run = checked(Run, _untexted(data, place), notes, place)
    if isinstance(run.dotted_order, str) and not (run.trace_id or trace):
        trace = run.dotted_order.partition(".")[0].partition("Z")[2] or None
    key = run.trace_id or trace or (run.id if not (run.parent_run_id or parent) else None)
    if not isinstance(key, str) or not key:
        raise InputError(
            "a run below another one, and of no known trace",
            where=Where(field=f"{place}trace_id"),
            remedy="export the runs with trace_id or dotted_order",
        )
    if run.inputs_s3_urls or run.outputs_s3_urls or run.s3_urls:
        _kept_elsewhere(run, notes)
    update = {"child_runs": None, "parent_run_id": run.parent_run_id or parent}
    yield key, run.model_copy(update=update).model_dump(exclude_none=True)
    for at, child in enumerate(run.child_runs or []):
        yield from runs_in(child, key, run.id, f"{place}child_runs.{at}.", notes)


def _kept_elsewhere(run: Run, notes: Notes) -> None:
    if not run.inputs or not run.outputs:
        notes.remark("run whose inputs or outputs are kept outside the export")


def _untexted(data: dict[str, Any], place: str) -> dict[str, Any]:
    """A run of a bulk export, its JSON texts read."""
    found = dict(data)
    for name in _TEXTS:
        value = found.get(name)
        if not isinstance(value, str):
            continue
        if not value.strip():
            found[name] = None
            continue
        try:
            found[name] = json.loads(whole_text(value))
        except (ValueError, RecursionError):
            raise InputError(
                "an object belongs here, or its JSON text; this text is no JSON",
                where=Where(field=f"{place}{name}"),
            ) from None
    return found


def merged(runs: Sequence[Run]) -> dict[str, Run]:
    """By id, in the order in which they began; what came later of one run completes it."""
    found: dict[str, Run] = {}
    for run in runs:
        before = found.get(run.id)
        if before is not None:
            known = before.model_dump(exclude_none=True) | run.model_dump(exclude_none=True)
            run = Run.model_validate(known)
        found[run.id] = run
    if all(run.dotted_order for run in found.values()):
        order = sorted(found.values(), key=lambda run: run.dotted_order or "")
    else:
        order = sorted(found.values(), key=lambda run: _seconds_of(run.start_time) or 0.0)
    return {run.id: run for run in order}


def took(run: Run) -> float | None:
    """Seconds that a run took, where it says so."""
    begun, ended = _seconds_of(run.start_time), _seconds_of(run.end_time)
    return None if begun is None or ended is None or ended < begun else round(ended - begun, 6)


def _seconds_of(time: str | float | None) -> float | None:
    """A time in any spelling; None where it is none."""
    if isinstance(time, int | float):
        return time / 1000  # JavaScript clients count milliseconds
    try:
        found = datetime.fromisoformat(time) if time else None
    except ValueError:
        return None
    if found is None:
        return None
    return (found.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
