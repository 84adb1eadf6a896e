"""The policies that are timed: an evolved one, and generated ones of its shape.

A generated policy has any number of rules and is free of conflicts by construction. The evolved
rules are first widened as far as they stay disjoint from every rule of the other decision; each
generated rule then narrows one widened rule around a real event that it covers, with a number of
predicates and sizes of sets drawn from the evolved rules, and matches none of the events on which
the evolved rules abstain. How alike the two are is measured and
printed, never assumed.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.bench.prequential import Prequential
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus import EventTable, read_events
from vepa.evolution import Archive, EvolutionSettings, update
from vepa.policy import (
    ExampleIndex,
    Policy,
    Rule,
    RuleIndex,
    Schema,
    authority,
    verify,
    witness,
)
from vepa.policy.schema import bits

DATA = Path(__file__).parents[2] / "data"
STREAM = "assebench_security.events.jsonl"
BUNDLED = (STREAM, "rjudge_dev.events.jsonl", "atbench_dev.events.jsonl")
ROUNDS = 10
FEEDBACK = 0.5
#: Candidates for one generated rule before giving up.
TRIES = 20_000


def read_bundled(name: str) -> EventTable:
    """One of the event files that ship with the project."""
    return read_events(DATA / name)


def bundled_events() -> EventTable:
    """All typed events that ship with the project: what the timed policies decide."""
    return EventTable.concat([read_bundled(name) for name in BUNDLED])


def evolve(
    stream: EventTable, rounds: int = ROUNDS, feedback: float = FEEDBACK, seed: int = 0
) -> tuple[Policy, list[float]]:
    """Evolve a policy over a stream, as `vepa bench run` does; also the seconds of each update."""
    seconds: list[float] = []

    def timed(parent: Policy, archive: Archive, **known: Any) -> Any:
        start = perf_counter()
        result = update(parent, archive, **known)
        seconds.append(perf_counter() - start)
        return result

    shuffled = make_stream(stream, StreamSettings(rounds=rounds, feedback=feedback), seed)
    loop = Prequential(shuffled, authority("paper"), EvolutionSettings(), evolve=timed)
    loop.run()
    return loop.current, seconds


@dataclass(frozen=True)
class Shape:
    """What makes a policy cheap or dear to match, over a population of events.

    Attributes
    ----------
    rules, allow_share
        Number of rules, and the share of them that allow.
    predicates
        Mean number of predicates a rule.
    admitted
        Mean share of a field's domain that a predicate admits.
    overlap
        Share of the pairs of rules of one decision that can match the same event.
    coverage
        Share of the events that some rule matches.
    fired
        Mean number of rules that match a covered event.
    """

    rules: int
    allow_share: float
    predicates: float
    admitted: float
    overlap: float
    coverage: float
    fired: float

    def to_dict(self) -> dict[str, Any]:
        """The shape as JSON data."""
        return asdict(self)

    def distance(self, other: Shape) -> float:
        """How unlike two shapes are: summed differences of what does not grow with the rules."""
        return (
            abs(self.predicates - other.predicates) / max(1.0, other.predicates)
            + abs(self.admitted - other.admitted)
            + abs(self.overlap - other.overlap)
            + abs(self.coverage - other.coverage)
        )


def shape(policy: Policy, events: EventTable) -> Shape:
    """Measure a policy; every rule counts, active or not."""
    index = RuleIndex(policy.schema, policy.rules)
    full = policy.schema.full
    counts = [_predicates(rule, policy.schema) for rule in policy.rules]
    shares = [
        mask.bit_count() / whole.bit_count()
        for rule in policy.rules
        for mask, whole in zip(rule.masks, full, strict=True)
        if mask != whole
    ]
    met = pairs = 0
    for side in (index.allow, index.refuse):
        size = side.bit_count()
        pairs += size * (size - 1) // 2
        met += sum(
            ((index.overlapping(index.rules[at].masks) & side).bit_count() - 1) for at in bits(side)
        )
    fired = [index.matching(row).bit_count() for row in events.codes.tolist()]
    covering = [count for count in fired if count]
    return Shape(
        rules=len(policy),
        allow_share=index.allow.bit_count() / max(1, len(policy)),
        predicates=sum(counts) / max(1, len(counts)),
        admitted=sum(shares) / max(1, len(shares)),
        overlap=met / 2 / max(1, pairs),
        coverage=len(covering) / max(1, len(fired)),
        fired=sum(covering) / max(1, len(covering)),
    )


def generate(like: Policy, events: EventTable, rules: int, seed: int = 0) -> Policy:
    """A verified policy of `rules` active rules: of several tries, the one most like `like`.

    Raises
    ------
    RuntimeError
        When there are not that many rules of the shape.
    VerificationError
        Never, unless the construction is wrong: the result went through the verifier.
    """
    wanted = shape(like, events)
    tries = [_generate(like, events, rules, seed, wide) for wide in (0.0, 0.3, 0.6, 0.9)]
    return min(tries, key=lambda policy: shape(policy, events).distance(wanted))


def _generate(like: Policy, events: EventTable, rules: int, seed: int, wide: float) -> Policy:
    rng = random.Random(seed)
    hulls = _widened(like, rng)
    rows: list[list[int]] = events.codes.tolist()
    index = ExampleIndex(like.schema, events.codes)
    told = 0
    for rule in like.rules:
        told |= index.covered(rule.masks)
    covered = {at: bits(index.covered(hull.masks) & told) for at, hull in enumerate(hulls)}
    usable = [at for at, found in covered.items() if found]
    counts = [_predicates(rule, like.schema) for rule in like.rules]
    sizes = _set_sizes(like)
    made: dict[tuple[int, ...], Rule] = {}
    failed = 0
    while len(made) < rules:
        at = usable[len(made) % len(usable)]
        row = rows[rng.choice(covered[at])]
        # Where short rules do not fit in any more, one more predicate.
        predicates = rng.choice(counts) + failed // 200
        masks = _narrowed(like.schema, hulls[at].masks, row, predicates, sizes, wide, rng)
        if masks in made or index.covered(masks) & ~told:
            failed += 1
            if failed > TRIES:
                raise RuntimeError(f"only {len(made)} of {rules} rules of this shape were found")
            continue
        failed = 0
        made[masks] = Rule.from_masks(like.schema, f"g{len(made)}", hulls[at].decision, masks)
    order = list(made.values())
    rng.shuffle(order)
    return verify(Policy(like.schema, tuple(order), like.unit)).unwrap()


def draw(events: EventTable, size: int, seed: int = 0) -> npt.NDArray[np.intp]:
    """Rows of `size` events drawn with replacement: the real population, at any length."""
    return np.random.default_rng(seed).integers(0, len(events), size, dtype=np.intp)


def _predicates(rule: Rule, schema: Schema) -> int:
    return sum(mask != whole for mask, whole in zip(rule.masks, schema.full, strict=True))


def _set_sizes(like: Policy) -> dict[int, list[int]]:
    """Field -> number of admitted values of each predicate on it."""
    sizes: dict[int, list[int]] = {}
    for rule in like.rules:
        for at, (mask, whole) in enumerate(zip(rule.masks, like.schema.full, strict=True)):
            if mask != whole:
                sizes.setdefault(at, []).append(mask.bit_count())
    return sizes


def _widened(like: Policy, rng: random.Random) -> list[Rule]:
    """The rules, each admitting as much as keeps the two decisions apart."""
    schema = like.schema
    rules = list(like.rules)
    order = list(range(len(rules)))
    rng.shuffle(order)
    for place in order:
        rule = rules[place]
        rivals = [other for other in rules if other.decision != rule.decision]
        masks = list(rule.masks)
        fields = [at for at, whole in enumerate(schema.full) if masks[at] != whole]
        rng.shuffle(fields)
        for at in fields:
            tried = [*masks]
            tried[at] = schema.full[at]
            if all(witness(schema, tried, rival.masks) is None for rival in rivals):
                masks = tried
        if any(mask != whole for mask, whole in zip(masks, schema.full, strict=True)):
            rules[place] = Rule.from_masks(schema, rule.id, rule.decision, masks)
    return rules


def _narrowed(
    schema: Schema,
    hull: tuple[int, ...],
    row: list[int],
    predicates: int,
    sizes: dict[int, list[int]],
    wide: float,
    rng: random.Random,
) -> tuple[int, ...]:
    """A rule inside `hull` that still matches `row`; `wide` is the share of sets left wide."""
    masks = list(hull)
    used = {at for at, whole in enumerate(schema.full) if masks[at] != whole}
    free = [at for at, found in sizes.items() if at not in used for _ in found]
    while len(used) < min(predicates, len(schema)):
        # As often as the evolved rules use the field; the others only when those are used up.
        at = rng.choice(free or [at for at in range(len(schema)) if at not in used])
        used.add(at)
        free = [other for other in free if other != at]
    for at in sorted(used):
        known = sizes.get(at) or [len(schema.fields[at].values) // 2]
        size = max(known) if rng.random() < wide else rng.choice(known)
        others = [code for code in bits(masks[at]) if code != row[at]]
        rng.shuffle(others)
        masks[at] = 1 << row[at] | sum(1 << code for code in others[: size - 1])
    return tuple(masks)
