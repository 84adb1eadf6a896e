"""`vepa bench synth`: the files it writes, and that every verb takes them."""

from __future__ import annotations

import json

import pytest

from vepa.cli import main
from vepa.corpus import read_events
from vepa.corpus.columns import read_notes
from vepa.policy import read_policy


def called(capsys, *arguments):
    code = main([*map(str, arguments)])
    return code, capsys.readouterr()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("synth")
    assert main(["bench", "synth", "--events", "240", "--out", f"{path}/s.events.parquet"]) == 0
    return path


def test_events_policy_and_figures_stand_together(folder, capsys):
    figures = json.loads((folder / "s.synth.json").read_text())
    table = read_events(folder / "s.events.parquet")
    policy = read_policy((folder / "s.policy.yaml").read_text()).unwrap()
    assert figures["sha256"] == table.sha256
    assert figures["policy_hash"] == policy.policy_hash
    assert figures["events"] == len(table) == 240
    assert read_notes(folder / "s.events.parquet") == {"synthetic": figures}
    out = folder / "lines.events.jsonl"
    code, said = called(capsys, "bench", "synth", "--events", 240, "--out", out, "--json")
    assert code == 0
    assert json.loads(said.out) == {
        **figures,
        "files": [str(folder / name) for name in ("lines.events.jsonl", "lines.policy.yaml")]
        + [str(folder / "lines.synth.json")],
    }
    assert read_events(out).sha256 == table.sha256


def test_other_verbs_take_the_columns(folder, capsys):
    events, policy = folder / "s.events.parquet", folder / "s.policy.yaml"
    code, said = called(capsys, "decide", "--policy", policy, events, "--json")
    assert code == 0
    verdicts = [json.loads(line)["verdict"] for line in said.out.splitlines()]
    figures = json.loads((folder / "s.synth.json").read_text())
    assert len(verdicts) == 240
    assert verdicts.count("abstain") == figures["hard"]
    few = ("--rounds", 2, "--seeds", 1, "--patches", 0, "--jobs", 1, "--json")
    documents = []
    called(capsys, "bench", "synth", "--events", 240, "--out", folder / "l.events.jsonl")
    for file in (events, folder / "l.events.jsonl"):
        code, said = called(capsys, "bench", "run", file, *few)
        assert code == 0, said.err
        documents.append(json.loads(said.out))
        documents[-1].pop("seconds")
        documents[-1]["config"]["files"] = list(documents[-1]["config"]["files"].values())
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "x.csv"], "says no format of events"),
        (["--out", "x.events.parquet", "--rules", "1"], "--rules"),
        (["--out", "x.events.parquet", "--noise", "0.9"], "--noise"),
        (["--out", "no/such/../x.events.parquet", "--schema", "none.yaml"], "no such file"),
    ],
)
def test_what_does_not_fit_is_told_and_nothing_is_written(
    options, words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    code, said = called(capsys, "bench", "synth", "--events", 10, *options)
    assert code == 2
    assert words in said.err
    assert list(tmp_path.iterdir()) == []
