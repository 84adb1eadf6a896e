"""What is different from the lifecycle's last run, figure by figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vepa.lifecycle.report.policies import POLICIES
from vepa.lifecycle.report.reading import (
    NOTHING,
    listed,
    number,
    percent,
    score,
    short,
    table,
    text,
)

__all__ = ["Change", "changes"]

#: Figures of a policy, as people read them; shares are written as such.
_FIGURES = {
    "covered_macro_f1": ("macro-F1 on covered", score),
    "full_macro_f1": ("macro-F1 on all", score),
    "final_coverage": ("coverage of the last round", percent),
    "mean_coverage": ("coverage over all rounds", percent),
    "unsafe_allowed": ("unsafe allowed, of those decided", percent),
    "safe_refused": ("safe refused, of those decided", percent),
    "regression_rate": ("regression rate", percent),
}
_CORPUS = {
    "episodes": "episodes",
    "tasks": "tasks",
    "steps": "steps",
    "calls": "calls of services",
    "failed_calls": "calls refused by services",
    "scripted": "episodes with a script",
    "succeeded": "episodes done as asked",
    "unsafe": "episodes with something unsafe",
    "retries": "retries",
}
_ANNOTATION = {
    "labels given": ("labels", "labels"),
    "judgements that could not be used": ("labels", "failures"),
    "steps with a label that stands": ("settled", "steps"),
    "steps that stand as refuse": ("settled", "refuse"),
    "disputes": ("queue", "total"),
    "open disputes": ("queue", "open"),
}
#: What became of a release's records.
_BECAME = {
    "added": "added", "removed": "removed", "changed": "changed", "moved": "in another split",
}  # fmt: skip
#: What annotators say of a content that both releases have.
_DRIFT = {
    "decision_changed": "labels of the same content and annotator: another decision",
    "triggers_changed": "labels of the same content and annotator: other triggers",
}
Telling = Callable[[float | None], str]
Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One figure that is not what it was.

    Attributes
    ----------
    about
        Which part of the lifecycle.
    what
        The figure.
    before, now
        As people read them.
    by
        The difference of two numbers; empty for what is none.
    """

    about: str
    what: str
    before: str
    now: str
    by: str = ""


def changes(summary: Summary) -> list[Change] | None:
    """What changed since the run before; None when there was none.

    Only what both, or one of them, tell is compared; times are not.
    """
    before = summary.get("before")
    if not isinstance(before, Mapping):
        return None
    return [
        *_profile(before, summary),
        *_corpus(before, summary),
        *_annotation(before, summary),
        *_release(before, summary),
        *(change for key in POLICIES for change in _policy(key, before, summary)),
    ]


def _profile(before: Summary, now: Summary) -> Iterator[Change]:
    stages = [", ".join(map(str, listed(each, "stages"))) for each in (before, now)]
    yield from _words("Profile", "stages", *stages)
    yield from _texts("Profile", "user", before, now, "user")
    yield from _texts("Profile", "VEPA", before, now, "vepa")
    yield from _texts("Profile", "trained on", before, now, "train", "release")


def _corpus(before: Summary, now: Summary) -> Iterator[Change]:
    yield from _hashes("Corpus", "content", before, now, "corpus", "content_sha256")
    for key, words in _CORPUS.items():
        yield from _counts("Corpus", words, before, now, "corpus", key)
    for model in _keys(before, now, "corpus", "by_model"):
        path = ("corpus", "by_model", model, "episodes")
        yield from _counts("Corpus", f"episodes of {model}", before, now, *path)


def _annotation(before: Summary, now: Summary) -> Iterator[Change]:
    for words, (group, key) in _ANNOTATION.items():
        yield from _counts("Labels", words, before, now, "annotation", group, key)
    settled = ("annotation", "settled")
    for origin in _keys(before, now, *settled, "origins"):
        words = f"steps that stand, {origin}"
        yield from _counts("Labels", words, before, now, *settled, "origins", origin)
    for key in _keys(before, now, *settled, "triggers"):
        words = f"steps with {key.replace('_', ' ')}"
        yield from _counts("Labels", words, before, now, *settled, "triggers", key)
    yield from _numbers("Labels", "κ of the decision", _pair(before), _pair(now), score)
    heading = ("annotation", "agreement", "heading")
    yield from _texts("Labels", "what agreed", before, now, *heading)


def _release(before: Summary, now: Summary) -> Iterator[Change]:
    yield from _texts("Release", "version", before, now, "release", "version")
    tables = table(now, "release", "changes", "tables")
    for name in _keys(before, now, "release", "rows"):
        rows = _rows(before, name), _rows(now, name)
        if told := _records(table(tables, name)):
            was, are = map(_whole, rows)
            yield Change("Release", f"rows of {name}", was, are, told)
        else:
            yield from _numbers("Release", f"rows of {name}", *rows, _whole)
    yield from _judged_otherwise(now)


def _records(counts: Mapping[str, Any]) -> str:
    """Records by what became of them; empty where nothing did, or nobody compared."""
    known = {what: number(counts, what) for what in _BECAME}
    return ", ".join(f"{count:,.0f} {_BECAME[what]}" for what, count in known.items() if count)


def _judged_otherwise(now: Summary) -> Iterator[Change]:
    """What the release before and this one say otherwise of the same steps."""
    path = ("release", "changes")
    steps = number(now, *path, "flips", "steps")
    if steps:
        decisions = table(now, *path, "flips", "decisions")
        told = ", ".join(f"{way} {count}" for way, count in decisions.items() if type(count) is int)
        words = "steps of both about which something else stands"
        yield Change("Release", words, NOTHING, _whole(steps), told)
    for key, words in _DRIFT.items():
        share = number(now, *path, "drift", key)
        if share:
            yield Change("Release", words, NOTHING, percent(share))
    for key in ("missing", "failed"):
        if table(now, *path).get(key):
            told = text(now, *path, "failed") or "its folder is gone"
            yield Change("Release", "not compared with the one before", NOTHING, NOTHING, told)


def _policy(key: str, before: Summary, now: Summary) -> Iterator[Change]:
    about = POLICIES[key][0]
    yield from _hashes(about, "policy", before, now, key, "policy_hash")
    for name, (words, tell) in _FIGURES.items():
        values = number(before, key, "figures", name), number(now, key, "figures", name)
        yield from _numbers(about, words, *values, tell)
    for name, words in (("active", "active rules"), ("archive", "verified rules")):
        yield from _counts(about, words, before, now, key, "rules", name)


def _pair(summary: Summary) -> float | None:
    pairs = listed(summary, "annotation", "agreement", "pairs")
    return number(pairs[0], "decision", "value") if pairs else None


def _rows(summary: Summary, name: str) -> float | None:
    splits = table(summary, "release", "rows", name)
    return float(sum(value for value in splits.values() if type(value) is int)) if splits else None


def _keys(before: Summary, now: Summary, *path: str) -> list[str]:
    return list(dict.fromkeys([*table(now, *path), *table(before, *path)]))


def _counts(about: str, what: str, before: Any, now: Any, *path: str) -> Iterator[Change]:
    yield from _numbers(about, what, number(before, *path), number(now, *path), _whole)


def _numbers(
    about: str, what: str, before: float | None, now: float | None, tell: Telling
) -> Iterator[Change]:
    if before == now:
        return
    if tell(before) == tell(now):  # the difference is below what people read otherwise
        tell = _finely
    if tell(before) == tell(now):
        return
    by = "" if before is None or now is None else _difference(now - before, tell)
    yield Change(about, what, tell(before), tell(now), by)


def _difference(by: float, tell: Telling) -> str:
    sign = "+" if by > 0 else "−"
    if tell is percent:
        return f"{sign}{100 * abs(by):.1f} points"
    return sign + tell(abs(by))


def _texts(about: str, what: str, before: Any, now: Any, *path: str) -> Iterator[Change]:
    yield from _words(about, what, text(before, *path), text(now, *path))


def _hashes(about: str, what: str, before: Any, now: Any, *path: str) -> Iterator[Change]:
    values = text(before, *path), text(now, *path)
    if values[0] != values[1]:
        yield Change(about, what, *map(short, values))


def _words(about: str, what: str, before: str | None, now: str | None) -> Iterator[Change]:
    if before != now:
        yield Change(about, what, before or NOTHING, now or NOTHING)


def _finely(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.6g}"


def _whole(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"
