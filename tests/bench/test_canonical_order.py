"""Figures depend on which events there are, not on the order in which files have them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from vepa.bench.results import BenchSettings, run_bench
from vepa.bench.runs.run import plan
from vepa.bench.streams import FlipTarget, StreamSettings, make_stream
from vepa.bench.trials import TrialSettings
from vepa.bench.views import stream_in_view
from vepa.cli import main
from vepa.evolution import EvolutionSettings
from vepa.project import Project

EVERYTHING = [
    *("--rounds", "3", "--seeds", "1", "--patches", "4", "--jobs", "1", "--json"),
    *("--view", "full,observable", "--mask-unknown", "0.1", "--flip", "0.1"),
    *("--flip-target", "scenario=Application:0.4", "--baselines", "hoeffding,lookup"),
]


def mixed(table, seed):
    return table.take(np.random.default_rng(seed).permutation(len(table)))


def write(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def run(capsys, *arguments) -> dict:
    """What `vepa bench run` prints, without the seconds that it took."""
    code = main(["bench", "run", *map(str, arguments)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    document = json.loads(printed.out)
    del document["seconds"]
    return document


def nameless(document: dict) -> str:
    """The document as text, with hashes in place of file names."""
    config = document["config"]
    hashes = list(config.pop("files").values())
    if config["separate"]:
        document["files"] = list(document["files"].values())
    return json.dumps([document, hashes])


def draws(stream) -> list:
    """All that a method can see of a stream, round by round, by the events' ids."""
    ids, codes = stream.table.ids, stream.table.codes
    return [
        (
            [(ids[at], codes[at].tobytes()) for at in part.indices],
            [ids[at] for at in part.feedback],
            part.observed.tobytes(),
        )
        for part in stream.rounds
    ]


@pytest.fixture(scope="module")
def lines(rjudge_path) -> list[str]:
    """Events with and without the scenario that `EVERYTHING` names."""
    return rjudge_path.read_text().splitlines()[1::2]


@pytest.mark.parametrize(
    ("more", "orders"),
    [
        ([], 1),
        (["--view", "full", "--rounds", "2", "--baselines", "ripper,forest"], 1),
        pytest.param([], 5, marks=pytest.mark.slow),
    ],
)
def test_a_shuffled_file_gives_the_same_document(lines, tmp_path, capsys, more, orders):
    seen = {nameless(run(capsys, write(tmp_path / "a.jsonl", lines), *EVERYTHING, *more))}
    for seed in range(orders):
        file = write(tmp_path / f"{seed}.jsonl", random.Random(seed).sample(lines, len(lines)))
        seen.add(nameless(run(capsys, file, *EVERYTHING, *more)))
    assert len(seen) == 1


def test_another_event_gives_another_document_and_hash(lines, tmp_path, capsys):
    """What the test above compares does tell events apart."""
    few = [*EVERYTHING, "--view", "full", "--rounds", "2", "--baselines", "lookup"]
    one = run(capsys, write(tmp_path / "a.jsonl", lines), *few)
    record = json.loads(lines[5])
    record["label"] = "allow" if record["label"] == "refuse" else "refuse"
    other = run(
        capsys,
        write(tmp_path / "b.jsonl", [json.dumps(record), *lines[:5], *lines[6:]]),
        *few,
    )
    assert [*one["config"]["files"].values()] != [*other["config"]["files"].values()]
    assert nameless(one) != nameless(other)


@pytest.mark.parametrize("cut", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_files_of_one_stream_may_come_in_any_order_and_be_cut_anywhere(
    lines, tmp_path, capsys, cut
):
    whole = run(capsys, write(tmp_path / "whole.jsonl", lines), *EVERYTHING)
    parts = random.Random(cut).sample(lines, len(lines))
    a, b = write(tmp_path / "a.jsonl", parts[:cut]), write(tmp_path / "b.jsonl", parts[cut:])
    there, back = run(capsys, a, b, *EVERYTHING), run(capsys, b, a, *EVERYTHING)
    assert there["config"].pop("files") == back["config"].pop("files")
    assert there == back
    for document in (there, back):
        assert {**document, "config": 0} == {**whole, "config": 0}


@pytest.mark.parametrize("more", [["--separate"], ["--mixed", "0.8"]])
def test_shuffled_files_apart_and_with_moving_shares(lines, tmp_path, capsys, more):
    options = ["--rounds", "3", "--seeds", "1", "--patches", "4", "--jobs", "1", "--json", *more]
    options += ["--mask-unknown", "0.1", "--flip", "0.1", "--baselines", "hoeffding"]
    seen = set()
    for seed in range(2):
        rng = random.Random(seed)
        files = [
            write(tmp_path / str(seed) / name, rng.sample(part, len(part)))
            for name, part in (("a.jsonl", lines[:45]), ("b.jsonl", lines[45:]))
        ]
        seen.add(nameless(run(capsys, *files, *options)))
    assert len(seen) == 1


def test_with_moving_shares_the_order_of_files_counts(build):
    tables = [build.table(100, seed=1), build.table(100, seed=2)]
    settings = StreamSettings(rounds=5, shift=1.0)
    there, back = (make_stream(parts, settings, 0) for parts in (tables, tables[::-1]))
    for stream, first in ((there, "s1"), (back, "s2")):
        last_round = [stream.table.ids[at] for at in stream.rounds[-1].indices]
        assert not any(name.startswith(first) for name in last_round)


@pytest.mark.parametrize("shift", [None, 0.5])
@pytest.mark.parametrize("masked", [0.0, 0.2])
def test_every_draw_is_over_events_not_over_places(build, shift, masked):
    tables = [build.table(90, seed=1), build.table(50, seed=2)]
    target = FlipTarget(key="kind", value="odd", share=0.6)
    settings = StreamSettings(rounds=4, flip=0.2, target=target, shift=shift)

    def seen(parts, seed):
        return draws(stream_in_view(parts, settings, seed, view="full", masked=masked))

    for seed in range(3):
        first = seen(tables, seed)
        assert first == seen([mixed(table, seed) for table in tables], seed)
        assert first != seen(tables, seed + 1)
        if shift is None:
            assert first == seen(tables[::-1], seed)


@pytest.mark.parametrize("unit", ["step", "call"])
def test_steps_stay_with_their_task_in_their_order(build, unit):
    table = build.table(120, unit=unit, tasks=17)
    settings = StreamSettings(rounds=5, flip=0.2)
    stream = make_stream(mixed(table, 1), settings, 3)
    assert draws(stream) == draws(make_stream(table, settings, 3))
    place = {name: at for at, name in enumerate(table.ids)}
    for part in stream.rounds:
        by_task: dict[str, list[int]] = {}
        for at in part.indices:
            task = stream.table.meta[at]["task"]
            by_task.setdefault(task, []).append(place[stream.table.ids[at]])
        assert all(rows == sorted(rows) for rows in by_task.values())


def test_files_of_several_units_apart(build):
    a, b = build.table(40, seed=1), build.table(60, seed=2, unit="step", tasks=12)
    settings = BenchSettings(
        trial=TrialSettings(
            stream=StreamSettings(rounds=2), evolution=EvolutionSettings(patches=2)
        ),
        seeds=1,
        separate=True,
    )
    documents = []
    for tables in ({"a": a, "b": b}, {"b": mixed(b, 1), "a": mixed(a, 2)}):
        document = run_bench(tables, settings, jobs=1)
        documents.append({name: document["files"][name] for name in ("a", "b")})
        documents[-1]["hashes"] = dict(sorted(document["config"]["files"].items()))
    assert documents[0] == documents[1]


def test_a_main_job_draws_over_the_same_order(lines, tmp_path):
    profile = "title: t\nevents: [{}]\nrounds: 4\nmask_unknown: 0.1\nflip: 0.1\n"
    runs = []
    for seed in range(2):
        file = write(tmp_path / f"{seed}.jsonl", random.Random(seed).sample(lines, len(lines)))
        path = write(tmp_path / f"profile{seed}.yaml", [profile.format(file)])
        runs.append(plan(Project(), str(path), artifacts=tmp_path))
    one, other = runs
    assert draws(one.stream) == draws(other.stream)
    assert one.inputs["events"]["sha256"] == other.inputs["events"]["sha256"]
    assert one.id != other.id, "a run is named after the bytes that it read, too"
