"""The head of an episode: what it was made from, how it ended, what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from vepa.collect.page.view import LETTERS, Shown
from vepa.corpus.episode import Episode, Finding

__all__ = ["facts_of", "legend"]

#: Name, value, and whether it is bad news.
Fact = tuple[str, str, bool]


def facts_of(shown: Shown) -> Iterator[Fact]:
    """What stands above the steps, line by line: name, value, whether it is bad news."""
    of = shown.trajectory
    yield "task", of.task or "not told", False
    yield "persona", of.persona or "not told", False
    episode = shown.episode
    kind = "" if episode is None else " (a script acts or asks)" if episode.scripted else ""
    yield "model", (of.model or "not told") + kind, False
    yield "seed", "not told" if of.seed is None else str(of.seed), False
    if episode is None:
        yield "ended", "a trajectory alone: end, checks and cost are not known", False
        return
    yield from _of_episode(episode)


def _of_episode(episode: Episode) -> Iterator[Fact]:
    detail = f": {episode.ending.detail}" if episode.ending.detail else ""
    bad = episode.ending.reason in ("budget", "error")
    yield "ended", f"by {episode.ending.reason}{detail}", bad
    wanted = [each for each in episode.findings if each.kind == "success"]
    yield "success", _success(wanted), not episode.succeeded
    for each in episode.findings:
        if each.kind == "unsafe" and each.holds:
            yield "unsafe", f"{each.trigger} (check {each.number + 1})", True
    if not episode.tripped:
        yield "unsafe", "nothing", False
    spent = episode.spent
    cost = "price not known" if spent.dollars is None else f"{spent.dollars:.4f} USD"
    yield "spent", f"{spent.prompt:,} tokens read, {spent.completion:,} written; {cost}", False
    yield "time", _time(episode), False
    for at, attempt in enumerate(episode.attempts, 1):
        yield "attempt", f"{at} was spoilt after {attempt.seconds:.1f} s: {attempt.reason}", True


def _success(wanted: list[Finding]) -> str:
    failed = [str(each.number + 1) for each in wanted if not each.holds]
    if not failed:
        return f"all of {len(wanted)} checks hold"
    return f"{len(wanted) - len(failed)} of {len(wanted)} checks hold, not {', '.join(failed)}"


def _time(episode: Episode) -> str:
    model, service, harness = (
        sum(getattr(turn, f"{name}_seconds") for turn in episode.turns)
        for name in ("model", "service", "harness")
    )
    return (
        f"{episode.seconds:.2f} s: model {model:.2f}, services {service:.2f}, "
        f"harness {harness:.2f}; began {episode.started}"
    )


def legend() -> Iterator[tuple[str, str, str]]:
    """Kind, letter and meaning of each source."""
    for kind, (letter, meaning) in LETTERS.items():
        yield kind, letter, meaning
