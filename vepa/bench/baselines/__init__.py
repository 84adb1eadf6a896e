"""Learners to compare with: each gets the same feedback, and answers every event.

A family may bring several baselines: `hoeffding` one with the library's defaults and a tuned one,
`lookup` one a field. Before any feedback all of them refuse (fail-closed), with confidence 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from vepa.bench.baselines.base import Baseline, Prediction
from vepa.errors import MissingExtraError, SettingError, Where
from vepa.policy.schema import Schema, nearest

__all__ = ["FAMILIES", "Baseline", "Family", "Prediction", "check_families", "make_baselines"]

#: (schema, visible fields, seed) -> name -> a fresh learner.
Maker = Callable[[Schema, Sequence[str], int], Mapping[str, Baseline]]


@dataclass(frozen=True, slots=True)
class Family:
    """A family of baselines: how to make them, and the packages that they need."""

    make: Maker
    packages: tuple[str, ...] = ()


def _hoeffding(schema: Schema, fields: Sequence[str], _seed: int) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.hoeffding import TUNED, Hoeffding

    return {
        "hoeffding": Hoeffding(schema, fields),
        "hoeffding_tuned": Hoeffding(schema, fields, TUNED),
    }


def _ripper(schema: Schema, fields: Sequence[str], seed: int) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.ripper import Ripper

    return {"ripper": Ripper(schema, fields, seed)}


def _forest(schema: Schema, fields: Sequence[str], seed: int) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.forest import Forest

    return {"forest": Forest(schema, fields, seed)}


def _lookup(schema: Schema, fields: Sequence[str], _seed: int) -> Mapping[str, Baseline]:
    from vepa.bench.baselines.lookup import Lookup

    return {f"lookup.{name}": Lookup(schema, name) for name in fields}


#: A new family is one entry here and a module beside the others.
FAMILIES: Mapping[str, Family] = {
    "hoeffding": Family(_hoeffding, ("river",)),
    "ripper": Family(_ripper, ("wittgenstein", "pandas")),
    "forest": Family(_forest, ("sklearn",)),
    "lookup": Family(_lookup),
}


def check_families(names: Sequence[str]) -> None:
    """Raise `SettingError` for an unknown family, `MissingExtraError` for a missing package."""
    for name in names:
        if name not in FAMILIES:
            raise SettingError(
                f"{name!r} is not a baseline",
                where=Where(field="baselines"),
                remedy=nearest(name, tuple(FAMILIES), "baselines"),
            )
        for package in FAMILIES[name].packages:
            if find_spec(package) is None:
                raise MissingExtraError(package, "bench")


def make_baselines(
    names: Sequence[str], schema: Schema, fields: Sequence[str], seed: int
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
    """
    check_families(names)
    made: dict[str, Baseline] = {}
    for name in names:
        made.update(FAMILIES[name].make(schema, fields, seed))
    return made
