"""Triggers against marked mistakes: logs by hand, imported as any other, scored by hand as well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from judging import judged

from vepa.annotate.agreement import agreement
from vepa.annotate.agreement.marked import marked_scores
from vepa.annotate.agreement.traced import traced_of
from vepa.annotate.items import items_of
from vepa.corpus.importing import read_traces
from vepa.corpus.labels import Label, write_labels
from vepa.corpus.settled import SettledLabel, write_settled_labels
from vepa.errors import InputError, SettingError

LOGS = yaml.safe_load((Path(__file__).parent / "failures.yaml").read_text("utf-8"))["logs"]


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "failures.jsonl"
    path.write_text("".join(json.dumps(each["record"]) + "\n" for each in LOGS))
    return path


@pytest.fixture
def traces(raw):
    return list(read_traces(raw))


def said(traces, reader):
    """(trajectory, step, item, judgement) of what a reader says in the file."""
    for each, trajectory in zip(LOGS, traces, strict=True):
        steps = each.get(reader, {})
        items = {item.step: item.hash for item in items_of(trajectory)}
        for step, triggers in steps.items():
            yield trajectory.id, step, items[step], judged(*triggers)


@pytest.fixture
def labels(traces):
    return [
        Label(
            trajectory=trajectory,
            step=step,
            item=item,
            annotator=reader,
            origin="person",
            taxonomy="agentdog-14/1.0",
            judgement=judgement,
        )
        for reader in ("a", "b")
        for trajectory, step, item, judgement in said(traces, reader)
    ]


@pytest.fixture
def settled(traces):
    return [
        SettledLabel(
            trajectory=trajectory,
            step=step,
            item=item,
            how="agreed",
            origin="person",
            by=["a", "b"],
            taxonomy="agentdog-14/1.0",
            judgement=judgement,
        )
        for trajectory, step, item, judgement in said(traces, "settled")
    ]


def test_the_importer_keeps_the_marks(traces):
    assert [trace.marked for trace in traces] == [each["marked"] for each in LOGS]


def test_every_figure_of_a_reader_by_hand(labels, traces):
    a, b = marked_scores(labels, traced_of(traces))
    assert (a.reader, b.reader) == ("a", "b")
    assert a.origins == {"person": 3 + 3 + 3 + 2 + 4}
    # The machine's step is left out: five logs count.
    assert (len(a.logs), a.scored) == (6, 5)
    assert [log.distance for log in a.logs] == [0, 1, -1, 1, 0, -2]
    assert (a.hit.count, a.hit.of) == (4, 5)
    assert (a.first.count, a.agent.count) == (2, 3)
    assert (a.early, a.exact, a.late, a.silent) == (2, 2, 1, 0)
    assert a.median_distance == 0
    assert (a.precision.count, a.precision.of) == (4, 1 + 1 + 2 + 1 + 4)
    assert a.by_chance == pytest.approx((1 / 3 + 1 / 3 + 2 / 3 + 1 / 2 + 1) / 5)


def test_logs_that_cannot_be_scored_are_told(labels, traces):
    _, b = marked_scores(labels, traced_of(traces))
    states = [log.state for log in b.logs]
    assert states == ["scored", "scored", "scored", "not an agent's step", "not judged"]
    assert (b.scored, b.hit.count, b.silent, b.early) == (3, 2, 1, 1)
    assert b.precision.count == 2
    assert b.precision.of == 3


def test_settled_labels_are_scored_as_well(labels, settled, traces):
    *_, stands = marked_scores(labels, traced_of(traces), settled)
    assert stands.reader == "settled"
    assert (stands.scored, stands.hit.count, stands.exact, stands.late) == (4, 3, 3, 1)


def test_a_share_has_the_interval_of_wilson(labels, traces):
    a, _ = marked_scores(labels, traced_of(traces))
    # 4 of 5: centre (0.8 + z²/10) / (1 + z²/5), by hand.
    z = 1.959964
    centre = (0.8 + z**2 / 10) / (1 + z**2 / 5)
    half = z * (0.8 * 0.2 / 5 + z**2 / 100) ** 0.5 / (1 + z**2 / 5)
    assert a.hit.low == pytest.approx(centre - half, abs=1e-6)
    assert a.hit.high == pytest.approx(centre + half, abs=1e-6)


def test_a_reader_who_sees_nothing_has_no_precision(traces):
    trace = traces[1]
    items = {item.step: item.hash for item in items_of(trace)}
    quiet = [
        Label(
            trajectory=trace.id,
            step=step,
            item=item,
            annotator="q",
            origin="model",
            taxonomy="agentdog-14/1.0",
            judgement=judged(),
        )
        for step, item in items.items()
    ]
    (score,) = marked_scores(quiet, traced_of(traces))
    assert (score.silent, score.hit.value, score.by_chance) == (1, 0.0, 0.0)
    assert (score.precision.value, score.median_distance) == (None, None)


def test_without_marks_or_without_traces_it_says_so(labels, traces):
    bare = [trace.model_copy(update={"marked": None}) for trace in traces]
    with pytest.raises(InputError, match="no trajectory has a marked step"):
        agreement(labels, bare, marked=True)
    with pytest.raises(SettingError, match="none were given"):
        agreement(labels, marked=True)


def test_labels_of_steps_that_are_nobodys_are_refused(labels, traces):
    wrong = labels[0].model_copy(update={"step": 3})
    with pytest.raises(InputError, match="step 3 of failures/lamps is none of the agent's"):
        agreement([wrong], traces, marked=True)
    beyond = labels[0].model_copy(update={"step": 30})
    with pytest.raises(InputError, match="has no step 30"):
        agreement([beyond], traces, marked=True)


def test_the_command_reads_the_logs_as_they_are(vepa, raw, labels, settled, tmp_path):
    files = tmp_path / "labels.jsonl", tmp_path / "settled.jsonl"
    write_labels(files[0], labels)
    write_settled_labels(files[1], settled)
    out = tmp_path / "out"
    scored = ("--traces", raw, "--marked", "--settled", files[1], "--out", out, "--json")
    ran = vepa("agreement", files[0], *scored)
    assert ran.code == 0
    assert [score["reader"] for score in ran.json["marked"]] == ["a", "b", "settled"]
    assert ran.json["marked"][0]["hit"]["count"] == 4
    assert "| 4 of 5 (80 %, 38 to 96) |" in (out / "agreement.md").read_text()
    without = vepa("agreement", files[0], "--settled", files[1])
    assert without.code == 2
    assert "add --marked" in without.err
