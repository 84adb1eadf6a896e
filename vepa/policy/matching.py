"""Compiled matching: one event in about a microsecond, a million events in a tenth of a second.

One event: the bit sets of the rules that admit each of its values are ANDed; the answer for a set
of fired rules is built once and remembered. Batches: the bit sets become 64-bit words, `allow`
rules in the first ones and `refuse` rules after them; fields are fused in groups, so that one table
look-up serves several fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from vepa.errors import EventError, UnitMismatchError, Where
from vepa.policy.bitsets import RuleIndex
from vepa.policy.event import Event
from vepa.policy.policy import Policy
from vepa.policy.schema import bits

__all__ = ["ABSTAIN", "ALLOW", "REFUSE", "CompiledPolicy", "Decision", "Verdict"]

Verdict = Literal["allow", "refuse", "abstain"]

#: Codes of a batch's decisions, int8.
ALLOW, REFUSE, ABSTAIN = 0, 1, -1

#: Rows of a fused table: large enough to swallow several fields, small enough for the L1 cache.
_FUSED_ROWS = 2048
#: Events handled at once: the working set stays in the L2 cache.
_CHUNK = 8192
#: Distinct answers remembered by a compiled policy.
_MEMO = 65_536


class Decision(NamedTuple):
    """The answer to one event.

    Attributes
    ----------
    verdict
        `allow`, `refuse`, or `abstain` when no rule matches.
    rules
        Ids of the matching rules that decided, in the order of the policy.
    policy_hash
        Hash of the policy that answered.
    """

    verdict: Verdict
    rules: tuple[str, ...]
    policy_hash: str


class CompiledPolicy:
    """A verified policy, ready to decide.

    Parameters
    ----------
    policy
        A policy that `verify` admitted.
    all_rules
        Let inactive rules decide too (the archive's view; never for enforcement).

    Notes
    -----
    Decisions do not depend on the order of rules or of calls; the object may be shared by threads.
    """

    def __init__(self, policy: Policy, *, all_rules: bool = False):
        self.policy = policy
        self.all_rules = all_rules
        self.schema = policy.schema
        self.unit = policy.unit
        self.rules = policy.rules if all_rules else policy.active
        self.policy_hash = policy.policy_hash
        self.index = RuleIndex(policy.schema, self.rules)
        self._start = self.index.all
        self._columns = tuple((at, tuple(self.index.admitting[at])) for at in self.index.used)
        self._abstain = Decision("abstain", (), self.policy_hash)
        self._memo: dict[int, Decision] = {}
        self._tables: _Tables | None = None

    def decide(self, event: Event) -> Decision:
        """The decision for one validated event.

        Raises
        ------
        UnitMismatchError
            When the event is of another unit than the policy.
        EventError
            When the event was validated against another schema.
        """
        if event.unit != self.unit:
            raise self._wrong_unit(event.unit)
        if event.schema is not self.schema and event.schema != self.schema:
            raise EventError(
                "the event belongs to another schema than the policy",
                remedy="read the events with the schema of the policy",
            )
        codes = event.codes
        fired = self._start
        for at, column in self._columns:
            fired &= column[codes[at]]
            if not fired:
                return self._abstain
        return self._memo.get(fired) or self._answer(fired)

    def decide_fields(self, fields: Mapping[str, str], unit: str = "trajectory") -> Decision:
        """The decision for a raw mapping of field to value, validated on the way."""
        return self.decide(Event.build(self.schema, fields, unit))

    def fired(self, codes: Sequence[int]) -> int:
        """Bit set over `rules` of those that match a row of codes."""
        return self.index.matching(codes)

    def decide_columns(
        self, columns: Sequence[npt.NDArray[np.int8]] | npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """Decisions for a batch.

        Parameters
        ----------
        columns
            One int8 array of codes a schema field, each of shape (events,); or one array of shape
            (fields, events).

        Returns
        -------
        ndarray of int8, shape (events,)
            `ALLOW`, `REFUSE` or `ABSTAIN`.

        Raises
        ------
        EventError
            When a column is missing, of another type or length, or holds a code outside its domain.
        """
        self._check_columns(columns)
        size = len(columns[0])
        if not self.rules:
            return np.full(size, ABSTAIN, dtype=np.int8)
        if self._tables is None:
            self._tables = _Tables(self.index)
        return self._tables.decide(columns, size)

    def _answer(self, fired: int) -> Decision:
        if not fired:
            return self._abstain
        hits = [self.rules[at] for at in bits(fired)]
        answer = Decision(hits[0].decision, tuple(rule.id for rule in hits), self.policy_hash)
        if len(self._memo) >= _MEMO:
            self._memo.clear()
        self._memo[fired] = answer
        return answer

    def _check_columns(
        self, columns: Sequence[npt.NDArray[np.int8]] | npt.NDArray[np.int8]
    ) -> None:
        if len(columns) != len(self.schema):
            raise EventError(
                f"{len(columns)} columns for {len(self.schema)} fields",
                remedy="one int8 column a field, in the schema's order",
            )
        size = len(columns[0])
        for field, column in zip(self.schema.fields, columns, strict=True):
            if column.dtype != np.int8 or column.shape != (size,):
                raise EventError(
                    f"a column of {column.dtype}{column.shape}, int8({size},) is expected",
                    where=Where(field=field.name),
                    remedy="encode the events with `vepa.corpus.EventTable`",
                )
            # Seen as uint8 a negative code is large, so one comparison checks both ends.
            if size and int(column.view(np.uint8).max()) >= len(field.values):
                raise EventError(
                    "a code outside the domain",
                    where=Where(field=field.name),
                    remedy=f"codes of this field are 0 to {len(field.values) - 1}",
                )

    def _wrong_unit(self, unit: str) -> UnitMismatchError:
        return UnitMismatchError(
            f"the event is a {unit}, the policy was made for events of unit {self.unit!r}",
            where=Where(field="unit"),
            remedy=f"use a policy of unit {unit!r}, or events of unit {self.unit!r}",
        )


class _Tables:
    """Fused look-up tables of a rule index, for batches.

    Attributes
    ----------
    groups
        Per group of fields: the fields, their strides, and the table of shape (codes, words).
    """

    def __init__(self, index: RuleIndex):
        allow, refuse = bits(index.allow), bits(index.refuse)
        self.allow_words = max(1, -(-len(allow) // 64)) if allow else 0
        refuse_words = -(-len(refuse) // 64)
        self.words = self.allow_words + refuse_words
        self.places = [*allow, *[-1] * (self.allow_words * 64 - len(allow)), *refuse]
        self.groups = [self._fuse(index, group) for group in _groups(index)]

    def _fuse(
        self, index: RuleIndex, fields: list[int]
    ) -> tuple[list[int], list[int], npt.NDArray[np.uint64]]:
        sizes = [len(index.schema.fields[at].values) for at in fields]
        strides = [int(np.prod(sizes[i + 1 :], dtype=np.int64)) for i in range(len(sizes))]
        table = np.full((1, self.words), np.iinfo(np.uint64).max, dtype=np.uint64)
        for at in fields:
            rows = np.array([self._row(column) for column in index.admitting[at]], dtype=np.uint64)
            table = (table[:, None, :] & rows[None, :, :]).reshape(-1, self.words)
        return fields, strides, np.ascontiguousarray(table)

    def _row(self, column: int) -> list[int]:
        row = 0
        for place, rule in enumerate(self.places):
            if rule >= 0 and column >> rule & 1:
                row |= 1 << place
        return [row >> 64 * word & 0xFFFF_FFFF_FFFF_FFFF for word in range(self.words)]

    def decide(
        self, columns: Sequence[npt.NDArray[np.int8]] | npt.NDArray[np.int8], size: int
    ) -> npt.NDArray[np.int8]:
        out = np.empty(size, dtype=np.int8)
        chunk = min(_CHUNK, max(size, 1))
        where = np.empty(chunk, dtype=np.intp)
        fired = np.empty((chunk, self.words), dtype=np.uint64)
        looked = np.empty((chunk, self.words), dtype=np.uint64)
        narrow = np.empty(chunk, dtype=np.int16)
        part = np.empty(chunk, dtype=np.int16)
        for start in range(0, size, chunk):
            n = min(chunk, size - start)
            rows = slice(start, start + n)
            target = fired[:n]
            for i, (fields, strides, table) in enumerate(self.groups):
                np.multiply(columns[fields[0]][rows], np.int16(strides[0]), out=narrow[:n])
                for at, stride in zip(fields[1:], strides[1:], strict=True):
                    np.multiply(columns[at][rows], np.int16(stride), out=part[:n])
                    np.add(narrow[:n], part[:n], out=narrow[:n])
                where[:n] = narrow[:n]
                # Codes were checked, so `clip` never clips; it only spares a buffered copy.
                table.take(where[:n], axis=0, out=looked[:n] if i else target, mode="clip")
                if i:
                    np.bitwise_and(target, looked[:n], out=target)
            out[rows] = self._verdicts(target)
        return out

    def _verdicts(self, fired: npt.NDArray[np.uint64]) -> npt.NDArray[np.int8]:
        allow = fired[:, : self.allow_words]
        refuse = fired[:, self.allow_words :]
        allowed = _any(allow)
        refused = _any(refuse)
        # allow 0, refuse 1, neither -1; a verified policy never has both.
        return refused.view(np.int8) - (~(allowed | refused)).view(np.int8)


def _any(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    if words.shape[1] == 0:
        return np.zeros(len(words), dtype=np.bool_)
    merged = words[:, 0]
    for at in range(1, words.shape[1]):
        merged = merged | words[:, at]
    found: npt.NDArray[np.bool_] = merged != 0
    return found


def _groups(index: RuleIndex) -> list[list[int]]:
    """Fields in use, packed into groups whose joint domain stays small (first fit, large first)."""
    sizes = {at: len(index.schema.fields[at].values) for at in index.used}
    groups: list[tuple[int, list[int]]] = []
    for at in sorted(index.used, key=lambda at: (-sizes[at], at)):
        for i, (rows, members) in enumerate(groups):
            if rows * sizes[at] <= _FUSED_ROWS:
                groups[i] = (rows * sizes[at], [*members, at])
                break
        else:
            groups.append((sizes[at], [at]))
    return [members for _, members in groups]
