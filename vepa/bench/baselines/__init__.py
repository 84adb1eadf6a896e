"""Learners to compare with: each gets the same feedback, and answers every event.

A family may bring several baselines: `hoeffding` one with the library's defaults and a tuned one,
`lookup` one a field. Before any feedback all of them refuse (fail-closed), with confidence 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from vepa.bench.baselines.base import Advised, Baseline, Prediction
from vepa.errors import MissingExtraError, SettingError, Where
from vepa.policy.schema import Schema, nearest

if TYPE_CHECKING:
    from vepa.bench.baselines.asked.opening import Asking

__all__ = [
    "FAMILIES",
    "Advised",
    "Baseline",
    "Family",
    "Prediction",
    "check_families",
    "make_baselines",
]

#: (schema, visible fields, seed, what a model is asked with) -> name -> a fresh learner.
Maker = Callable[[Schema, Sequence[str], int, "Asking | None"], Mapping[str, Baseline]]


@dataclass(frozen=True, slots=True)
class Family:
    """A family of baselines.

    Attributes
    ----------
    make
        Makes its learners.
    packages
        That they need, of the extra `bench`.
    asks
        Whether a language model is asked.
    embeds
        Whether an embedder is asked, too.
    """

    make: Maker
    packages: tuple[str, ...] = ()
    asks: bool = False
    embeds: bool = False


def _hoeffding(
    schema: Schema, fields: Sequence[str], _seed: int, _: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.hoeffding import TUNED, Hoeffding

    return {
        "hoeffding": Hoeffding(schema, fields),
        "hoeffding_tuned": Hoeffding(schema, fields, TUNED),
    }


def _ripper(
    schema: Schema, fields: Sequence[str], seed: int, _: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.ripper import Ripper

    return {"ripper": Ripper(schema, fields, seed)}


def _forest(
    schema: Schema, fields: Sequence[str], seed: int, _: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.forest import Forest

    return {"forest": Forest(schema, fields, seed)}


def _lookup(
    schema: Schema, fields: Sequence[str], _seed: int, _: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.lookup import Lookup

    return {f"lookup.{name}": Lookup(schema, name) for name in fields}


def _no_memory(
    schema: Schema, fields: Sequence[str], _seed: int, asking: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.asked.no_memory import NoMemory

    assert asking is not None
    return {"no_memory": NoMemory(schema, fields, asking.judge, asking.concurrency)}


def _judge(
    schema: Schema, fields: Sequence[str], _seed: int, asking: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.asked.judge import Judge

    assert asking is not None
    judge = Judge(schema, fields, asking.judge, asking.concurrency, asking.verify)
    return {"judge": judge}


def _agrail(
    schema: Schema, fields: Sequence[str], _seed: int, asking: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.asked.agrail import AGrail, AGrailPrompts

    assert asking is not None
    assert asking.embedder is not None
    prompts = AGrailPrompts.load(asking.prompt)
    return {"agrail": AGrail(schema, fields, asking.model, asking.embedder, prompts)}


def _lisa(
    schema: Schema, fields: Sequence[str], _seed: int, asking: Asking | None
) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.asked.lisa import LiSA
    from vepa.bench.baselines.asked.lisa.writing import TEMPLATE

    assert asking is not None
    assert asking.embedder is not None
    learner = LiSA(
        schema,
        fields,
        judge=asking.judge,
        model=asking.model,
        prompt=asking.prompt(TEMPLATE),
        embedder=asking.embedder,
        concurrency=asking.concurrency,
    )
    return {"lisa": learner}


#: A new family is one entry here and a module beside the others.
FAMILIES: Mapping[str, Family] = {
    "hoeffding": Family(_hoeffding, ("river",)),
    "ripper": Family(_ripper, ("wittgenstein", "pandas")),
    "forest": Family(_forest, ("sklearn",)),
    "lookup": Family(_lookup),
    "no_memory": Family(_no_memory, asks=True),
    "judge": Family(_judge, asks=True),
    "agrail": Family(_agrail, asks=True, embeds=True),
    "lisa": Family(_lisa, asks=True, embeds=True),
}


def check_families(names: Sequence[str], *, asks: bool = False, embeds: bool = False) -> None:
    """Find what keeps families from being made.

    Parameters
    ----------
    names
        Families; see `FAMILIES`.
    asks, embeds
        Whether a model and an embedder are at hand.

    Raises
    ------
    SettingError
        For an unknown family, or one that asks what is not at hand.
    MissingExtraError
        For a missing package.
    """
    for name in names:
        if name not in FAMILIES:
            raise SettingError(
                f"{name!r} is not a baseline",
                where=Where(field="baselines"),
                remedy=nearest(name, tuple(FAMILIES), "baselines"),
            )
        family = FAMILIES[name]
        for package in family.packages:
            if find_spec(package) is None:
                raise MissingExtraError(package, "bench")
        if family.asks:
            _check_asked(name, family, asks, embeds)


def _check_asked(name: str, family: Family, asks: bool, embeds: bool) -> None:
    if not asks:
        alone = ", ".join(name for name, family in FAMILIES.items() if not family.asks)
        raise SettingError(
            f"the baseline {name!r} asks a language model, and none is named",
            where=Where(field="baselines"),
            remedy=f"`vepa bench run` takes one with --judge MODEL; without one there are {alone}",
        )
    if family.embeds and not embeds:
        raise SettingError(
            f"the baseline {name!r} keeps a memory that is searched by embeddings, and no embedder "
            "is named",
            where=Where(field="baselines"),
            remedy="`vepa bench run` takes one with --embedder NAME: an embedding model, or "
            "hashing/256, which needs none",
        )
    if find_spec("jinja2") is None:
        raise MissingExtraError("jinja2", "pipeline")


def make_baselines(
    names: Sequence[str],
    schema: Schema,
    fields: Sequence[str],
    seed: int,
    asking: Asking | None = None,
) -> dict[str, Baseline]:
    """Fresh learners of the families `names`.

    Parameters
    ----------
    names
        Families; see `FAMILIES`.
    schema
        Schema of the events.
    fields
        The visible fields; a learner looks at no other.
    seed
        For learners that draw.
    asking
        Model and embedder of the families that ask one.

    Raises
    ------
    SettingError
        For an unknown family, or one that asks what `asking` does not bring.
    MissingExtraError
        For a missing package.
    """
    embeds = asking is not None and asking.embedder is not None
    check_families(names, asks=asking is not None, embeds=embeds)
    made: dict[str, Baseline] = {}
    for name in names:
        made.update(FAMILIES[name].make(schema, fields, seed, asking))
    return made
