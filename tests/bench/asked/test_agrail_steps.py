"""AGrail's numbered steps over a real wire: ten events, all questions, the memory that is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from agrail_plays import ACTS, PROMPTS, Turn, block_of, check, role_of, said
from errands import MODEL, asked_at
from loopback_model import warm
from model_servers import FAKE_KEY, Data, ModelServer, Seen, Vectors

from vepa.bench.baselines.asked.agrail import CATEGORIES, AGrail
from vepa.bench.baselines.base import Prediction
from vepa.corpus.events import EventTable
from vepa.llm import open_embedder, open_model

__all__ = ["warm"]

#: Where a text points. A whole key points where its sentence does, but for one: retrieval looks at
#: the whole key, step 5 at the sentence.
PLACES = {
    "sends\nact()": [0.0, 1.0, 0.0, 0.2],
    "reads": [1.0, 0.0, 0.0, 0.0],
    "sends": [0.0, 1.0, 0.0, 0.0],
    "sends to itself": [0.0, 0.9, 0.1, 0.0],
    "deletes": [0.5, 0.1, 0.0, 1.0],
    "pays": [0.0, 0.0, 1.0, 0.0],
    "much like sends": [0.0, 9.0, 0.0, 4.0],
    "four fifths like sends": [0.0, 4.0, 0.0, 3.0],
    "another matter": [0.0, 0.0, 0.0, 1.0],
}
READ, SEND, DELETE, PAY = 1, 2, 3, 4
OWN, OUTSIDE = 1, 2
TURNS = [
    ((READ, OWN), Turn("reads", [check("R1")], in_memory=True)),
    ((SEND, OUTSIDE), Turn("sends", [check("S1"), check("S2")], {"S1": "false"})),
    (
        (SEND, OUTSIDE),
        Turn(
            "sends",
            [check("S3")],
            {"S1": "over-detecting", "S3": ("target", ["own", "outside"])},
            choice="add",
            summary="much like sends",
        ),
    ),
    (
        (SEND, OWN),
        Turn(
            "sends to itself",
            [check("S2"), check("S4")],
            choice="revise",
            summary="four fifths like sends",
        ),
    ),
    ((DELETE, OWN), Turn("deletes", [check("D1")], {"D1": "unnecessary"}, in_memory=True)),
    ((DELETE, OWN), Turn("deletes", [check("D2")], {"D2": "false"}, in_memory=True)),
    ((PAY, OUTSIDE), Turn("pays", [check("P1")], {"P1": ("target", ["own"])})),
    (
        (PAY, OUTSIDE),
        Turn(
            "pays",
            [check("P2")],
            {"P1": "duplicate", "P2": ("target", ["the moon"])},
            choice="add",
            in_memory=True,
        ),
    ),
    ((READ, OUTSIDE), Turn("reads", [check("no category", "of its own")])),
    ((SEND, OWN), Turn("sends to itself", [check("N1")])),
]


@dataclass
class Played:
    """What was asked in ten events, and what came of it."""

    method: AGrail
    prediction: Prediction
    asked: list[list[tuple[str, list[dict], Seen]]]
    embedded: list[list[str]]

    def shown(self, event: int, role: str) -> list[dict]:
        """The block of the first question of a role about an event, from 1."""
        return next(lines for kind, lines, _ in self.asked[event - 1] if kind == role)


@pytest.fixture(scope="module")
def played(warm: None) -> Iterator[Played]:
    asked: list[list[tuple[str, list[dict], Seen]]] = []
    embedded: list[list[str]] = []

    def plan(seen: Seen):
        if seen.wire == "embeddings":
            embedded.append(seen.body["input"])
            return Vectors(lambda text: PLACES.get(text) or PLACES[text.removesuffix("\nact()")])
        system, user = (message["content"] for message in seen.body["messages"][:2])
        role, lines = role_of(system), block_of(user)
        if role == "key":
            asked.append([])
        asked[-1].append((role, lines, seen))
        return Data(said(TURNS[len(asked) - 1][1], role, lines))

    with pytest.MonkeyPatch.context() as patch, ModelServer(plan) as server:
        patch.setenv("OPENAI_API_KEY", FAKE_KEY)
        settings = asked_at(server)
        method = AGrail(
            ACTS,
            ["action", "target"],
            open_model(MODEL, settings=settings),
            open_embedder("openai/text-embedding-3-small", settings=settings),
            PROMPTS,
        )
        codes = np.array([[*visible, 1] for visible, _ in TURNS], np.int8)
        names = tuple(f"e{at}" for at in range(len(TURNS)))
        table = EventTable(ACTS, names, codes, np.zeros(len(TURNS), np.int8))
        # Two rounds, with feedback between them: it changes nothing.
        parts = []
        for rows in (range(5), range(5, 10)):
            parts.append(method.predict(table.take(list(rows))))
            before = method.memory.to_dict()
            method.learn(table.take(list(rows)))
            assert method.memory.to_dict() == before
        whole = Prediction(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        yield Played(method, whole, asked, embedded)


def names(lines: list[dict]) -> list[str]:
    return [line["name"] for line in lines if "check" in line]


def remembered(lines: list[dict]) -> str | None:
    (entry,) = (line.get("memory") for line in lines if "memory" in line or "example" in line)
    return entry and entry["key"]["sentence"]


def test_step_1_three_questions_an_event_and_the_first_makes_the_key(played):
    roles = [[role for role, _, _ in event] for event in played.asked]
    assert roles[:8] == [["key", "analyse", "execute"]] * 8
    assert played.shown(2, "key") == [{"event": {"action": "send", "target": "outside"}}]
    assert played.embedded[:2] == [["reads\nact()", "reads"], ["sends\nact()", "sends"]]


def test_step_2_an_entry_is_a_key_and_named_checks_of_the_fixed_categories(played):
    entry = played.method.memory.entries[1]
    assert (entry.key.sentence, entry.key.command) == ("sends", "act()")
    assert entry.by_category == {
        "information-integrity": {
            "S2": "True when S2 holds.",
            "S3": "True when S3 holds.",
        }
    }
    assert played.shown(1, "analyse")[0] == {"categories": dict(sorted(CATEGORIES.items()))}


def test_step_3_the_nearest_entry_is_shown_and_an_example_while_there_is_none(played):
    first = played.shown(1, "analyse")
    assert "memory" not in first[1]
    assert first[1]["example"]["checks"]
    retrieved = [remembered(played.shown(event, "analyse")) for event in range(2, 11)]
    assert retrieved == [
        *("reads", "sends", "sends", "reads", "reads", "sends to itself", "pays", "reads"),
        "sends to itself",
    ]
    example = first[1]["example"]["key"]["sentence"]
    assert example not in [entry.key.sentence for entry in played.method.memory.entries]


def test_step_4_checks_are_added_revised_or_written_anew(played):
    assert names(played.shown(3, "execute")) == ["S1", "S2", "S3"]  # added to the remembered ones
    assert names(played.shown(4, "execute")) == ["S2", "S4"]  # the whole list, revised
    assert names(played.shown(6, "execute")) == ["D2"]  # a new list
    schema = played.asked[0][1][2].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["choice"]["enum"] == ["add", "revise", "new"]
    assert schema["properties"]["checks"]["items"]["properties"]["category"]["enum"] == sorted(
        CATEGORIES
    )


def test_step_5_in_memory_above_a_cosine_of_four_fifths_or_by_the_flag(played):
    said = played.method.last
    by_cosine, at_it = 3, 4
    assert ["much like sends"] in played.embedded
    assert ["four fifths like sends"] in played.embedded
    keys = [entry.key.sentence for entry in played.method.memory.entries]
    assert keys.count("sends") == 1  # event 3 went under the retrieved key by its cosine alone
    assert "sends to itself" in keys  # event 4, at exactly 0.80, did not
    assert not TURNS[by_cosine - 1][1].in_memory
    assert not TURNS[at_it - 1][1].in_memory
    assert [verdict.in_memory for verdict in said] == [True, False, True, False, False]
    assert keys[0] == "reads"  # event 1 set the flag, and there was nothing to be in


def test_step_6_checks_are_deleted_looked_up_or_judged(played):
    assert played.shown(7, "execute")[1:] == [
        {
            "fields": {
                "action": ["unknown", "read", "send", "delete", "pay"],
                "target": ["unknown", "own", "outside"],
            }
        },
        {"event": {"action": "pay", "target": "outside"}},
    ]
    looked_up, failed = played.method.last[1], played.method.last[2]
    assert [(check.name, true) for check, true in looked_up.checks] == [("P1", False)]
    assert (failed.deleted, failed.failed_tools) == (1, 1)
    assert [(check.name, true) for check, true in failed.checks] == [("P2", False)]
    schema = played.asked[2][2][2].body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["c1", "c2", "c3"]  # none can be passed over


def test_step_7_the_memory_after_ten_events(played):
    kept = {
        entry.key.sentence: [check.name for check in entry.checks]
        for entry in played.method.memory.entries
    }
    assert kept == {
        "reads": ["D2"],  # event 5 left nothing, and changed nothing; event 6 replaced R1
        "sends": ["S2", "S3"],  # under the retrieved key
        "sends to itself": ["N1"],  # not in memory, and yet the same key
        "pays": ["P2"],
    }
    assert remembered(played.shown(6, "analyse")) == "reads"
    assert played.shown(6, "analyse")[1]["memory"]["checks"] == [check("R1")]


def test_step_8_unsafe_when_a_kept_check_is_false_and_confidence_by_agreement(played):
    labels, sure = played.prediction
    assert labels.tolist() == [0, 1, 0, 0, 0, 1, 1, 1, 1, 0]
    assert sure.tolist() == pytest.approx(
        [2 / 3, 1 / 2, 3 / 4, 3 / 4, 1 / 2, 2 / 3, 2 / 3, 2 / 3, 0.0, 2 / 3]
    )
    assert played.method.counts == {
        "decided": 8,
        "unchecked": 1,  # event 5
        "analyse_malformed": 1,  # event 9, asked once more and then refused
        "in_memory": 4,
        "deleted": 3,
        "failed_tools": 1,
    }
    assert [role for role, _, _ in played.asked[8]] == ["key", "analyse", "analyse"]
