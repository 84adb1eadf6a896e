from __future__ import annotations

import numpy as np
import pytest

from vepa.bench.views import VIEWS, apply_view, mask_unknown
from vepa.errors import SettingError
from vepa.policy import bundled_schema

JUDGEMENTS = {"authorization", "confirmation", "scope", "verification", "disclosure", "harm_domain"}
INSTRUMENTS = {
    "agent_outcome",
    "action_kind",
    "resource",
    "sensitivity",
    "instruction_origin",
    "injection",
    "recipient",
    "reversibility",
    "tool_trust",
}


def test_the_three_views():
    schema = bundled_schema()
    assert set(VIEWS) == {"full", "observable", "instrumented"}
    assert VIEWS["full"].fields(schema) == schema.names
    assert set(VIEWS["observable"].fields(schema)) == set(schema.names) - JUDGEMENTS
    assert set(VIEWS["instrumented"].fields(schema)) == INSTRUMENTS


@pytest.mark.parametrize("name", ["observable", "instrumented"])
def test_a_view_blanks_other_fields_and_nothing_else(rjudge, name):
    seen = apply_view(rjudge, name)
    visible = VIEWS[name].fields(rjudge.schema)
    for at, field in enumerate(rjudge.schema.names):
        if field in visible:
            assert np.array_equal(seen.codes[:, at], rjudge.codes[:, at])
        else:
            assert not seen.codes[:, at].any()
    assert rjudge.codes[:, rjudge.schema.index["harm_domain"]].any()  # the table itself stays
    assert np.array_equal(seen.labels, rjudge.labels)


def test_full_changes_nothing(rjudge):
    assert np.array_equal(apply_view(rjudge, "full").codes, rjudge.codes)


def test_a_foreign_schema_is_told_so(build):
    assert len(apply_view(build.table(), "full")) == 60
    for name in ("observable", "instrumented"):
        with pytest.raises(SettingError, match="does not have") as caught:
            apply_view(build.table(), name)
        assert "full" in str(caught.value)


def test_an_unknown_view_is_told_so(rjudge):
    with pytest.raises(SettingError, match="observible") as caught:
        apply_view(rjudge, "observible")
    assert "observable" in str(caught.value)


def test_masks_are_seeded_nested_and_of_the_right_share(build):
    table = build.table(500)
    some, more = mask_unknown(table, 0.2, 3), mask_unknown(table, 0.5, 3)
    assert np.array_equal(some.codes, mask_unknown(table, 0.2, 3).codes)
    assert not np.array_equal(some.codes, mask_unknown(table, 0.2, 4).codes)
    blank, blanker = some.codes == 0, more.codes == 0
    assert abs(blank.mean() - 0.2) < 0.03
    assert abs(blanker.mean() - 0.5) < 0.03
    assert not (blank & ~blanker).any()
    assert np.array_equal(some.codes[~blank], table.codes[~blank])
    assert np.array_equal(mask_unknown(table, 0.0, 3).codes, table.codes)
    assert not mask_unknown(table, 1.0, 3).codes.any()


def test_no_two_files_of_a_stream_lose_the_same_cells(build):
    table = build.table(500)
    blanks = [mask_unknown(table, 0.2, 3, part).codes == 0 for part in range(3)]
    for part, blank in enumerate(blanks):
        assert np.array_equal(blank, mask_unknown(table, 0.2, 3, part).codes == 0)
        for other in blanks[:part]:
            assert abs((blank & other).mean() - 0.2 * 0.2) < 0.02


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_no_share(build, share):
    with pytest.raises(SettingError):
        mask_unknown(build.table(), share, 0)
