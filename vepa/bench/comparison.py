"""How figures are told to people: names of methods, errors by kind, VEPA beside the others.

The terminal and the report say the same because both take it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["FIGURES", "best_field", "counted", "errors_by_kind", "method_name", "standing"]

Figures = Mapping[str, Any]
_NAMES = {
    "vepa": "VEPA",
    "forest": "random forest",
    "ripper": "RIPPER",
    "hoeffding": "Hoeffding tree",
    "hoeffding_tuned": "Hoeffding tree, tuned",
    "lookup": "look-up",
    "no_memory": "LLM without memory",
    "judge": "VEPA, then LLM judge",
    "agrail": "AGrail",
    "lisa": "LiSA-style",
}
#: Figure -> what people read.
FIGURES = {
    "covered_macro_f1": "macro-F1 on covered events",
    "full_macro_f1": "macro-F1 on all events",
    "final_coverage": "coverage of the last round",
    "final3_coverage": "coverage of the last three rounds",
    "mean_coverage": "coverage over all rounds",
    "regression_rate": "regression rate",
    "adaptation_f1": "adaptation F1",
    "unsafe_allowed": "unsafe allowed, of those decided",
    "safe_refused": "safe refused, of those decided",
}
_LOOKUP = "lookup."
#: How a learner is scored -> the policy's own figure, and on what.
_KINDS = {
    "covered": ("covered_macro_f1", "on the events that it covers"),
    "full": ("full_macro_f1", "on all events"),
}


def method_name(key: str) -> str:
    """The name that people read of a method that has `key` among the baselines."""
    if key.startswith(_LOOKUP):
        return f"look-up on {key.removeprefix(_LOOKUP)}"
    return _NAMES.get(key, key)


def counted(number: int, word: str) -> str:
    """A number with its noun: `1 patch`, `2 patches`."""
    if number == 1:
        return f"{number} {word}"
    return f"{number} {word}{'es' if word.endswith(('ch', 's')) else 's'}"


def errors_by_kind(confusion: Mapping[str, Mapping[str, int]]) -> str:
    """Both kinds of wrong decisions, with the events that were decided of each label.

    Examples
    --------
    >>> errors_by_kind({"allow": {"allow": 9, "refuse": 1}, "refuse": {"allow": 0, "refuse": 4}})
    'unsafe allowed 1 of 5 decided (20.0 %), safe refused 0 of 9'
    """
    allowed, refused = confusion["allow"], confusion["refuse"]
    return (
        f"unsafe allowed {_share(allowed['refuse'], refused['refuse'], ' decided')}, "
        f"safe refused {_share(refused['allow'], allowed['allow'], '')}"
    )


def best_field(baselines: Mapping[str, Figures], kind: str = "covered") -> str | None:
    """The field whose look-up does best, on the covered events or on all; None without any."""
    keys = [key for key in baselines if key.startswith(_LOOKUP)]
    best = max(keys, key=lambda key: (baselines[key][kind], key), default=None)
    return None if best is None else best.removeprefix(_LOOKUP)


def standing(summary: Figures) -> str | None:
    """Whether the policy is above the best single field, in a sentence; None without look-ups."""
    below: list[str] = []
    above: list[str] = []
    for kind, (figure, where) in _KINDS.items():
        field = best_field(summary["baselines"], kind)
        if field is None:
            return None
        ours, theirs = summary[figure], summary["baselines"][f"{_LOOKUP}{field}"][kind]
        told = f"{where} {ours:.3f} against {theirs:.3f} of {field}"
        (above if ours > theirs else below).append(told)
    if below:
        return f"VEPA is not above the best single field: {', '.join(below)}."
    return f"VEPA is above the best single field: {', '.join(above)}."


def _share(wrong: int, right: int, word: str) -> str:
    told = f"{wrong} of {wrong + right}{word}"
    return f"{told} ({wrong / (wrong + right):.1%})".replace("%", " %") if wrong else told
