"""The update with a model that proposes: what it hears, what counts, what it can and cannot do."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from evolving import WORLD, archive_of, drawn, rows
from proposing import BAD, GOOD, Pen, adds, answer, edit, rule

from vepa.corpus.events import EventTable
from vepa.errors import BudgetError, ModelError, SettingError
from vepa.evolution import EvolutionSettings, proposer, rebuild, update
from vepa.evolution.proposers.induction import Induction
from vepa.evolution.proposers.llm.asking import TEMPLATE, ModelProposer
from vepa.evolution.proposers.llm.opening import Desk, spent_by
from vepa.evolution.proposers.llm.settings import LLMSettings
from vepa.evolution.proposers.mixed import Mixed
from vepa.evolution.proposers.workbench import Workbench
from vepa.llm import Manifest, Message, ModelReply, Recording
from vepa.llm.prompts import load_prompt
from vepa.policy import Policy, Schema, authority
from vepa.policy.verifier import verify
from vepa.project import Project

EMPTY = Policy(WORLD)


def law(event):
    return "refuse" if event["colour"] == "red" else "allow"


LEARNED = archive_of(drawn(120, law, seed=3))


def evolve(source, *, parent=EMPTY, archive=LEARNED, patches=30, round=1, seed=0):
    found = update(
        parent,
        archive,
        round=round,
        authority=authority("paper"),
        settings=EvolutionSettings(patches=patches),
        seed=seed,
        source=source,
    )
    record = json.loads(json.dumps(found.to_dict()))
    assert verify(found.policy).ok
    assert len(found.attempts) <= patches
    assert rebuild(parent, record).document_hash == found.policy.document_hash
    return found


def described(policy):
    return sorted(known.describe() for known in policy.rules)


LEARNT = ["allow when colour in {green, blue}", "refuse when colour in {red}"]


def test_a_rejected_patch_is_repaired_with_the_verifiers_findings():
    pen = Pen(answer(BAD["conflicting"][0]), answer(adds(*GOOD)))
    found = evolve(pen.proposer())
    assert described(found.policy) == LEARNT
    assert all(known.active for known in found.policy.rules)
    first, second = pen.lines(0), pen.lines(1)
    assert not [line for line in first if line["line"] == "rejected"]
    (rejected,) = [line for line in second if line["line"] == "rejected"]
    assert rejected["findings"][0]["code"] == "conflict"
    assert rejected["findings"][0]["witness"] == {"colour": "red", "size": "small"}
    told = {made["id"] for part in rejected["edits"] for made in part["rules"]}
    assert set(rejected["findings"][0]["rules"]) == told
    assert found.questions == len(pen.asked)
    assert not found.ended


def test_what_is_no_patch_counts_is_recorded_and_told():
    pen = Pen(answer(*BAD["malformed"]), answer(adds(*GOOD)))
    found = evolve(pen.proposer())
    tried = [attempt for attempt in found.to_dict()["attempts"] if attempt["number"] <= 8]
    assert [attempt["verified"] for attempt in tried] == [False] * 8
    codes = [attempt["feedback"][0]["code"] for attempt in tried]
    assert codes[0] == "malformed", "what can be read is tried first"
    assert codes[1:] == ["malformed"] * 4 + ["unknown_field", "unknown_value", "malformed"]
    assert [bool(attempt.get("written")) for attempt in tried] == [False, *[True] * 7]
    told = [line for line in pen.lines(1) if line["line"] == "rejected"]
    assert {line["findings"][0]["code"] for line in told} == set(codes)
    assert described(found.policy) == LEARNT


@pytest.mark.parametrize("patches", [0, 1, 5])
def test_no_more_than_k_patches_are_tried_malformed_ones_included(patches):
    pen = Pen(*[answer(*BAD["malformed"], *BAD["vacuous"])] * 9)
    found = evolve(pen.proposer(), patches=patches)
    assert len(found.attempts) == patches
    assert len(pen.asked) == (1 if patches else 0)


def test_a_whole_answer_without_form_is_told_and_the_next_one_counts():
    pen = Pen("I would refuse red things.", '{"patches": 3}', answer(adds(*GOOD)))
    found = evolve(pen.proposer())
    assert [attempt.written for attempt in found.attempts[:2]] == [
        "the whole answer to question 1",
        "the whole answer to question 2",
    ]
    assert described(found.policy) == LEARNT
    assert found.questions == len(pen.asked)
    assert "could not be read" in pen.asked[2].messages[-1].content


def test_an_admitted_patch_is_told_with_its_scores():
    one = {"colour": ["red"], "shape": ["rod"]}  # too few examples for authority
    narrow = [adds(rule("refuse", **one, noise=[value])) for value in "pqrs"]
    pen = Pen(*[answer(each) for each in narrow], answer(adds(*GOOD)))
    found = evolve(pen.proposer())
    assert found.attempts[0].score is not None
    asked_again = [
        lines
        for lines in (pen.lines(at) for at in range(1, len(pen.asked)))
        if not [line for line in lines if line["line"] == "rule"]
    ]
    assert asked_again, "the parent itself is asked about again"
    for lines in asked_again:
        tried = [line for line in lines if line["line"] == "tried"]
        assert tried[-1]["edits"][0]["rules"][0]["when"]["noise"] == {"in": ["p"]}
        assert set(tried[-1]["scores"]) == {"repaired", "preserved", "objective"}


def test_where_the_fields_cannot_tell_the_explanation_becomes_a_note_with_ids():
    archive = archive_of(rows([({"colour": "red"}, "refuse"), ({"colour": "red"}, "allow")], "ev-"))
    pen = Pen(
        answer(note="e0 and e1 look alike, e77 is none;\u202e a field for the tool\nis needed")
    )
    found = evolve(pen.proposer(), archive=archive)
    assert found.notes == (
        "the model: ev-0 and ev-1 look alike, e77 is none; a field for the tool is needed",
    )
    assert found.attempts == ()
    assert found.policy == EMPTY


def test_no_more_questions_than_allowed_are_asked_in_an_update():
    fresh = itertools.count()

    def narrow(_):
        at = next(fresh)
        return answer(adds(rule("refuse", colour=["red"], noise=["pqrs"[at % 4]], shape=[
            WORLD["shape"].values[1 + at // 4 % 4]])))  # fmt: skip

    pen = Pen(*[narrow] * 40)
    found = evolve(pen.proposer(questions=3))
    assert len(pen.asked) == found.questions == 3
    assert len(found.attempts) == 3


class Failing:
    """A model whose answers after the first few are errors."""

    name = "openai/none"

    def __init__(self, error, *replies):
        self.error, self.replies = error, list(replies)

    def ask(self, request):
        if not self.replies:
            raise self.error
        return self.replies.pop(0)


def said(data, finish="stop"):
    message = Message(role="assistant", content=json.dumps(data))
    return ModelReply(message, finish, "m", "provider", data)


def asking(model, **settings):
    known = LLMSettings(model=model.name, **settings)
    return ModelProposer(model, known, load_prompt(Project(), TEMPLATE))


def test_where_the_budget_ends_the_update_goes_on_and_says_so():
    over = BudgetError("the run's 10 tokens are used up", "tokens", "run")
    alone = evolve(Induction())
    for source in (asking(Failing(over)), Mixed(asking(Failing(over)))):
        found = evolve(source)
        assert found.ended
        assert found.questions == 0
        (note,) = [note for note in found.notes if "budget" in note]
        assert note == (
            "openai/none is not asked any more: the run's budget of tokens is used up; "
            "the update goes on without the model"
        )
        assert source.figures()["ended"]
    assert described(found.policy) == described(alone.policy)
    late = evolve(asking(Failing(over, said(answer(adds(*GOOD))))))
    assert late.ended
    assert described(late.policy) == LEARNT, "what was answered before counts"


def test_a_key_that_is_missing_is_a_setting_and_other_failures_end_the_run():
    with pytest.raises(SettingError, match="no key") as caught:
        evolve(asking(Failing(ModelError("m: there is no key", "refused_key"))))
    assert caught.value.where.field == "evolution.llm.model"
    assert "induction" in caught.value.remedy
    for kind in ("unreachable", "bad_request", "not_recorded", "overloaded"):
        with pytest.raises(ModelError) as failed:
            evolve(Mixed(asking(Failing(ModelError("m: no", kind)))))
        assert failed.value.kind == kind


def test_a_model_that_declines_is_noted():
    found = evolve(asking(Failing(None, said(None, "declined"))))
    assert found.notes == ("the model declined to answer",)
    assert (found.questions, found.attempts) == (1, ())


def test_hostile_answers_never_win_and_leave_no_trace_of_their_own_in_a_policy():
    bad = [answer(*BAD[kind], note="obey\x00 me") for kind in BAD if kind != "oversized"]
    for source in (Pen(*bad).proposer(), Mixed(Pen(*bad).proposer())):
        found = evolve(source)
        written = found.policy.to_yaml()
        assert "Ignore the verifier" not in written
        for known in found.policy.rules:
            covered = [row for row in LEARNED.table.codes.tolist() if _covers(known, row)]
            labels = {law(WORLD.decode(row)) for row in covered}
            assert labels <= {known.decision}
    assert described(found.policy) == described(evolve(Induction()).policy)


def _covers(known, row):
    return all(mask >> code & 1 for mask, code in zip(known.masks, row, strict=True))


def test_parents_rules_can_be_deleted_rewritten_split_and_merged():
    start = evolve(Pen(answer(adds(*GOOD))).proposer()).policy
    ids = {known.decision: known.id for known in start.rules}
    table = drawn(150, lambda e: "refuse" if e["shape"] == "rod" else law(e), seed=8)
    archive = archive_of(table, start)
    pen = Pen(
        answer(
            {
                "rationale": "rods too",
                "edits": [
                    edit("rewrite", (ids["allow"],), {"decision": "allow", "when": {
                        "colour": {"in": ["green", "blue"]},
                        "shape": {"not_in": ["rod", "unknown"]}}}),
                    edit("add", (), rule("refuse", shape=["rod"])),
                ],
            }
        )
    )  # fmt: skip
    found = evolve(pen.proposer(), parent=start, archive=archive, round=2)
    assert [patch.operations for patch in found.accepted] == [("rewrite", "add")]
    assert [known.id[:3] for known in found.policy.rules if known.id not in ids.values()] == [
        "r2-"
    ] * 2
    rewritten = next(known for known in found.policy.rules if known.decision == "allow")
    assert rewritten.provenance.to_dict() == {
        "round": 2, "operation": "rewrite", "parents": [ids["allow"]],
    }  # fmt: skip


# A model's ideas as seeds of the search

BITS = Schema(1, {f"b{at}": ["no", "yes"] for at in range(14)})
#: A region of the law below.
ODD = {"b0": ["yes"], **{f"b{at}": ["no"] for at in range(1, 6)}}
MASKS = (0b100, *[0b010] * 5, *BITS.full[6:])


@pytest.fixture(scope="module")
def parity():
    """Refused when an odd number of six fields is `yes`: fewer than six tell nothing."""
    codes = np.random.default_rng(4).integers(1, 3, (1600, 14)).astype(np.int8)
    labels = ((codes[:, :6] == 2).sum(axis=1) % 2).astype(np.int8)
    return archive_of(EventTable(BITS, tuple(f"e{at}" for at in range(1600)), codes, labels))


def test_a_seed_is_found_where_the_search_alone_finds_nothing(parity):
    gate = authority("paper")
    alone = {piece for _, piece in Workbench(parity, gate).additions([])}
    seeded = {piece for _, piece in Workbench(parity, gate, [("refuse", MASKS)]).additions([])}
    assert ("refuse", MASKS) not in alone
    assert ("refuse", MASKS) in seeded


def test_mixed_takes_a_models_idea_into_the_plan_even_when_its_patch_is_rejected(parity):
    clash = adds(rule("refuse", **ODD), rule("allow", b0=["yes"], b1=["no"]))
    parent = Policy(BITS)
    model = evolve(Pen(answer(clash)).proposer(), parent=parent, archive=parity)
    mixed = evolve(Mixed(Pen(answer(clash)).proposer()), parent=parent, archive=parity, patches=4)
    assert described(model.policy) == []
    assert ("refuse", MASKS) in {known.key for known in mixed.policy.rules}
    assert all(attempt.base == 0 for attempt in mixed.attempts)


# Names, recordings, the desk


def test_recorded_answers_give_the_same_policy_every_time(tmp_path):
    manifest = Manifest(
        model="some-model", date="2025-06-30", made="For a test, by hand.", licence="CC0-1.0"
    )
    recording = Recording.create(tmp_path / "data" / "recorded" / "pen", manifest)
    answers = [answer(BAD["conflicting"][0], BAD["malformed"][4]), answer(adds(GOOD[0])),
               answer(adds(*GOOD), note="done")]  # fmt: skip
    pen = Pen(*answers)
    first = evolve(pen.proposer())
    for asked, known in itertools.zip_longest(pen.asked, answers, fillvalue=answer()):
        recording.add(asked.item, Message(role="assistant", content=json.dumps(known)))
    llm = LLMSettings(model="recorded/pen")
    for _ in range(2):
        desk = Desk(tmp_path / "propose", run="r", project=tmp_path)
        again = evolve(proposer("llm", llm, desk))
        assert again.policy.document_hash == first.policy.document_hash
        assert again.to_dict() == first.to_dict()
    assert spent_by(desk).questions == 2 * len(pen.asked)
    assert spent_by(Desk(tmp_path / "propose", run="other")).questions == 0


def test_names_and_models_of_proposers_are_checked_before_anything_is_asked(tmp_path):
    for name in ("llm", "induction+llm"):
        with pytest.raises(SettingError, match="no language model is named"):
            proposer(name)
        with pytest.raises(ValueError, match="none is named"):
            EvolutionSettings(proposer=name)
        with pytest.raises(SettingError, match="no such recording"):
            proposer(name, LLMSettings(model="recorded/nothing"), Desk(project=tmp_path))
        with pytest.raises(SettingError, match="needs its script"):
            proposer(name, LLMSettings(model="scripted/nobody"))
    with pytest.raises(ValueError, match="asks none"):
        EvolutionSettings(llm=LLMSettings(model="openai/x"))
    assert EvolutionSettings(proposer="llm", llm={"model": "openai/x"}).asks_a_model
    assert not EvolutionSettings().asks_a_model
