"""Records that were damaged at one place: imported or refused in words, never a crash."""

from __future__ import annotations

import copy
import json
import random
from itertools import groupby

import pytest
from hand_written import traces, write_record

from vepa.corpus.importing import Import
from vepa.corpus.trajectory import Trajectory

#: Damages of each trace; enough that each key of a format is hit by some.
EACH = 8
_WRONG = (
    None,
    0,
    -1.5,
    True,
    "",
    "x",
    [],
    {},
    [None],
    {"": {}},
    [[]],
    "{",
    "[1]",
    '{"a": "\\ud83d"}',
    json.loads("[" * 300 + "]" * 300),
    '{"a":' * 300 + "1" + "}" * 300,
    1e999,
)


def _places(data, path=()):
    """All places below, as paths."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for name, value in items if isinstance(data, dict | list) else ():
        yield (*path, name)
        yield from _places(value, (*path, name)) if isinstance(value, dict | list) else ()


def _damaged(record, chance):
    """The record with one value gone, of another kind, or doubled."""
    found = copy.deepcopy(record)
    places = list(_places(found))
    if not places:
        return found
    *path, last = chance.choice(places)
    at = found
    for name in path:
        at = at[name]
    how = chance.randrange(3)
    if how == 0:
        del at[last]
    elif how == 1 or isinstance(at, dict):
        at[last] = copy.deepcopy(chance.choice(_WRONG))
    else:
        at.insert(last, copy.deepcopy(at[last]))
    return found


_ALL = [each for each in traces() if not isinstance(each.record, str)]
_BY_FORMAT = {name: list(found) for name, found in groupby(_ALL, lambda each: each.format)}


@pytest.mark.parametrize("format", sorted(_BY_FORMAT))
def test_a_damaged_record_is_read_or_refused(format, tmp_path):
    chance = random.Random(format)
    refused = 0
    for trace in _BY_FORMAT[format]:
        for _ in range(EACH):
            record = _damaged(trace.record, chance)
            source = Import(write_record(tmp_path / "damaged.json", record), format)
            try:
                found = list(source)
            except Exception as error:  # the record is what one needs to know
                raise AssertionError(f"{error!r} on {json.dumps(record)}") from error
            for each in found:  # whatever came in can be written and read again
                line = each.model_dump_json(exclude_none=True)
                again = Trajectory.model_validate_json(line)
                assert again.content_hash == each.content_hash
            refused += bool(source.report.skipped)
            assert source.report.skipped == len(source.report.told)
            assert all(each.message for each in source.report.told)
            assert len(found) == source.report.trajectories
    assert refused
