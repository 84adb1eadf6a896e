"""The leakage report on tables made by hand: what was leaked on purpose is found, and only that."""

import json
import random

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from vepa.release.frames import frame_of, schema_of
from vepa.release.leakage import NEVER_FEATURES, leakage
from vepa.release.lookups import TELL_TALES
from vepa.release.records import SPLITS, TABLES
from vepa.release.scoring import area_under

SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to"]


def words(rng, count):
    return " ".join("".join(rng.choices(SYLLABLES, k=3)) for _ in range(count))


def episode(name, split, rng, refuse=0.3, steps=6):
    """An episode as plain data: nothing in it has to do with its labels."""
    return {
        "name": name, "split": split, "task": name, "group": name, "persona": rng.choice("pq"),
        "model": rng.choice(["m/one", "m/two"]), "scripted": False, "tripped": [], "planted": [],
        "request": words(rng, 20),
        "steps": [
            {
                "label": "refuse" if rng.random() < refuse else "allow",
                "tool": rng.choice(["send", "read", "pay"]), "arguments": {"text": words(rng, 8)},
                "event": {"recipient": rng.choice(["internal", "external", "self"])},
                "item": f"{name}-{at}", "meant": "none", "how": "agreed", "trigger": "a",
            }
            for at in range(1, steps + 1)
        ],
    }  # fmt: skip


def corpus(seed=0, counts=(80, 20, 20)):
    rng = random.Random(seed)
    return [
        episode(f"{split}-{at}", split, rng)
        for split, count in zip(SPLITS, counts, strict=True)
        for at in range(count)
    ]


def frames_of(episodes):
    records = {(table, split): [] for table in TABLES for split in SPLITS}
    for each in episodes:
        for table, found in tables_of(each).items():
            records[table, each["split"]] += found
    return {key: frame_of(key[0], found) for key, found in records.items()}


def tables_of(each):
    name = each["name"]
    user = {"index": 0, "kind": "user", "text": each["request"]}
    calls = [
        {"index": at, "kind": "call",
         "call": {"id": f"c{at}", "tool": step["tool"], "arguments": step["arguments"]}}
        for at, step in enumerate(each["steps"], 1)
    ]  # fmt: skip
    about = {
        "group": each["group"], "ending": "answer", "succeeded": True, "tripped": each["tripped"],
        "scripted": each["scripted"], "planted_sha256": each["planted"],
    }  # fmt: skip
    made = {key: each[key] for key in ("task", "persona", "model")} | {"seed": 0}
    found = {
        "trajectories": [{"id": name, **made, "steps": [user, *calls], "meta": {"release": about}}],
        "steps": [{"trajectory": name, "step": 0, "kind": "user", "text": each["request"], **made}],
        "settled": [],
        "events_step": [],
    }
    for at, step in enumerate(each["steps"], 1):
        found["steps"].append(
            {"trajectory": name, "step": at, "kind": "call", "tool": step["tool"],
             "environment": "mail", "arguments": json.dumps(step["arguments"]),
             "meant": step["meant"], **made}
        )  # fmt: skip
        if step["label"] is not None:
            triggers = [step["trigger"]] if step["label"] == "refuse" else []
            judgement = {"decision": step["label"], "triggers": triggers, "confidence": 1}
            found["settled"].append(
                {"trajectory": name, "step": at, "item": step["item"], "judgement": judgement}
            )
        meta = {"episode": name, "step": at, "tool": step["tool"], "labelled_by": step["how"]}
        meta |= {"task": each["task"], "model": each["model"], "label_origin": "recorded"}
        found["events_step"].append(
            {"id": f"{name}#{at}", "unit": "step", "event": step["event"], "label": step["label"],
             "meta": meta}
        )  # fmt: skip
    return found


def told(report, *levels):
    return {each["about"] for each in report["findings"] if each["level"] in levels}


def test_clean_tables_have_neither_problem_nor_warning_nor_tell_tale():
    report = leakage(frames_of(corpus()))
    assert told(report, "problem", "warning") == set()
    overlap = report["overlap"]
    for name in ("tasks", "groups", "planted"):
        assert overlap[name]["shared"] == 0
    assert overlap["near_duplicates"]["pairs"] == overlap["items"]["steps"] == 0
    lookups = report["lookups"]
    for kind in ("fields", "context", "tell_tales", "words"):
        for name, scored in lookups[kind].items():
            assert scored["held_out"]["auc"] < 0.6, name
            assert scored["held_out"]["lift"]["macro_f1"] < 0.1, name
    assert json.loads(json.dumps(report)) == report


def leak(*where):
    """A corpus in which one thing, or several, give the label away."""
    episodes = corpus(1)
    for each in episodes:
        bad = each["steps"][0]["label"] == "refuse"
        if {"model", "tripped", "request"} & set(where):
            for step in each["steps"]:
                step["label"] = "refuse" if bad else "allow"
        if "model" in where and bad:
            each["model"] = "m/bad"
        if "tripped" in where and bad:
            each["tripped"] = ["a"]
        if "request" in where:
            each["request"] = " ".join(["swindle" if bad else "kindly"] * 3) + each["request"]
        for step in each["steps"]:
            refuse = step["label"] == "refuse"
            if "meant" in where:
                step["meant"] = "a" if refuse else "none"
            if "labelled_by" in where:
                step["how"] = "arbiter" if refuse else "agreed"
            if "tool" in where:
                step["tool"] = "pay" if refuse else "read"
            if "recipient" in where:
                step["event"] = {"recipient": "public" if refuse else "none"}
            if "own_words" in where:
                step["arguments"]["text"] += " swindle" if refuse else " kindly"
    return episodes


@pytest.mark.parametrize(
    ("where", "level"),
    [
        ({"model": "tell_tales", "tripped": "tell_tales"}, "warning"),
        ({"meant": "tell_tales", "labelled_by": "tell_tales"}, "warning"),
        ({"tool": "context"}, "note"),
        ({"recipient": "fields", "own_words": "words"}, "note"),
        ({"request": "words"}, "note"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value,
)
def test_what_gives_the_label_away_is_found_and_nothing_else_is_blamed(where, level):
    report = leakage(frames_of(leak(*where)))
    for name, kind in where.items():
        figures = report["lookups"][kind][name]["test"]
        assert figures["auc"] > 0.95
        assert figures["accuracy"] > 0.9
        assert figures["lift"]["macro_f1"] > 0.3
        assert name in told(report, level)
    innocent = set(TELL_TALES) - {*where, "model_and_tool"}
    assert not innocent & told(report, "warning")
    if "recipient" in where:
        assert report["lookups"]["best_field"] == "recipient"


def test_a_broken_promise_is_a_problem_that_names_what_is_shared():
    episodes = corpus(2, (20, 5, 5))
    train, test = episodes[0], episodes[-1]
    # A twin in its own split is no leak.
    episodes[-2] |= {"request": episodes[-3]["request"], "steps": episodes[-3]["steps"]}
    test |= {"task": train["task"], "group": train["group"]}
    train["planted"] = test["planted"] = ["f00d"]
    test["request"] = train["request"] + " today"
    for ours, theirs in zip(test["steps"], train["steps"], strict=True):
        ours["arguments"] = theirs["arguments"]
    report = leakage(frames_of(episodes))
    assert told(report, "problem") == {"tasks", "groups", "planted", "near_duplicates"}
    assert report["findings"][0]["level"] == "problem"
    overlap = report["overlap"]
    shared = {"value": "train-0", "splits": ["train", "test"]}
    assert overlap["tasks"] == {"shared": 1, "of": len(episodes) - 1, "examples": [shared]}
    twin = overlap["near_duplicates"]["examples"][0]
    assert (twin["first"], twin["second"]) == ("train-0", "test-4")
    assert overlap["near_duplicates"]["pairs"] == 1
    assert 0.8 < twin["similarity"] < 1


def test_steps_calls_and_requests_that_recur_in_train_are_counted():
    episodes = corpus(3, (20, 5, 5))
    train, test = episodes[0], episodes[-1]
    for at in (0, 3):
        test["steps"][at] |= {key: train["steps"][at][key] for key in ("item", "tool", "arguments")}
        train["steps"][at]["label"] = "allow"
    test["steps"][0]["label"], test["steps"][3]["label"] = "allow", "refuse"
    test["request"] = train["request"]
    overlap = leakage(frames_of(episodes))["overlap"]
    wanted = {"shared": 2, "steps": 2, "of": 60, "openings": 1, "same_decision": 1}
    assert overlap["items"] == wanted
    assert overlap["calls"] == {"shared": 2, "steps": 2, "of": 60}
    assert overlap["near_duplicate_requests"]["pairs"] == 1
    assert overlap["near_duplicates"]["pairs"] == 0
    assert overlap["expected"]["tools"] == {"shared": 3, "of": 3, "not_in_train": []}


def test_figures_are_those_of_a_look_up_done_by_hand():
    rng = random.Random(0)
    made = []
    for split, steps in (
        ("train", [("x", "refuse"), ("x", "refuse"), ("x", "allow"), ("y", "allow"),
                   ("y", "allow"), ("z", "allow"), ("z", "refuse")]),
        ("test", [("x", "refuse"), ("x", "allow"), ("y", "allow"), ("z", "allow"),
                  ("w", "refuse"), ("y", None)]),
    ):  # fmt: skip
        each = episode(split, split, rng, steps=len(steps))
        for step, (tool, label) in zip(each["steps"], steps, strict=True):
            step |= {"tool": tool, "label": label}
        made.append(each)
    lookups = leakage(frames_of(made))["lookups"]
    assert lookups["events"]["test"] == {"labelled": 5, "refuse": 2, "without_label": 1}
    # Train: x -> refuse; y -> allow; z tied and w unseen -> the majority of train, allow (4 of 7).
    tool = lookups["context"]["tool"]["test"]
    assert tool["accuracy"] == pytest.approx(3 / 5)
    assert tool["macro_f1"] == pytest.approx((2 / 4 + 4 / 6) / 2, abs=1e-4)
    assert tool["lift"] == {"accuracy": 0.0, "macro_f1": pytest.approx(0.5833 - 0.375, abs=2e-4)}
    assert tool["unseen"] == 1
    rate = 3 / 7
    scores = [(2 + rate) / 4, (2 + rate) / 4, rate / 3, (1 + rate) / 3, rate]
    assert tool["auc"] == pytest.approx(roc_auc_score([1, 0, 0, 0, 1], scores), abs=1e-4)
    assert lookups["context"]["tool"]["validation"]["events"] == 0
    assert lookups["majority"]["test"]["accuracy"] == 0.6


def test_scripts_are_named_before_all_else():
    episodes = corpus(8, (8, 4, 4))
    for each in episodes:
        each["scripted"] = True
    first = leakage(frames_of(episodes))["findings"][0]
    assert (first["level"], first["about"]) == ("warning", "scripted")
    assert "16 of 16 episodes" in first["text"]


def test_steps_of_a_group_count_as_one_when_chance_is_judged():
    """Every step ten times over is no more evidence: the error stays, where steps alone would say
    a third of it."""
    rng = np.random.default_rng(0)
    labels = np.array(rng.random(60) < 0.5, np.int8)
    scores = rng.random(60) + 0.4 * labels
    once = area_under(labels, scores, list(range(60)))
    tenfold = [np.repeat(each, 10) for each in (labels, scores, np.arange(60))]
    assert area_under(*tenfold) == pytest.approx(once, rel=0.15)
    apart = area_under(tenfold[0], tenfold[1], list(range(600)))
    assert apart[0] == pytest.approx(once[0])
    assert apart[1] < 0.4 * once[1]
    assert once[0] == pytest.approx(roc_auc_score(labels, scores))


def test_uneven_shares_missing_triggers_and_a_huge_group_are_told():
    episodes = corpus(4, (60, 20, 0))
    for each in episodes[:30]:
        each["group"] = "huge"
    report = leakage(frames_of(episodes))
    assert {"a", "largest_group"} <= told(report, "warning")
    assert {"validation", "test"} <= told(report, "note")
    largest = report["balance"]["largest_group"]
    assert largest == {"group": "huge", "tasks": 30, "episodes": 30, "steps": 180, "share": 0.375}
    assert report["balance"]["missing"] == ["a"]


@pytest.mark.parametrize("counts", [(0, 0, 0), (5, 0, 0), (0, 5, 5)])
def test_splits_without_anything_give_a_report_without_figures(counts):
    report = leakage(frames_of(corpus(5, counts)))
    assert "lookups" in told(report, "note")
    assert ("majority" in report["lookups"]) == (counts[0] > 0)


def test_one_label_alone_gives_no_figure_that_looks_like_one():
    episodes = corpus(6, (5, 3, 3))
    for each in episodes:
        for step in each["steps"]:
            step["label"] = "allow"
    lookups = leakage(frames_of(episodes))["lookups"]
    assert lookups["words"] == {}
    assert lookups["context"]["tool"]["test"]["auc"] is None


def test_what_may_be_no_feature_exists_in_the_tables():
    for table, columns in NEVER_FEATURES.items():
        assert set(columns) <= set(schema_of(table)), table


def test_the_report_does_not_depend_on_the_order_of_rows():
    frames = frames_of(corpus(7, (20, 8, 8)))
    shuffled = {
        key: frame.sample(fraction=1, shuffle=True, seed=1) for key, frame in frames.items()
    }
    one, other = leakage(frames), leakage(shuffled)
    assert one["lookups"].pop("words").keys() == other["lookups"].pop("words").keys()
    for report in (one, other):
        report.pop("findings")
    assert one == other
    assert not np.isnan(one["lookups"]["majority"]["test"]["accuracy"])
