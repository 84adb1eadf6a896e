"""The search of an update, led by scripts; and over whole runs of the bundled events."""

from __future__ import annotations

import itertools
import json

import pytest
from evolving import WORLD, Scripted, adding, archive_of, drawn, rows, rule

from vepa.errors import PolicyError
from vepa.evolution import Archive, EvolutionSettings, Scorer, rebuild, update
from vepa.evolution.proposers import Proposal
from vepa.policy import Edit, Patch, Policy, authority
from vepa.policy.patches import apply, edit_size
from vepa.policy.verifier import verify

EMPTY = Policy(WORLD)
ALL = EvolutionSettings(scored="all")


def law(event):
    return "refuse" if event["colour"] == "red" else "allow"


LEARNED = archive_of(drawn(120, law, seed=3))
REFUSE_RED = rule("red", "refuse", colour=["red"])
ALLOW_REST = rule("rest", "allow", colour=["green", "blue"])
WRONG = rule("wrong", "refuse", colour=["green"])


def evolve(parent=EMPTY, archive=LEARNED, *, source, settings=ALL, round=1, mode="paper", seed=0):
    return update(
        parent,
        archive,
        round=round,
        authority=authority(mode),
        settings=settings,
        seed=seed,
        source=source,
    )


def structure(policy):
    return [(known.id, *known.key) for known in policy.rules]


class Endless:
    """Always another narrow rule."""

    name = "endless"

    def __init__(self, at_once):
        self.at_once, self.count = at_once, itertools.count()

    def propose(self, request):
        assert request.limit > 0
        made = [rule(f"n{next(self.count)}", "refuse", noise=["p"]) for _ in range(self.at_once)]
        return Proposal(tuple(adding(one) for one in made))


@pytest.mark.parametrize("patches", [0, 1, 7, 30])
@pytest.mark.parametrize("at_once", [1, 4, 50])
def test_no_more_patches_are_tried_than_allowed(patches, at_once):
    result = evolve(source=Endless(at_once), settings=EvolutionSettings(patches=patches))
    assert len(result.attempts) <= patches
    if at_once >= patches:
        assert len(result.attempts) == patches


def test_patches_that_repair_are_accepted_in_the_order_that_leads_there():
    source = Scripted([adding(REFUSE_RED)], [adding(ALLOW_REST)], [adding(ALLOW_REST)])
    result = evolve(source=source)
    assert [known.id for known in result.policy.rules] == ["red", "rest"]
    assert [patch.edits[0].rules[0].id for patch in result.accepted] == ["red", "rest"]
    assert result.score.repair == result.score.macro_f1 == 1.0
    assert all(known.active for known in result.policy.rules)


def test_what_is_wrong_on_balance_changes_nothing():
    parent = evolve(source=Scripted([adding(REFUSE_RED, ALLOW_REST)])).policy
    archive = archive_of(drawn(120, law, seed=3), parent)
    edits = [
        Patch((Edit("delete", ("red",)),)),
        Patch((Edit("rewrite", ("red",), (rule("less", "refuse", colour=["unknown"]),)),)),
        adding(rule("more", "refuse", colour=["red"], size=["small"])),
    ]
    result = evolve(parent, archive, source=Scripted(edits))
    assert len(result.attempts) == 3
    assert result.accepted == ()
    assert result.picked == 0
    assert structure(result.policy) == structure(parent)
    assert result.policy.document_hash == parent.document_hash


def test_without_a_proposal_only_the_standing_changes():
    parent = Policy(WORLD, (REFUSE_RED.with_status("inactive"), WRONG))
    result = evolve(parent, source=Scripted())
    assert result.accepted == ()
    assert structure(result.policy) == structure(parent)
    assert [known.status for known in result.policy.rules] == ["active", "inactive"]


def test_rejections_are_recorded_and_told_to_the_proposer():
    clash = adding(REFUSE_RED, rule("all", "allow", size=["small"]))
    source = Scripted([clash], [adding(REFUSE_RED)])
    result = evolve(source=source)
    first, second = source.requests[:2]
    assert first.rejected == ()
    assert first.parent == second.parent == EMPTY
    ((told,),) = [second.rejected]
    assert told.patch.operations == ("add", "add")
    assert [item.code for item in told.feedback] == ["conflict"]
    assert set(told.feedback[0].rules) == {"red", "all"}
    entry = result.to_dict()["attempts"][0]
    assert (entry["verified"], entry["score"]) == (False, None)
    assert entry["feedback"][0]["witness"] == {"colour": "red", "size": "small"}
    assert [known.id for known in result.policy.rules] == ["red"]


def test_a_proposer_that_repeats_a_rejected_patch_is_not_asked_forever():
    clash = adding(REFUSE_RED, rule("all", "allow", size=["small"]))
    source = Scripted(*[[clash]] * 40)
    result = evolve(source=source)
    assert len(result.attempts) == 1  # a repetition costs nothing
    assert len(source.requests) == 2
    assert result.policy == EMPTY
    assert len(source.requests[1].rejected) == 1


GARBAGE = [
    Patch((Edit("delete", ("nobody",)),)),
    Patch((Edit("merge", ("nobody", "nothing"), (REFUSE_RED,)),)),
    Patch((Edit("rewrite", ("red",)),)),
    Patch((Edit("split", ("red",), (rule("one", "refuse", size=["small"]),)),)),
    Patch((Edit("delete", ("red", "red")),)),
    Patch((Edit("add", (), ()),)),
    Patch(()),
    adding(REFUSE_RED),  # an id that is there already
    adding(rule("", "refuse", size=["small"])),
    adding(rule("void", "allow", size=[])),
    adding(rule("every", "allow")),
    adding(rule("vacuous", "refuse", size=["small", "large", "unknown"])),
    adding(rule("clash", "allow", size=["small"])),
]


def test_garbage_cannot_break_the_policy():
    parent = Policy(WORLD, (REFUSE_RED.with_status("active"),))
    result = evolve(parent, source=Scripted(GARBAGE))
    assert len(result.attempts) == len(GARBAGE) - 1  # the empty patch is no attempt
    codes = [{item.code for item in attempt.feedback} for attempt in result.attempts]
    assert codes[:5] == [{"unknown_id"}, {"unknown_id"}, *[{"malformed"}] * 3]
    assert all(codes)
    assert structure(result.policy) == structure(parent)
    assert verify(result.policy).ok
    json.dumps(result.to_dict())


def test_a_proposer_that_fails_is_heard_and_leaves_parent_and_archive_alone():
    class Broken:
        name = "broken"

        def propose(self, request):
            raise RuntimeError("no answer")

    archive = archive_of(drawn(40, law))
    before = (EMPTY.document_hash, archive.table.sha256, archive.failed.tolist())
    with pytest.raises(RuntimeError, match="no answer"):
        evolve(archive=archive, source=Broken())
    assert (EMPTY.document_hash, archive.table.sha256, archive.failed.tolist()) == before


def test_ties_go_to_the_smaller_edit_then_to_fewer_predicates():
    archive = archive_of(rows([({"colour": "red", "size": "small", "noise": "p"}, "refuse")] * 20))
    long = adding(rule("long", "refuse", colour=["red"], size=["small"], noise=["p"]))
    mid = adding(rule("mid", "refuse", colour=["red"], size=["small"]))
    short = adding(rule("short", "refuse", colour=["red"]))
    for order in itertools.permutations([long, mid, short]):
        result = evolve(archive=archive, source=Scripted(order))
        assert [known.id for known in result.policy.rules] == ["short"]
        assert len(result.front) == 3
    # Two edits of size 5: both add a rule; one drops an idle rule, the other adds one.
    idle = rule("idle", "allow", colour=["blue"], size=["large"])
    more = rule("more", "allow", colour=["green"], size=["large"])
    parent = Policy(WORLD, (idle,))
    drop = Patch((*short.edits, Edit("delete", ("idle",))))
    add = Patch((*short.edits, Edit("add", (), (more,))))
    assert [edit_size(parent, apply(parent, patch)) for patch in (drop, add)] == [5, 5]
    for order in itertools.permutations([drop, add]):
        result = evolve(parent, archive, source=Scripted(order))
        assert [known.id for known in result.policy.rules] == ["short"]
    # The smaller edit is picked although it leaves more predicates.
    for order in itertools.permutations([drop, short]):
        result = evolve(parent, archive, source=Scripted(order))
        assert [known.id for known in result.policy.rules] == ["idle", "short"]


def test_equal_edits_with_equal_predicates_are_told_apart_by_their_hash():
    archive = archive_of(rows([({"colour": "red", "size": "small"}, "refuse")] * 20))
    one, two = rule("x", "refuse", colour=["red"]), rule("x", "refuse", size=["small"])
    expected = min((EMPTY.with_rules([made]) for made in (one, two)), key=lambda p: p.policy_hash)
    for order in ([one, two], [two, one]):
        result = evolve(archive=archive, source=Scripted([adding(made) for made in order]))
        assert result.policy.rules[0].key == expected.rules[0].key


def test_the_weight_of_lost_examples_decides_the_pick():
    pairs = [({"shape": "disc"}, "allow")] * 4
    pairs += [({"shape": "cube"}, "refuse")] * 12 + [({"shape": "rod"}, "allow")] * 30
    parent = Policy(WORLD, (rule("old", "allow", shape=["disc"]),))
    archive = archive_of(rows(pairs), parent)
    cubes, rods = rule("cubes", "refuse", shape=["cube"]), rule("rods", "allow", shape=["rod"])
    trade = Patch((Edit("rewrite", ("old",), (cubes,)), Edit("add", (), (rods,))))
    picked = {}
    for weight in (0.0, 9.0):
        settings = EvolutionSettings(scored="all", preservation=weight)
        result = evolve(parent, archive, source=Scripted([trade]), settings=settings)
        assert len(result.front) == 2
        picked[weight] = result.picked
    assert picked == {0.0: 1, 9.0: 0}


def test_greedy_goes_on_from_the_best_alone_and_pareto_from_the_whole_front():
    # Adding the rest loses nothing and repairs much; deleting trades what is kept for repairs.
    pairs = [({"colour": "red"}, "allow")] * 10 + [({"colour": "red"}, "refuse")] * 20
    parent = Policy(WORLD, (rule("old", "allow", colour=["red"]),))
    archive = archive_of(rows([*pairs, *[({"colour": "blue"}, "allow")] * 6]), parent)

    class Asking:
        name = "asking"

        def __init__(self):
            self.parents = []

        def propose(self, request):
            self.parents.append(tuple(known.id for known in request.parent.rules))
            if self.parents[-1] == ("old",) and self.parents.count(("old",)) == 1:
                trade = Patch(
                    (Edit("rewrite", ("old",), (rule("new", "refuse", colour=["red"]),)),)
                )
                return Proposal((trade, adding(rule("blue", "allow", colour=["blue"]))))
            return Proposal(())

    asked = {}
    for selection in ("greedy", "pareto"):
        asked[selection] = set()
        for seed in range(12):
            source = Asking()
            settings = EvolutionSettings(scored="all", selection=selection)
            result = evolve(parent, archive, source=source, settings=settings, seed=seed)
            assert len(result.front) == 2
            asked[selection].add(tuple(source.parents[1:]))
    best = ("old", "blue")
    assert asked["greedy"] == {(best,)}
    assert {step for steps in asked["pareto"] for step in steps} == {best, ("new",)}
    assert len(asked["pareto"]) == 2


@pytest.mark.parametrize("verdict", ["abstain", "refuse"])
def test_without_the_verifier_conflicting_policies_are_admitted(verdict):
    archive = archive_of(rows([({"colour": "red", "size": "small"}, "refuse")] * 5))
    clash = adding(rule("a", "allow", colour=["red"]), rule("b", "refuse", size=["small"]))
    settings = EvolutionSettings(scored="all", verify=verdict)
    result = evolve(archive=archive, source=Scripted([clash]), settings=settings)
    (attempt,) = result.attempts
    assert attempt.score is not None
    assert attempt.score.repair == (1.0 if verdict == "refuse" else 0.0)
    assert result.picked == (1 if verdict == "refuse" else 0)
    strict = evolve(archive=archive, source=Scripted([clash]))
    assert strict.attempts[0].score is None
    # What else is wrong with a patch is turned down all the same.
    bad = [Patch((Edit("delete", ("no",)),)), adding(rule("v", "allow", size=[]))]
    loose = evolve(archive=archive, source=Scripted(bad), settings=settings)
    assert [attempt.score for attempt in loose.attempts[:2]] == [None, None]


def test_only_supported_rules_are_scored_unless_all_are_asked_for():
    archive = archive_of(rows([({"colour": "red"}, "refuse")] * 12))
    source = [adding(REFUSE_RED)]
    everything = evolve(archive=archive, source=Scripted(source))
    assert (everything.picked, everything.score.repair) == (1, 1.0)
    assert everything.active_score.repair == 0.0  # twelve are one too few for authority
    supported = EvolutionSettings(scored="supported")
    few = evolve(archive=archive, source=Scripted(source), settings=supported)
    assert (few.picked, few.attempts[0].score.repair) == (0, 0.0)
    archive = archive_of(rows([({"colour": "red"}, "refuse")] * 13))
    enough = evolve(archive=archive, source=Scripted(source), settings=supported)
    assert (enough.picked, enough.score.repair, enough.active_score.repair) == (1, 1.0, 1.0)


def test_support_is_all_that_is_known_even_where_the_mode_counts_less():
    archive = archive_of(rows([({"colour": "red"}, "refuse")] * 13))
    result = evolve(
        archive=archive,
        source=Scripted([adding(REFUSE_RED)]),
        settings=EvolutionSettings(),
        mode="prospective",
    )
    assert (result.picked, result.score.repair) == (1, 1.0)
    assert [known.status for known in result.policy.rules] == ["inactive"]
    assert result.active_score.repair == 0.0


def test_packets_are_bounded_and_scores_are_not():
    parent = Policy(WORLD, (REFUSE_RED,))
    archive = archive_of(drawn(200, law), parent)
    source = Scripted([adding(ALLOW_REST)])
    settings = EvolutionSettings(scored="all", packet=10)
    result = evolve(parent, archive, source=source, settings=settings)
    request = source.requests[0]
    labels, colours = archive.table.labels, archive.table.codes[:, 0]
    assert len(request.repair) == len(request.keep) == 10
    assert all(colours[row] != 1 and labels[row] == 0 for row in request.repair)
    assert all(colours[row] == 1 and labels[row] == 1 for row in request.keep)
    assert list(request.repair) == sorted(set(request.repair))
    assert len(request.archive) == 200
    assert result.score == Scorer(archive, 1.0).score(result.policy.rules)
    whole = Scripted()
    evolve(parent, archive, source=whole)
    assert len(whole.requests[0].repair) + len(whole.requests[0].keep) == 200


@pytest.mark.parametrize("claimed", [None, 0, 3, 99])
def test_a_proposer_cannot_date_its_rules(claimed):
    claim = rule("red", "refuse", claimed, colour=["red"])
    result = evolve(source=Scripted([adding(claim)]), round=7, mode="prospective")
    (made,) = result.policy.rules
    assert made.provenance.round == 7
    assert made.provenance.operation == "add"
    assert made.evidence.support == 0
    assert made.status == "inactive"
    assert rebuild(EMPTY, json.loads(json.dumps(result.to_dict()))) == result.policy


@pytest.mark.parametrize("born", [None, 2])
def test_a_rename_keeps_the_evidence_and_a_rewrite_starts_as_its_mode_says(born):
    archive = Archive(WORLD)
    for number in range(1, 7):
        part = drawn(60, law, seed=number)
        archive.add(part, (part.labels * 0 - 1).astype("int8"), number)
    gate = authority("prospective")
    old = rule("red", "refuse", born, colour=["red"])
    parent = archive.judged(Policy(WORLD, (old,)), gate)
    rename = Patch((Edit("rewrite", ("red",), (rule("crimson", "refuse", 6, colour=["red"]),)),))
    grown = Patch((*rename.edits, Edit("add", (), (ALLOW_REST,))))
    result = evolve(parent, archive, source=Scripted([grown]), round=6, mode="prospective")
    renamed, added = result.policy.rules
    assert renamed.id == "crimson"
    assert renamed.evidence == parent.rules[0].evidence
    assert renamed.evidence.support > 13
    assert renamed.active
    assert (added.evidence.support, added.active) == (0, False)
    narrow = rule("red", "refuse", born, colour=["red"], size=["small"])
    rewrite = Patch((Edit("rewrite", ("red",), (narrow,)), Edit("add", (), (ALLOW_REST,))))
    fresh = evolve(parent, archive, source=Scripted([rewrite]), round=6, mode="prospective")
    assert fresh.policy.rules[0].evidence.support == 0
    paper = evolve(parent, archive, source=Scripted([rewrite]), round=6)
    small = (archive.table.codes[:, 0] == 1) & (archive.table.codes[:, 1] == 1)
    assert paper.policy.rules[0].evidence.support == int(small.sum())


def test_a_record_is_only_good_for_its_parent():
    result = evolve(source=Scripted([adding(REFUSE_RED)]))
    other = Policy(WORLD, (WRONG,))
    with pytest.raises(PolicyError, match="the record is of an update of policy"):
        rebuild(other, result.to_dict())


def test_notes_are_kept_once():
    class Noting:
        name = "noting"

        def propose(self, request):
            return Proposal((adding(REFUSE_RED),), "fields cannot tell")

    assert evolve(source=Noting()).to_dict()["notes"] == ["fields cannot tell"]


def test_an_empty_archive_is_no_trouble():
    result = update(EMPTY, Archive(WORLD), round=1, authority=authority("paper"))
    assert result.policy.document_hash == EMPTY.document_hash
    assert result.attempts == ()


def test_nothing_better_than_the_parent_changes_nothing_even_when_the_front_left_it():
    """A candidate can dominate the parent in repair and preservation and still have a lower J."""
    parent = Policy(WORLD, (rule("red", "refuse", colour=["red"]),))
    archive = archive_of(
        drawn(200, lambda e: "refuse" if "red" in e.values() or "rod" in e.values() else "allow"),
        parent,
    )
    wide = rule("wide", "refuse", colour=["green", "blue"])
    result = evolve(parent, archive, source=Scripted([adding(wide)]))
    (attempt,) = result.attempts
    assert attempt.score is not None
    assert attempt.score.dominates(result.parent_score)
    assert attempt.score.objective < result.parent_score.objective
    assert result.accepted == ()
    assert [known.id for known in result.policy.rules] == ["red"]
