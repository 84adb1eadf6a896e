"""What a leakage report comes to, in sentences: broken promises, tell-tales, uneven shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from vepa.release.splits import SHARES

__all__ = ["findings_of"]

#: A split this far from its share of the steps is worth a word.
_FAR = 0.03
#: A group this large leaves little choice.
_LARGE = 0.2
#: From here on a look-up knows something, if chance (0.5) is as many standard errors away.
_KNOWS, _ERRORS = 0.6, 3
_MEANING = {
    "tell_tales": "It must never be a feature.",
    "context": "A guard may know it, but a score that it explains shows no reading of the step.",
    "words": "So far come words without sense.",
}


@dataclass(frozen=True)
class _Finding:
    """A sentence of the report.

    Attributes
    ----------
    level
        `problem`: a promise is broken. `warning`: something gives the label away, or a split lacks
        something. `note`: the rest.
    about
        Name of the part of the report.
    text
        For people.
    """

    level: Literal["problem", "warning", "note"]
    about: str
    text: str


def findings_of(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """The findings of a report, the gravest first: each with `level`, `about` and `text`.

    Parameters
    ----------
    report
        With `balance`, `overlap` and `lookups`.
    """
    balance, overlap, lookups = (report[name] for name in ("balance", "overlap", "lookups"))
    found = [*_broken(overlap), *_scripts(balance, lookups), *_telling(lookups)]
    found += [*_uneven(balance), *_alike(overlap)]
    order = ("problem", "warning", "note")
    return [asdict(each) for each in sorted(found, key=lambda each: order.index(each.level))]


def _broken(overlap: Mapping[str, Any]) -> Iterator[_Finding]:
    """Promises that do not hold."""
    for name, what in (("tasks", "Tasks"), ("groups", "Groups"), ("planted", "Planted texts")):
        shared, of = overlap[name]["shared"], overlap[name]["of"]
        if shared:
            yield _Finding("problem", name, f"{what} in more than one split: {shared} of {of}.")
    pairs = overlap["near_duplicates"]["pairs"]
    if pairs:
        text = f"Pairs of episodes in different splits that are near-duplicates: {pairs}."
        yield _Finding("problem", "near_duplicates", text)


def _scripts(balance: Mapping[str, Any], lookups: Mapping[str, Any]) -> Iterator[_Finding]:
    """What stands before all else where agents are scripts."""
    counts = [(divided["scripted"], divided["episodes"]) for divided in balance["divided"].values()]
    scripted, episodes = (sum(column) for column in zip(*counts, strict=True))
    if not scripted:
        return
    figures = lookups.get("tell_tales", {}).get("model_and_tool", {}).get("held_out", {})
    known = ""
    if figures.get("auc") is not None:
        known = f" Together with the name of the tool, and nothing else, it {_told(figures)}."
    text = (
        f"{scripted} of {episodes} episodes were played by scripts. The name of a script (its "
        f"temperament, column `model`) says how its plan ends.{known} No model may see it."
    )
    yield _Finding("warning", "scripted", text)


def _telling(lookups: Mapping[str, Any]) -> Iterator[_Finding]:
    """Look-ups that know something about what was held out."""
    if "majority" not in lookups:
        text = "Train has no labelled step event: no look-up was learned."
        yield _Finding("note", "lookups", text)
        return
    events = [lookups["events"][split] for split in ("validation", "test")]
    refuse = sum(each["refuse"] for each in events)
    allow = sum(each["labelled"] for each in events) - refuse
    if not refuse or not allow:
        text = "Validation and test together lack one of the two labels: no look-up can be judged."
        yield _Finding("note", "lookups", text)
        return
    for kind, meaning in _MEANING.items():
        for name, scored in lookups[kind].items():
            figures = scored["held_out"]
            if figures["auc"] >= max(_KNOWS, 0.5 + _ERRORS * figures["auc_error"]):
                level: Literal["warning", "note"] = "warning" if kind == "tell_tales" else "note"
                text = f"`{name}` alone {_told(figures)}. {meaning}"
                yield _Finding(level, name, text)
    best = lookups["best_field"]
    text = (
        f"Of the typed fields, `{best}` alone tells most on train. On what was held out, it "
        f"{_told(lookups['fields'][best]['held_out'])}. A policy has to do better."
    )
    yield _Finding("note", best, text)
    if len(lookups["words"]) < 2:
        text = "Train gives too little to learn words from: there is no figure of them."
        yield _Finding("note", "words", text)


def _told(figures: Mapping[str, Any]) -> str:
    return (
        f"ranks a refused step above an allowed one in {figures['auc']:.0%} of pairs (chance 50%) "
        f"and reaches macro-F1 {figures['macro_f1']:.2f} ({figures['lift']['macro_f1']:+.2f} over "
        "the majority)"
    )


def _uneven(balance: Mapping[str, Any]) -> Iterator[_Finding]:
    """Shares that are far from what is wanted, and why."""
    for key in balance["missing"]:
        text = f"The trigger `{key}` does not occur in every split."
        yield _Finding("warning", key, text)
    largest = balance["largest_group"]
    if largest and largest["share"] >= _LARGE:
        text = (
            f"One group, `{largest['group']}`, holds {largest['share']:.0%} of the steps and "
            f"{largest['tasks']} tasks; a chain of shared texts or near-duplicates links them. A "
            "group is never split."
        )
        yield _Finding("warning", "largest_group", text)
    for split, wanted in SHARES.items():
        share = balance["divided"][split]["share"]
        if abs(share - wanted) > _FAR:
            text = f"`{split}` holds {share:.0%} of the steps, not {wanted:.0%}."
            yield _Finding("note", split, text)


def _alike(overlap: Mapping[str, Any]) -> Iterator[_Finding]:
    """What splits share although nothing forbids it."""
    items, calls = overlap["items"], overlap["calls"]
    if items["steps"]:
        text = (
            f"Judged steps of validation and test that stand in train word for word: "
            f"{items['steps']} of {items['of']}, {items['openings']} of them openings; "
            f"{items['same_decision']} have a label there that is the same."
        )
        yield _Finding("note", "items", text)
    if calls["steps"]:
        text = (
            f"Calls of validation and test whose tool and arguments occur in train too, after "
            f"other words: {calls['steps']} of {calls['of']}."
        )
        yield _Finding("note", "calls", text)
    pairs = overlap["near_duplicate_requests"]["pairs"]
    if pairs:
        text = (
            "Pairs of episodes in different splits that were asked nearly the same and went on "
            f"differently: {pairs}."
        )
        yield _Finding("note", "near_duplicate_requests", text)
    for name, known in overlap["expected"].items():
        if known["not_in_train"]:
            count, of = len(known["not_in_train"]), known["of"]
            yield _Finding("note", name, f"Not in train: {count} of {of} {name}.")
