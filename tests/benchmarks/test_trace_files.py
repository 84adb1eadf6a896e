"""Large files of traces: every example is a good one, and growing memory is refused."""

from __future__ import annotations

import json

import pytest

from benchmarks import trace_files
from benchmarks.trace_files import Measured, examples_of, refusals, write_file
from vepa.corpus.importing import Import

FINE = {"records": 9, "skipped": 0, "trajectories": 9}


@pytest.mark.parametrize("name", sorted(examples_of()))
@pytest.mark.parametrize("container", ["lines", "array"])
def test_examples_are_read_whole_and_as_what_they_are(name, container, tmp_path):
    file = tmp_path / "traces.json"
    megabytes = write_file(file, examples_of()[name], 0.08, container)
    assert 0.08 <= megabytes < 0.12
    source = Import(file)
    found = list(source)
    assert (source.report.format, source.report.skipped) == (name, 0)
    assert dict(source.report.notes.unknown) == {}
    assert len({trajectory.id for trajectory in found}) == len(found) >= 2
    assert min(len(trajectory.steps) for trajectory in found[:-1]) >= 3


def test_records_are_of_a_usual_size_and_differ():
    for name, example in examples_of().items():
        texts = [json.dumps(example(number)) for number in range(8)]
        assert len(set(texts)) == 8, name
        assert 1_000 < sum(map(len, texts)) / 8 < 12_000, name


@pytest.mark.parametrize(
    ("small", "large", "reports", "says"),
    [
        (50, 60, [FINE], []),
        (50, 67, [FINE], ["memory is not constant: 50 MiB at 20 MB, 67 MiB at 100 MB"]),
        (50, 50, [FINE, FINE | {"skipped": 2}], ["2 of 9 records skipped"]),
        (50, 50, [FINE | {"trajectories": 0}], ["no trajectory came of it"]),
    ],
)
def test_what_is_refused(small, large, reports, says):
    sizes = Measured(20, 1, 1, small), Measured(100, 1, 1, large)
    assert refusals(*sizes, reports, 16) == says


def test_the_peak_is_the_process_own(tmp_path):
    held = "x = b'1' * ({} * 1024 * 1024)\nassert sys.argv[1] == 'a'\n"
    few, code = trace_files.run(held.format(1), ["a"], 1, tmp_path)
    many, _ = trace_files.run(held.format(65), ["a"], 1, tmp_path)
    assert code == 0
    assert 60 < many.peak_mib - few.peak_mib < 70
    assert trace_files.run(held.format(1), ["b"], 1, tmp_path)[1] == 1


def test_a_run_tells_all_and_refuses_what_grows(tmp_path, capsys):
    common = ["who-and-when", "--megabytes", "2", "--small", "0.05", "--folder", str(tmp_path)]
    assert trace_files.main(common) == 0
    printed = capsys.readouterr()
    figures = json.loads(printed.out)["formats"]["who-and-when"]
    assert figures["refused"] == []
    assert figures["records"] == figures["trajectories"] > 300
    assert min(figures["mb_per_s"], figures["mb_per_cpu_s"], figures["json"]["mb_per_s"]) > 0
    assert figures["peak_mib"] > figures["json"]["peak_mib"] > 3
    assert "who-and-when" in printed.err
    assert list(tmp_path.iterdir()) == []
    assert trace_files.main([*common, "--container", "array", "--allowed-mib", "-999"]) == 1
    refused = json.loads(capsys.readouterr().out)["formats"]["who-and-when"]["refused"]
    assert refused[0].startswith("memory is not constant")


def test_a_format_without_an_example_is_told():
    with pytest.raises(SystemExit, match="no example of nothing; there are"):
        trace_files.main(["nothing"])
