"""Training data: what is learned from what, what no split shares, and what it is named by."""

from __future__ import annotations

import json
import random

import pytest
from tuning_traces import ASKED, event, traces

from vepa.corpus.settled import stream_settled
from vepa.corpus.trajectory import stream_trajectories
from vepa.errors import InputError, SettingError
from vepa.policy.schema import bundled_schema
from vepa.release.layout import jsonl_path
from vepa.release.records import SPLITS
from vepa.tuning import build, read_data_manifest, stream_examples
from vepa.tuning.manifest import split_file


def examples(built):
    return {split: list(stream_examples(built.folder / split_file(split))) for split in SPLITS}


def by_id(built):
    return {each.id: (split, each) for split, found in examples(built).items() for each in found}


def test_a_parser_learns_the_known_fields_in_the_order_of_the_schema(
    written, request_for, tmp_path
):
    path, events = written(traces())
    found = by_id(build(request_for([path], [events]), tmp_path / "data"))
    assert len(found) == len(ASKED)
    _, example = found["case/1"]
    assert example.answer == event(1)
    assert (
        example.completion[0].content == "action_kind: send\ninjection: followed\ndomain: business"
    )
    assert "Book a quiet room" in example.prompt[1].content
    assert [turn.role for turn in example.prompt] == ["system", "user"]


def test_a_judge_learns_the_verdict_and_only_readers_name_triggers(
    written, request_for, release, tmp_path
):
    path, _ = written(traces())
    of_benchmark = by_id(build(request_for([path], kind="judge"), tmp_path / "one"))
    assert of_benchmark["case/1"][1].completion[0].content == "verdict: refuse"
    of_release = by_id(build(request_for([release], kind="judge"), tmp_path / "two"))
    answers = {example.completion[0].content for _, example in of_release.values()}
    assert "verdict: allow\ntriggers: none" in answers
    assert any(answer.startswith("verdict: refuse\ntriggers: ") for answer in answers)


def test_nothing_that_is_learned_is_shown(written, request_for, tmp_path):
    told = [
        each.model_copy(update={"meta": {"risk_type": "SECRET-VERDICT"}, "marked": 1})
        for each in traces()
    ]
    path, events = written(told)
    for _, example in by_id(build(request_for([path], [events]), tmp_path / "data")).values():
        shown = " ".join(turn.content for turn in example.prompt[1:])
        for never in ("SECRET-VERDICT", "refuse", example.id, "action_kind"):
            assert never not in shown


def test_no_two_splits_share_a_trace_a_task_or_a_template(written, request_for, tmp_path):
    path, events = written(traces())
    built = build(request_for([path], [events]), tmp_path / "data")
    splits = examples(built)
    assert all(splits.values())
    for what in ("group", "trace"):
        held = [{getattr(each, what) for each in found} for found in splits.values()]
        assert sum(map(len, held)) == len(set().union(*held))
    found = by_id(built)
    # One operator; one request. So 0 and 1, 0 and 2, and therefore 1 and 2 belong together.
    assert len({found[f"case/{at}"][1].group for at in (0, 1, 2)}) == 1


def test_a_release_keeps_its_splits_and_its_groups(request_for, release, tmp_path):
    found = by_id(build(request_for([release], kind="judge"), tmp_path / "data"))
    assert found
    for split in SPLITS:
        groups = {
            each.id: each.meta["release"]["group"]
            for each in stream_trajectories(release / jsonl_path("trajectories", split))
        }
        for label in stream_settled(release / jsonl_path("settled", split)):
            name = f"{label.trajectory}/{label.step}/step"
            if name in found:
                assert found[name][0] == split
                assert found[name][1].group == groups[label.trajectory]


def test_a_step_that_reads_the_same_in_two_splits_is_kept_for_the_test(
    request_for, release, tmp_path
):
    # Shown alone, the first step of two episodes of one world may be the same.
    built = build(request_for([release], kind="judge"), tmp_path / "data")
    splits = examples(built)
    seen = [{each.trace for each in splits[split]} for split in SPLITS]
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_traces_for_evaluation_only_are_never_trained_on(written, request_for, tmp_path):
    own, own_events = written(traces())
    # Of the first five requests, so that these groups reach over both benchmarks.
    other, other_events = written(traces("atbench", prefix="atbench")[:5], name="held")
    found = by_id(build(request_for([own, other], [own_events, other_events]), tmp_path / "data"))
    held = {name: split for name, (split, _) in found.items() if name.startswith("atbench/")}
    assert len(held) == 5
    assert set(held.values()) == {"test"}
    assert {found[f"case/{at}"][0] for at in range(5)} == {"test"}
    assert {found[f"case/{at}"][0] for at in range(5, 12)} >= {"train"}


def test_with_traces_for_evaluation_alone_there_is_nothing_to_train_on(
    written, request_for, tmp_path
):
    path, events = written(traces("atbench"))
    with pytest.raises(InputError, match="nothing is left to train"):
        build(request_for([path], [events]), tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_the_order_of_the_traces_plays_no_part_in_where_they_stand(written, request_for, tmp_path):
    found = traces()
    path, events = written(found)
    one = by_id(build(request_for([path], [events]), tmp_path / "one"))
    mixed = list(found)
    random.Random(3).shuffle(mixed)
    other_path, _ = written(mixed, name="mixed")
    other = by_id(build(request_for([other_path], [events]), tmp_path / "two"))
    assert {name: split for name, (split, _) in one.items()} == {
        name: split for name, (split, _) in other.items()
    }


def test_the_same_sources_give_the_same_bytes_once(written, request_for, tmp_path):
    path, events = written(traces())
    one = build(request_for([path], [events]), tmp_path / "data")
    again = build(request_for([path], [events]), tmp_path / "data")
    assert (one.made, again.made) == (True, False)
    assert one.folder == again.folder
    assert one.folder.name == f"parser-{one.manifest.content_sha256[:12]}"
    assert [each.name for each in (tmp_path / "data").iterdir()] == [one.folder.name]
    assert read_data_manifest(one.folder) == one.manifest


def test_what_was_begun_and_never_finished_is_made_again(written, request_for, tmp_path):
    path, events = written(traces())
    one = build(request_for([path], [events]), tmp_path / "data")
    (one.folder / "manifest.json").unlink()
    (one.folder / "train.jsonl").write_text("half", "utf-8")
    again = build(request_for([path], [events]), tmp_path / "data")
    assert again.made
    assert read_data_manifest(again.folder) == again.manifest


def test_a_file_that_was_changed_is_found(written, request_for, tmp_path):
    path, events = written(traces())
    folder = build(request_for([path], [events]), tmp_path / "data").folder
    file = folder / "test.jsonl"
    file.write_text(file.read_text("utf-8").replace("business", "health"), "utf-8")
    with pytest.raises(InputError, match="not the one that the manifest names"):
        read_data_manifest(folder)


@pytest.mark.parametrize("content", ["{", "[]", '{"form": 1}'])
def test_a_broken_manifest_is_named(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_data_manifest(tmp_path)


def test_figures_are_those_of_the_files(written, request_for, tmp_path):
    path, events = written(traces())
    built = build(request_for([path], [events], trace_tokens=64), tmp_path / "data")
    for split, found in examples(built).items():
        figures = built.manifest.figures[split]
        assert figures["examples"] == len(found)
        assert figures["groups"] == len({each.group for each in found})
        assert sum(figures["strata"].values()) == len(found)
        assert figures["tokens"]["shown"]["max"] == max(each.tokens for each in found) <= 64


def test_a_parser_needs_events_and_they_have_to_be_of_the_traces(written, request_for, tmp_path):
    path, _ = written(traces())
    with pytest.raises(SettingError, match="typed events"):
        build(request_for([path]), tmp_path / "data")
    _, foreign = written(traces(prefix="other"), name="other")
    with pytest.raises(InputError, match="no id stands in both"):
        build(request_for([path], [foreign]), tmp_path / "data")


def test_traces_without_a_verdict_are_counted_and_left_out(written, request_for, tmp_path):
    found = [
        each.model_copy(update={"label": None}) if at == 4 else each
        for at, each in enumerate(traces())
    ]
    path, _ = written(found)
    built = build(request_for([path], kind="judge"), tmp_path / "data")
    assert built.manifest.skipped == {"no verdict": 1}


def test_a_corpus_parser_learns_what_the_recorded_events_know(request_for, release, tmp_path):
    schema = bundled_schema()
    found = by_id(build(request_for([release]), tmp_path / "data"))
    assert found
    for _, example in found.values():
        assert "unknown" not in example.answer.values()
        schema.encode(example.answer)


def test_a_record_of_another_form_is_refused(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({"schema_version": 2}) + "\n", "utf-8")
    with pytest.raises(InputError, match=r"train\.jsonl"):
        list(stream_examples(path))
