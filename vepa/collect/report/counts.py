"""What the report of a corpus counts: rows of its tables, straight from the episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vepa.collect.parts import TRIGGERS
from vepa.collect.tasks.model import TEMPERAMENTS, Task
from vepa.corpus.episode import Episode
from vepa.corpus.events import EventRecord
from vepa.policy.schema import bundled_schema

__all__ = [
    "ending_rows",
    "field_rows",
    "kind_of",
    "model_rows",
    "models_of",
    "outcome_of",
    "retry_rows",
    "service_rows",
    "task_rows",
    "trigger_rows",
]

#: What an event says of a field that it leaves out.
_UNKNOWN = "unknown"
#: First part of a model's name -> what stands behind it; every other name is a real model.
_KINDS = {"scripted": "script", "recorded": "recorded"}


def kind_of(model: str) -> str:
    """`script`, `recorded` (answers of a real model, replayed) or `model`."""
    return _KINDS.get(model.partition("/")[0], "model")


def outcome_of(episode: Episode) -> str:
    """`unsafe` when an unsafe check holds, else `done` or `missed`."""
    if episode.tripped:
        return "unsafe"
    return "done" if episode.succeeded else "missed"


def models_of(episodes: Sequence[Episode]) -> list[str]:
    """The agents: scripts from careful to reckless, then models by name."""
    ranks = {f"scripted/{name}": at for at, name in enumerate(TEMPERAMENTS)}
    names = {episode.model for episode in episodes}
    return sorted(names, key=lambda name: (ranks.get(name, len(ranks)), name))


def model_rows(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """A row an agent: episodes, steps, outcomes, tokens, price and time."""
    rows = []
    for name in models_of(episodes):
        mine = [episode for episode in episodes if episode.model == name]
        outcomes = Counter(map(outcome_of, mine))
        prices = [episode.spent.dollars for episode in mine]
        rows.append(
            {
                "name": name,
                "kind": kind_of(name),
                "episodes": len(mine),
                "steps": sum(episode.steps for episode in mine),
                "succeeded": sum(episode.succeeded for episode in mine),
                **{outcome: outcomes[outcome] for outcome in ("done", "missed", "unsafe")},
                "tokens": sum(each.spent.prompt + each.spent.completion for each in mine),
                "dollars": None if None in prices else sum(price or 0.0 for price in prices),
                "seconds": sum(episode.seconds for episode in mine),
            }
        )
    return rows


def trigger_rows(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """A row a trigger: steps that a script meant as it, and episodes that tripped it, by agent."""
    meant = Counter(name for episode in episodes for name in episode.intended if name is not None)
    tripped = Counter((name, each.model) for each in episodes for name in each.tripped)
    tasks = {name: {each.task for each in episodes if name in each.tripped} for name in TRIGGERS}
    models = models_of(episodes)
    return [
        {
            "name": name,
            "words": name.replace("_", " "),
            "meant": meant[name],
            "tasks": len(tasks[name]),
            "tripped": [tripped[name, model] for model in models],
            "all": sum(tripped[name, model] for model in models),
            "reached": bool(meant[name] or tasks[name]),
        }
        for name in TRIGGERS
    ]


def service_rows(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """A row a service: tasks and episodes that called it, calls, and those it refused."""
    found: dict[str, dict[str, Any]] = {}
    for episode in episodes:
        for step in episode.trajectory.steps:
            if step.call is None:
                continue
            name = step.call.environment or "no service (a tool that there is not)"
            row = found.setdefault(
                name, {"name": name, "tasks": set(), "episodes": set(), "tools": Counter()}
            )
            row["tasks"].add(episode.task)
            row["episodes"].add(episode.id)
            row["tools"][step.call.tool] += 1
            ok = step.result is not None and step.result.ok
            row["ok" if ok else "failed"] = row.get("ok" if ok else "failed", 0) + 1
    return [
        {
            "name": name,
            "tasks": len(row["tasks"]),
            "episodes": len(row["episodes"]),
            "ok": row.get("ok", 0),
            "failed": row.get("failed", 0),
            "calls": row["tools"].total(),
            "tools": sorted(row["tools"].items(), key=lambda item: (-item[1], item[0])),
        }
        for name, row in sorted(found.items())
    ]


def ending_rows(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """A row an ending: episodes by agent, and which budget or error it was."""
    models = models_of(episodes)
    rows = []
    for reason in ("answer", "refusal", "budget", "error"):
        mine = [episode for episode in episodes if episode.ending.reason == reason]
        by_model = Counter(episode.model for episode in mine)
        details = Counter(each.ending.detail for each in mine if each.ending.detail)
        rows.append(
            {
                "reason": reason,
                "counts": [by_model[model] for model in models],
                "all": len(mine),
                "details": details.most_common(5),
            }
        )
    return rows


def task_rows(tasks: Sequence[Task], episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """A row a task: what it is, and what became of each agent's episodes."""
    models = models_of(episodes)
    by_task: dict[str, list[Episode]] = {task.id: [] for task in tasks}
    for episode in episodes:
        by_task[episode.task].append(episode)
    return [
        {
            "id": task.id,
            "title": task.title,
            "request": task.request,
            "persona": task.persona,
            "services": list(task.environments),
            "planted": any(each.wants for each in task.planted),
            "cells": [
                _cell([each for each in by_task[task.id] if each.model == model])
                for model in models
            ],
        }
        for task in tasks
    ]


def _cell(episodes: Sequence[Episode]) -> dict[str, Any] | None:
    """What became of one agent's episodes of a task; None without any."""
    if not episodes:
        return None
    outcomes = Counter(map(outcome_of, episodes))
    return {
        "outcomes": [(name, outcomes[name]) for name in ("done", "missed", "unsafe")],
        "worst": max(outcomes, key=("done", "missed", "unsafe").index),
        "also_done": any(each.succeeded and each.tripped for each in episodes),
        "triggers": sorted({name.replace("_", " ") for each in episodes for name in each.tripped}),
        "episodes": [each.id for each in episodes],
        "many": len(episodes) > 1,
    }


def field_rows(events: Sequence[EventRecord]) -> list[dict[str, Any]]:
    """A row a field of the parser's events: its values, each with its labels.

    Parameters
    ----------
    events
        Labelled; a field that an event leaves out counts as `unknown`.
    """
    fields = [name for name in _names() if any(name in record.event for record in events)]
    return [
        {
            "name": field,
            "words": field.replace("_", " "),
            "values": list(_values(field, events)),
        }
        for field in fields
    ]


def _names() -> list[str]:
    return [field.name for field in bundled_schema().fields]


def _values(field: str, events: Sequence[EventRecord]) -> Iterator[Mapping[str, Any]]:
    labels: dict[str, Counter[str]] = {}
    for record in events:
        value = record.event.get(field, _UNKNOWN)
        labels.setdefault(value, Counter())[record.label or "none"] += 1
    for value, counts in sorted(labels.items(), key=lambda item: (-item[1].total(), item[0])):
        yield {
            "value": value,
            "steps": counts.total(),
            "allow": counts["allow"],
            "refuse": counts["refuse"],
            "none": counts["none"],
        }


def retry_rows(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """A row an episode that was played again because a service failed."""
    return [
        {
            "id": episode.id,
            "tries": [(attempt.reason, attempt.seconds) for attempt in episode.attempts],
        }
        for episode in episodes
        if episode.attempts
    ]
