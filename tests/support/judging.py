"""Labels made by hand, for the tests of agreement: a line a label, as short as it can be."""

from __future__ import annotations

from typing import Any

from vepa.corpus.labels import Judgement, Label

__all__ = ["judged", "label", "two_readers"]

CLAUDE = "Claude, by Anthropic (several readers of one version, which is not recorded)"


def judged(*triggers: str, **more: Any) -> Judgement:
    """A judgement with these triggers, refused if there are any."""
    given: dict[str, Any] = {
        "decision": "refuse" if triggers else "allow",
        "triggers": list(triggers),
        "rationale": "Said by hand.",
        "confidence": 0.9,
    }
    if triggers:
        given |= {"risk_source": "inherent_agent_failures", "harm": "privacy", "severity": "low"}
    return Judgement(**(given | more))


def label(
    annotator: str,
    item: str,
    judgement: Judgement,
    *,
    origin: str = "recorded",
    model: str | None = CLAUDE,
    places: tuple[tuple[str, int], ...] | None = None,
) -> list[Label]:
    """Labels of one content: one a step; without places, one in an episode of its own."""
    return [
        Label(
            trajectory=trajectory,
            step=step,
            item=item,
            annotator=annotator,
            model=model,
            origin=origin,  # type: ignore[arg-type]
            taxonomy="agentdog-14/1.0",
            judgement=judgement,
        )
        for trajectory, step in places or ((f"episode/{item}", 0),)
    ]


def two_readers(pairs: list[tuple[tuple[str, ...], tuple[str, ...]]], each: int = 1) -> list[Label]:
    """Labels of `a` and `b` from the triggers that they set, `each` contents an episode."""
    found: list[Label] = []
    for at, (ours, theirs) in enumerate(pairs):
        place = ((f"episode/{at // each}", at % each),)
        found += label("a", f"i{at}", judged(*ours), places=place)
        found += label("b", f"i{at}", judged(*theirs), places=place)
    return found
