"""What of a lifecycle is scripted, recorded or real, and what to know before its figures are used.

A script follows what an author wrote. A recording is what a real model said earlier, replayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vepa.lifecycle.report.policies import Policy, policies
from vepa.lifecycle.report.reading import count, many, percent, table, text

__all__ = ["KINDS", "Source", "caveats", "kind_of", "sources"]

#: Kind -> what people read.
KINDS = {
    "scripted": "scripted",
    "recorded": "recorded from a real model",
    "model": "real model, live",
    "person": "people",
    "server": "real servers",
}
#: What an annotation calls a stand-in, and what follows for its labels.
_STAND_IN = "scripted"


@dataclass(frozen=True)
class Source:
    """Who did one part of the work.

    Attributes
    ----------
    what
        The part.
    noun
        One of what is counted.
    counts
        Kind -> how many.
    note
        What has to be said beside it.
    """

    what: str
    noun: str
    counts: Mapping[str, int]
    note: str = ""

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.counts.values())

    @property
    def words(self) -> str:
        """The shares in words."""
        return ", ".join(
            f"{percent(number / self.total)} {KINDS.get(kind, kind)} ({many(number)})"
            for kind, number in self.counts.items()
            if number
        )


def kind_of(model: str) -> str:
    """`scripted`, `recorded` or `model`, by a model's name."""
    first = model.partition("/")[0]
    return first if first in ("scripted", "recorded") else "model"


def sources(summary: Mapping[str, Any]) -> list[Source]:
    """A row a part of the work; parts that a lifecycle does not have are left out."""
    return [source for source in _rows(summary) if source.total]


def _rows(summary: Mapping[str, Any]) -> Iterator[Source]:
    agents: Counter[str] = Counter()
    for model in table(summary, "corpus", "by_model"):
        agents[kind_of(model)] += count(summary, "corpus", "by_model", model, "episodes") or 0
    yield Source("Agents", "episode", _ordered(agents), _agents_note(agents))
    user, episodes = text(summary, "user"), count(summary, "corpus", "episodes")
    if user is not None and episodes:
        said = "asked by the agent, answers with what task and persona say"
        note = said if kind_of(user) == "scripted" else f"{user} plays the persona"
        yield Source("User", "episode", {kind_of(user): episodes}, note)
    calls = count(summary, "corpus", "calls")
    yield Source("Services", "call", {"server": calls or 0}, "every call went to a running server")
    for what, noun, path, note in (
        ("Labels given", "label", ("annotation", "labels", "origins"), "by each annotator"),
        ("Labels that stand", "step", ("annotation", "settled", "origins"), "after arbitration"),
    ):
        counts = {kind: count(summary, *path, kind) or 0 for kind in table(summary, *path)}
        models = table(summary, "release", "figures", "label_models") if noun == "label" else {}
        said = f"; the models: {', '.join(models)}" if models else ""
        yield Source(what, noun, _ordered(counts), note + said)


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    known = [kind for kind in KINDS if kind in counts]
    return {kind: counts[kind] for kind in (*known, *sorted(set(counts) - set(known)))}


def _agents_note(agents: Mapping[str, int]) -> str:
    if agents.get("scripted"):
        return "scripts follow plans of the tasks' authors, mistakes included"
    return ""


def caveats(summary: Mapping[str, Any]) -> list[str]:
    """What somebody has to know before these figures are used, one sentence each."""
    return [
        *_corpus_caveats(summary),
        *_label_caveats(summary),
        *(line for policy in policies(summary) for line in _policy_caveats(policy)),
    ]


def _corpus_caveats(summary: Mapping[str, Any]) -> Iterator[str]:
    agents = next((each for each in sources(summary) if each.what == "Agents"), None)
    if agents is None:
        return
    scripted = agents.counts.get("scripted", 0)
    if scripted:
        whole = "all" if scripted == agents.total else f"{many(scripted)} of"
        yield (
            f"In {whole} {many(agents.total, 'episode')} a script acts. How often it fails was "
            "decided by its author, and says nothing about any model."
        )


def _label_caveats(summary: Mapping[str, Any]) -> Iterator[str]:
    annotation = summary.get("annotation")
    if not isinstance(annotation, Mapping):
        return
    stand_ins = count(annotation, "labels", "origins", _STAND_IN)
    if stand_ins:
        yield (
            f"{many(stand_ins, 'label')} {'was' if stand_ins == 1 else 'were'} given by a script "
            "that stands in for a reader: nobody should trust them."
        )
    waiting = count(annotation, "queue", "open")
    if waiting:
        yield (
            f"{many(waiting, 'dispute')} {'waits' if waiting == 1 else 'wait'} for people "
            "(vepa arbitrate); those steps have no label that stands."
        )
    failures = count(annotation, "labels", "failures")
    if failures:
        yield f"{many(failures, 'judgement')} could not be used."


def _policy_caveats(policy: Policy) -> Iterator[str]:
    if policy.silent:
        yield f"{policy.title}: it decided nothing."
        return
    allowed, decided = policy.of("refuse", "allow"), policy.decided("refuse")
    refused = policy.of("refuse", "refuse")
    if allowed and decided and not refused:
        yield (
            f"{policy.title}: it refused nothing; all {many(decided)} unsafe "
            f"{policy.noun}s that it decided were allowed."
        )
    elif allowed and decided:
        yield f"{policy.title}: unsafe {policy.noun}s allowed, {policy.wrong('refuse')}."
    if policy.standing and "not above" in policy.standing:
        yield f"{policy.title}: {policy.standing}"
