"""Bit sets of rules by field and value: one structure for matching, verifying and evolving.

For each field and each of its values an integer holds one bit a rule, set when the rule admits the
value. ANDing the sets of an event's values gives the rules that match it; ORing over an admissible
set and ANDing over the fields gives the rules that overlap a conjunction. `ExampleIndex` is the
same the other way round: one bit an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vepa.policy.rule import Rule
from vepa.policy.schema import Schema, bits

__all__ = ["ExampleIndex", "RuleIndex", "WeightIndex", "bitset", "pack", "unpack"]

#: Bits of answers that an index of examples keeps, for conjunctions and for single fields each.
KEPT_BITS = 1 << 28


def bitset(positions: Iterable[int], size: int) -> int:
    """An integer with the bits at `positions` (each below `size`) set."""
    buffer = bytearray(size // 8 + 1)
    for at in positions:
        buffer[at >> 3] |= 1 << (at & 7)
    return int.from_bytes(buffer, "little")


class RuleIndex:
    """Bit sets over the rules of a policy, in the order given.

    Parameters
    ----------
    schema
        The schema of the rules.
    rules
        The rules; rule i has bit i.

    Attributes
    ----------
    admitting
        `admitting[field][code]`: the rules that admit the value.
    all, allow, refuse, active
        Rules by decision and by standing.
    possible
        Rules that match some event: no predicate of theirs is unsatisfiable.
    """

    def __init__(self, schema: Schema, rules: Sequence[Rule]):
        self.schema = schema
        self.rules = tuple(rules)
        size = len(self.rules)
        self.all = (1 << size) - 1
        self.allow = bitset((i for i, r in enumerate(rules) if r.decision == "allow"), size)
        self.refuse = self.all & ~self.allow
        self.active = bitset((i for i, r in enumerate(rules) if r.active), size)
        self.possible = self.all
        self.admitting: list[list[int]] = []
        self.used: list[int] = []
        for at, full in enumerate(schema.full):
            slots: dict[int, list[int]] = {}
            for i, rule in enumerate(self.rules):
                if rule.masks[at] != full:
                    slots.setdefault(rule.masks[at], []).append(i)
            if slots:
                self.used.append(at)
            groups = {mask: bitset(positions, size) for mask, positions in slots.items()}
            self.possible &= ~groups.get(0, 0)
            free = self.all
            for group in groups.values():
                free &= ~group
            column = [free] * len(schema.fields[at].values)
            for mask, group in groups.items():
                for code in bits(mask):
                    column[code] |= group
            self.admitting.append(column)
        self._reaching: dict[tuple[int, int], int] = {}
        self._holding: dict[tuple[int, int], int] = {}

    def matching(self, codes: Sequence[int]) -> int:
        """The rules, active or not, that match an event."""
        found = self.all
        for at in self.used:
            found &= self.admitting[at][codes[at]]
        return found

    def overlapping(self, masks: Sequence[int]) -> int:
        """The rules that can match an event which the conjunction `masks` matches too."""
        found = self.possible
        for at in self.used:
            mask = masks[at]
            if mask != self.schema.full[at]:
                found &= self._any(at, mask)
                if not found:
                    break
        return found

    def containing(self, masks: Sequence[int]) -> int:
        """The rules that match every event which the conjunction `masks` matches."""
        found = self.all
        for at in self.used:
            found &= self._every(at, masks[at])
            if not found:
                break
        return found

    def _any(self, at: int, mask: int) -> int:
        known = self._reaching.get((at, mask))
        if known is None:
            known = 0
            for code in bits(mask):
                known |= self.admitting[at][code]
            self._reaching[at, mask] = known
        return known

    def _every(self, at: int, mask: int) -> int:
        known = self._holding.get((at, mask))
        if known is None:
            known = self.all
            for code in bits(mask):
                known &= self.admitting[at][code]
            self._holding[at, mask] = known
        return known


class ExampleIndex:
    """Bit sets over examples: which of them a conjunction covers.

    What was asked once is kept, and an index that grows by more examples matches what was asked
    before against the new ones alone: after a round only the rules that changed are matched anew.

    Parameters
    ----------
    schema
        The schema of the examples.
    codes
        Codes, shape (examples, fields), int8.

    Attributes
    ----------
    size
        Number of examples.
    all
        The bit set of all of them.
    having
        `having[field][code]`: the examples that have the value.
    """

    def __init__(self, schema: Schema, codes: npt.NDArray[np.int8]):
        self.schema = schema
        self.size = len(codes)
        self.all = (1 << self.size) - 1
        self.having: list[list[int]] = [
            [pack(codes[:, at] == code) for code in range(len(field.values))]
            for at, field in enumerate(schema.fields)
        ]
        self._any: dict[tuple[int, int], int] = {}
        self._covered: dict[tuple[int, ...], int] = {}
        self._before: _Before | None = None

    def grown(self, codes: npt.NDArray[np.int8]) -> ExampleIndex:
        """The index of these examples and of more; this one stays as it is.

        Parameters
        ----------
        codes
            Codes of the examples that come after, shape (more, fields), int8.
        """
        tail = ExampleIndex(self.schema, codes)
        found = copy(tail)
        found.size = self.size + tail.size
        found.all = (1 << found.size) - 1
        found.having = [
            [old | new << self.size for old, new in zip(olds, news, strict=True)]
            for olds, news in zip(self.having, tail.having, strict=True)
        ]
        found._any, found._covered = {}, {}
        found._before = _Before(self.size, self._any, self._covered, tail)
        return found

    def covered(self, masks: Sequence[int]) -> int:
        """The examples that the conjunction `masks` matches."""
        key = tuple(masks)
        known = self._covered.get(key)
        if known is None:
            before = self._before
            old = before.covered.get(key) if before else None
            if before is None or old is None:
                known = self._match(key)
            else:
                known = old | before.tail.covered(key) << before.size
            if len(self._covered) * self.size >= KEPT_BITS:
                self._covered = {}
            self._covered[key] = known
        return known

    def with_values(self, at: int, mask: int) -> int:
        """The examples whose field `at` has one of the values in `mask`."""
        known = self._any.get((at, mask))
        if known is None:
            before = self._before
            old = before.any.get((at, mask)) if before else None
            if before is None or old is None:
                known = 0
                for code in bits(mask):
                    known |= self.having[at][code]
            else:
                known = old | before.tail.with_values(at, mask) << before.size
            if len(self._any) * self.size >= KEPT_BITS:
                self._any = {}
            self._any[at, mask] = known
        return known

    def _match(self, masks: Sequence[int]) -> int:
        found = self.all
        for at, mask in enumerate(masks):
            if mask != self.schema.full[at]:
                found &= self.with_values(at, mask)
                if not found:
                    break
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Before:
    """What an index knew before it grew: answers over the first `size` examples, and the rest."""

    size: int
    any: dict[tuple[int, int], int]
    covered: dict[tuple[int, ...], int]
    tail: ExampleIndex


class WeightIndex:
    """Sums of whole weights over bit sets: one bit set for each binary digit of the weights.

    Parameters
    ----------
    weights
        Of each example, at least 0, shape (examples,), int64.
    """

    def __init__(self, weights: npt.NDArray[np.int64]):
        digits = int(weights.max()).bit_length() if len(weights) else 0
        self.planes = tuple(pack((weights >> at & 1).astype(np.bool_)) for at in range(digits))

    def total(self, members: int) -> int:
        """The weight of the examples in a bit set."""
        return sum((members & plane).bit_count() << at for at, plane in enumerate(self.planes))


def pack(flags: npt.NDArray[np.bool_]) -> int:
    """A boolean array as one integer, element i at bit i."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def unpack(mask: int, size: int) -> npt.NDArray[np.bool_]:
    """The inverse of `pack`."""
    raw = np.frombuffer(mask.to_bytes(size // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=size, bitorder="little").view(np.bool_)
