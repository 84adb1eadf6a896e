"""A person in the loop: a run goes on from an edited policy, and the edit is part of its record."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_runs import PROFILE, SmallProject, products, work_off

from vepa.bench.prequential import Prequential
from vepa.bench.runs import stages
from vepa.bench.runs.adopting import Adoption, adopt, rounds_done, withdraw
from vepa.bench.runs.interventions import POINTER
from vepa.bench.runs.run import Run, open_run, plan
from vepa.errors import InputError, RunError, SettingError, UnitMismatchError, VerificationError
from vepa.evolution import rebuild, update
from vepa.evolution.proposers.base import Proposal, Request
from vepa.policy import Edit, Patch, Policy, Provenance, Rule
from vepa.policy.matching import CompiledPolicy
from vepa.policy.rule import Predicate, RuleDecision
from vepa.policy.schema import bits
from vepa.policy.verifier import verify
from vepa.project import Project

WHO = {"by": "Ada", "reason": "an injection is <b>never</b> followed", "when": "2026-11-30T12:00Z"}


@pytest.fixture(scope="module")
def stopped(make_project: Callable[..., SmallProject]) -> SmallProject:
    """A project whose run stopped after round 3 of 5; look, do not touch."""
    project = make_project(PROFILE.replace("[hoeffding, lookup]", "[lookup]"))
    folder = project.begin()
    for number in (1, 2, 3):
        stages.play_round(folder, number)
    return project


@pytest.fixture
def project(stopped: SmallProject, tmp_path: Path) -> SmallProject:
    """Such a project to work on."""
    shutil.copytree(stopped.folder, tmp_path / "project")
    return SmallProject(tmp_path / "project")


def run_of(project: SmallProject) -> Run:
    return plan(Project(project.folder), "small", artifacts=project.folder / "artifacts")


def current(run: Run) -> Policy:
    return run.policy_in(run.deciding(rounds_done(run) + 1))


def beside(run: Run, policy: Policy, decision: RuleDecision, name: str) -> Rule:
    """A rule that clashes with none of a policy, and that no event of the run says anything about.

    Made to measure: what the policy has learned by then is no matter of these tests.
    """
    table, masks = run.stream.table, list(policy.schema.full)
    for rule in policy.rules:
        if rule.decision != decision:
            apart = (at for at, mask in enumerate(masks) if mask & ~rule.masks[at])
            at = next(apart)
            masks[at] &= ~rule.masks[at]
    matching = np.ones(len(table), dtype=bool)
    for at, mask in enumerate(masks):
        columns = table.codes[:, at]
        matching &= [bool(mask >> int(code) & 1) for code in columns]
        if matching.any():
            rarest = min(bits(mask), key=lambda code: int((columns[matching] == code).sum()))
            masks[at] = 1 << rarest
            matching &= columns == rarest
    assert not matching.any()
    return Rule.from_masks(policy.schema, name, decision, masks)


def with_mine(run: Run, policy: Policy, name: str = "by-hand") -> Policy:
    return policy.with_rules([*policy.rules, beside(run, policy, "refuse", name)])


def handed_in(run: Run, policy: Policy, **more: Any) -> Adoption:
    return adopt(run, policy.to_yaml(), "edited.yaml", **{**WHO, **more})


def everything(project: SmallProject) -> dict[str, bytes]:
    runs = project.folder / "artifacts" / "runs"
    files = (path for path in sorted(runs.rglob("*")) if path.is_file() and path.name != ".lock")
    return {path.relative_to(runs).as_posix(): path.read_bytes() for path in files}


def test_a_run_goes_on_as_if_it_had_begun_round_4_with_the_edited_policy(
    project: SmallProject,
) -> None:
    run = run_of(project)
    before = products(run.folder)
    found = handed_in(run, with_mine(run, current(run)))
    edited = run_of(project)
    assert edited.id == found.run.id != run.id
    assert products(run.folder) == before | {POINTER: (run.folder / POINTER).read_bytes()}
    assert edited.missing == ["round-004", "round-005", "baseline-lookup", "summary", "report"]
    work_off(project.begin())
    assert edited.finished

    loop = Prequential(run.stream, run.gate, run.profile.evolution)
    for _ in range(3):
        loop.advance()
    start = edited.policy_in(edited.deciding(4))
    assert [rule.id for rule in start.rules] == [*(r.id for r in loop.current.rules), "by-hand"]
    loop.intervene(start)
    for number in (4, 5):
        outcome = loop.advance()
        assert edited.policy(number).document_hash == outcome.after.document_hash
        assert edited.record(number) == outcome.record
    assert edited.record(4)["parent"] == start.policy_hash

    frame = pl.read_parquet(edited.folder / "decisions" / "round-004.parquet")
    assert set(frame["policy_hash"]) == {CompiledPolicy(start).policy_hash}


def test_the_edit_is_provenance_and_all_is_rebuilt_from_the_records(project: SmallProject) -> None:
    run = run_of(project)
    parent = current(run)
    first = parent.rules[0]
    free = next(name for name in parent.schema.names if name not in first.when)
    narrower = {**first.when, free: Predicate("in", ("unknown",))}
    rewritten = Rule.build(parent.schema, first.id, first.decision, narrower)
    found = handed_in(run, with_mine(run, parent.with_rules([rewritten, *parent.rules[1:]])))
    work_off(project.begin())
    edited = open_run(found.run.folder)
    record = found.intervention.record
    assert [edit["operation"] for edit in record["accepted"][0]["edits"]] == ["rewrite", "add"]
    assert (record["parent"], record["by"]) == (parent.policy_hash, "Ada")

    policy = edited.policy(0)
    for number in range(1, 6):
        policy = rebuild(policy, edited.record(number))
        assert policy.document_hash == edited.policy(number).document_hash
        for each in edited.edits(number):
            policy = rebuild(policy, each.record)
            by_id = policy.by_id
            assert by_id["by-hand"].provenance == Provenance(3, "add", (), "person")
            assert by_id[first.id].provenance == Provenance(3, "rewrite", (first.id,), "person")
            assert policy.document_hash == edited.policy_in(each.file).document_hash

    page = (edited.folder / "report.html").read_text()
    section = page[page.index('id="edits"') : page.index('id="risk"')]
    for told in ("After round 3", "Ada", "2026-11-30T12:00Z", "by-hand", "<b>rewrite</b>"):
        assert told in section
    assert "&lt;b&gt;never&lt;/b&gt;" in section
    told = stages.read_summary(edited.folder)["interventions"]
    assert told == [{"after": 3, **WHO, "edits": {"rewrite": 1, "add": 1}}]


def spoilt(text: str, mine: Rule, what: str) -> str:
    def more(decision: str, when: Any) -> str:
        return text + "- " + json.dumps({"id": "x", "decision": decision, "when": when}) + "\n"

    same = mine.to_dict()["when"]
    return {
        "conflict": more("allow", same),
        "value": more("refuse", {"injection": {"in": ["swallowed"]}}),
        "unit": text.replace("unit: trajectory", "unit: step"),
        "yaml": text + "]",
        "shape": more("deny", same),
        "schema": text.replace("sha256: ", "sha256: 00"),
    }[what]


@pytest.mark.parametrize(
    ("what", "kind", "code"),
    [
        ("conflict", VerificationError, "conflict"),
        ("value", VerificationError, "unknown_value"),
        ("unit", UnitMismatchError, None),
        ("yaml", InputError, None),
        ("shape", VerificationError, "malformed"),
        ("schema", VerificationError, "schema_mismatch"),
    ],
)
def test_what_the_verifier_rejects_touches_nothing(
    stopped: SmallProject, what: str, kind: type[InputError], code: str | None
) -> None:
    run, before = run_of(stopped), everything(stopped)
    policy = with_mine(run, current(run))
    text = spoilt(policy.to_yaml(), policy.by_id["by-hand"], what)
    with pytest.raises(kind) as caught:
        adopt(run, text, "edited.yaml", **WHO)
    assert caught.value.where.file == "edited.yaml"
    assert caught.value.where.line
    assert caught.value.remedy
    if code:
        assert isinstance(caught.value, VerificationError)
        assert caught.value.feedback[0].code == code
    assert everything(stopped) == before


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"after": 4}, "3 of 5 rounds"),
        ({"after": 0}, "after round 1 to 4"),
        ({"by": " "}, "--by"),
        ({"reason": "two\nlines"}, "--reason"),
    ],
)
def test_what_cannot_be_adopted_says_why(
    stopped: SmallProject, more: dict[str, Any], told: str
) -> None:
    run, before = run_of(stopped), everything(stopped)
    with pytest.raises(SettingError, match=told):
        handed_in(run, with_mine(run, current(run)), **more)
    with pytest.raises(InputError, match="nothing was edited"):
        handed_in(run, current(run))
    assert everything(stopped) == before


class Stubborn:
    """Proposes an `allow` where a person refuses, alone and in its place; then one beside it."""

    name = "stubborn"

    def __init__(self, run: Run):
        self.run = run

    def propose(self, request: Request) -> Proposal:
        parent = request.parent
        if request.turn > 1:
            return Proposal(())
        over = replace(parent.by_id["by-hand"], id="over", decision="allow")
        apart = beside(self.run, parent, "allow", "apart")
        instead = Edit("rewrite", ("by-hand",), (replace(over, id="instead"),))
        edits = (Edit("add", (), (over,)), instead, Edit("add", (), (apart,)))
        return Proposal(tuple(Patch((edit,)) for edit in edits))


def test_the_verifier_holds_the_next_update_to_what_a_person_wrote(project: SmallProject) -> None:
    run = run_of(project)
    found = handed_in(run, with_mine(run, current(run)))
    loop = found.run.replayed(3)
    assert not loop.current.by_id["by-hand"].active, "it binds whether it may decide or not"
    source = Stubborn(run)
    loop.evolve = lambda *given, **known: update(*given, **known, source=source)
    outcome = loop.advance()
    over, instead, apart = outcome.record["attempts"]
    for attempt, name in ((over, "over"), (instead, "instead")):
        assert not attempt["verified"]
        assert [item["code"] for item in attempt["feedback"]] == ["conflict"]
        assert set(attempt["feedback"][0]["rules"]) == {name, "by-hand"}
    assert apart["verified"]
    assert "by-hand" in outcome.after.by_id
    assert "over" not in outcome.after.by_id

    work_off(project.begin())
    for number in (4, 5):
        policy = open_run(found.run.folder).policy(number)
        assert verify(policy).ok
        assert "by-hand" in policy.by_id, "only a person takes it out"


def test_a_file_gives_no_authority_and_a_held_rule_gets_none(project: SmallProject) -> None:
    run = run_of(project)
    parent = current(run)
    strong = next(rule for rule in parent.rules if rule.active)
    down = replace(strong, status="inactive")
    rules = [down if rule is strong else rule for rule in parent.rules]
    policy = with_mine(run, parent.with_rules(rules))
    assert policy.by_id["by-hand"].active, "so says the file"
    found = handed_in(run, policy)
    remarks = {row["rule"]: row["about"] for row in found.intervention.record["remarks"]}
    assert remarks == {strong.id: "held", "by-hand": "status"}
    adopted = found.run.policy_in(found.run.deciding(4))
    assert not adopted.by_id["by-hand"].active
    assert adopted.by_id[strong.id].evidence == strong.evidence, "which made it active"
    work_off(project.begin())
    for number in (4, 5):
        later = [rule for rule in found.run.policy(number).rules if rule.key == strong.key]
        assert [(rule.id, rule.held, rule.active) for rule in later] == [(strong.id, True, False)]

    free = adopted.with_rules(replace(rule, held=False) for rule in adopted.rules)
    let_go = handed_in(found.run, free, after=3)
    assert let_go.again == (4, 5)
    assert let_go.run.policy_in(let_go.run.deciding(4)).by_id[strong.id].active
    assert [each.after for each in let_go.run.interventions] == [3, 3]
    work_off(project.begin())
    assert let_go.run.finished
    assert found.run.finished, "the run before stays as it was"


def test_rounds_that_are_done_are_not_thrown_away(project: SmallProject) -> None:
    run = run_of(project)
    before = products(run.folder)
    found = handed_in(run, with_mine(run, run.policy(2)), after=2)
    assert found.again == (3,)
    assert products(run.folder) == before | {POINTER: (run.folder / POINTER).read_bytes()}
    stages.play_round(found.run.folder, 3)
    with pytest.raises(SettingError, match="after round 2 already, which would be lost"):
        handed_in(found.run, with_mine(run, found.run.policy(1), "other"), after=1)
    assert handed_in(found.run, with_mine(run, run.policy(2)), after=2).known

    without, last = withdraw(run)
    assert (without.id, last.after) == (run.id, 2)
    assert run_of(project).id == run.id
    assert run_of(project).missing[0] == "round-004"
    with pytest.raises(SettingError, match="no policy of"):
        withdraw(run)


def test_whatever_is_lost_is_made_again_or_said(project: SmallProject) -> None:
    run = run_of(project)
    found = handed_in(run, with_mine(run, current(run)))
    work_off(project.begin())
    made = products(found.run.folder)
    (found.run.folder / found.intervention.file).unlink()
    assert found.run.missing == ["edit-001"]
    work_off(project.begin())
    assert products(found.run.folder) == made
    shutil.rmtree(found.run.folder)
    work_off(project.begin())
    assert products(found.run.folder) == made
    (run.folder / POINTER).write_text("{")
    with pytest.raises(RunError, match="remedy: restore it"):
        run_of(project)


def test_killed_at_any_moment_nothing_is_half_adopted(project: SmallProject) -> None:
    run = run_of(project)
    before = products(run.folder)
    policy = with_mine(run, run.policy(1))
    for moment in range(1, 40):
        child = os.fork()
        if child == 0:
            try:
                _die_at(moment)
                handed_in(run, policy, after=1)
                os._exit(0)
            finally:
                os._exit(1)
        ended = os.waitpid(child, 0)[1]
        if ended == 0:
            break
        assert os.WTERMSIG(ended) == signal.SIGKILL
        assert run_of(project).id == run.id
        assert products(run.folder) == before
    assert moment > 6, "there were moments to be killed at"
    found = handed_in(run, policy, after=1)
    assert found.known
    assert run_of(project).id == found.run.id
    work_off(project.begin())
    assert found.run.finished


def _die_at(moment: int) -> None:
    """Let this process be killed just before its nth file gets its name."""
    left = [moment]
    real = os.replace

    def replace_or_die(*given: Any, **known: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given, **known)

    os.replace = replace_or_die
