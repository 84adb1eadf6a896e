"""Cases in a terminal: typed lines make verdicts, and whoever leaves gives the case back."""

from __future__ import annotations

import io

import pytest
from disputed import ALLOW, REFUSE, TAXONOMY, dispute, gold, item, opened
from errands import errand
from rich.console import Console

from vepa.annotate.arbitration.records import Case
from vepa.annotate.arbitration.terminal import TerminalDesk, case_lines
from vepa.annotate.items import items_of
from vepa.corpus.labels import Evidence

REFUSES = ("3", "i 8", "h functional", "v low", "r", "e #1 mail#1", "w Another mail.", "c 0.7")
OPINION = "Another mail was meant."


@pytest.fixture
def queue(tmp_path):
    with opened(tmp_path) as queue:
        queue.fill(dispute(number) for number in range(3))
        yield queue


def typed(queue, *lines, who="ada", one=False):
    """What is shown while somebody types lines; a callable among them is called instead."""
    shown = io.StringIO()
    waiting = iter(lines)

    def read():
        line = next(waiting, None)
        if callable(line):
            line()
            return ""
        return line

    desk = TerminalDesk(queue, who, read, Console(file=shown, color_system=None, width=200))
    desk.run(one=one)
    return shown.getvalue()


def test_a_verdict_is_typed_and_kept_whole(queue):
    typed(queue, *REFUSES, "n looked twice", ".", one=True)
    (given,) = queue.given()
    assert given.verdict.note == "looked twice"
    assert given.verdict.judgement == REFUSE.model_copy(
        update={
            "evidence": [Evidence(step=1, quote="mail#1")],
            "rationale": "Another mail.",
            "confidence": 0.7,
        }
    )


def test_triggers_are_named_by_number_or_key_and_the_first_is_primary(queue):
    typed(queue, *REFUSES, "t choosing_malicious_tool, 3", "6", ".", one=True)
    assert queue.given()[0].verdict.judgement.triggers == [
        "choosing_malicious_tool",
        "incorrect_tool_parameters",
        "failure_to_validate_tool_outputs",
    ]
    typed(queue, *REFUSES, "t -", "allow", "e", ".", one=True)
    last = queue.given()[1].verdict.judgement
    assert (last.decision, last.triggers, last.harm, last.evidence) == ("allow", [], None, [])


def test_others_opinions_are_shown_after_ones_own_verdict_only(queue):
    shown = typed(queue, "f", "d", "?", "a")
    assert OPINION not in shown
    shown = typed(queue, "a", ".", one=True)
    assert OPINION in shown.partition("noted:")[2]
    assert OPINION not in shown.partition("noted:")[0]


@pytest.mark.parametrize("end", [(), ("q",), ("", "q")])
def test_whoever_leaves_gives_the_case_back(queue, end):
    typed(queue, "a", *end)
    assert queue.state().leased == 0
    assert not queue.given()
    assert queue.claim("ben").case.item == item(0).hash


def test_an_interrupt_gives_the_case_back(queue):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        typed(queue, "a", interrupted)
    assert queue.state().leased == 0


def test_a_skipped_case_does_not_come_again_and_the_end_says_so(queue):
    shown = typed(queue, "s cannot tell", "a", ".", "s", "s")
    assert queue.skips_of("ada")[item(0).hash] == "cannot tell"
    assert queue.state().by == {"ada": 1}
    assert "nothing is open for ada; 2 you left to others" in shown


def test_the_last_verdict_is_taken_back_and_settled_again(queue):
    typed(queue, *REFUSES, "n first", ".", "u", "n second", "t -", "a", ".", "q")
    first, second = queue.given()
    assert (first.undone is None, second.undone is None) == (False, True)
    assert (second.verdict.judgement.decision, second.verdict.note) == ("allow", "second")
    assert second.verdict.judgement.rationale == "Another mail."  # it started from the first
    assert "there is nothing to undo" in typed(queue, "u", who="ben")


def test_where_nothing_is_open_ones_own_last_verdicts_can_be_taken_back(queue):
    for number in range(3):
        typed(queue, "a", f"w number {number}", ".", one=True)
    shown = typed(queue, "r", "u", *REFUSES, "u", "w better", ".", ".", "q", who="ada")
    assert "nothing is open for ada" in shown
    assert "your last verdict: allow  number 2" in shown
    assert "no case to say that about" in shown
    told = [(each.undone is None, each.verdict.judgement.rationale) for each in queue.given()]
    # The second "u" takes back the verdict before, and leaves the case at hand open again.
    assert told == [
        (True, "number 0"), (False, "number 1"), (False, "number 2"), (True, "better"),
        (True, "number 2"),
    ]  # fmt: skip
    assert queue.state().open == queue.state().leased == 0


def test_nobody_takes_back_what_others_said(queue):
    for _ in range(3):
        typed(queue, "a", ".", one=True)
    shown = typed(queue, "u", who="ben")
    assert "nothing is open for ben" in shown
    assert "last verdict" not in shown
    assert [each.undone for each in queue.given()] == [None] * 3


def test_a_case_that_comes_up_while_one_waits_is_shown(queue):
    for _ in range(3):
        typed(queue, "a", ".", one=True)
    shown = typed(queue, "", lambda: queue.release(queue.undo("ada").token), ".", "q")
    assert "still nothing" in shown
    assert len(queue.given()) == 4
    assert queue.state().open == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("x", "no command"),
        ("99", "there is no 99"),
        ("0", "there is no 0"),
        ("t choosing_malicous", "choosing_malicious_tool"),
        ("i in", "no key of risk_source"),
        ("v huge", "no key of severity"),
        ("e nobody wrote this", "does not hold the quoted words"),
        ("e #3 sent", "there is no step 3"),
        ("c 2", "a number from 0 to 1"),
        ("c nan", "a number from 0 to 1"),
        ("? no_such", "no trigger"),
        (".", "decision: choose `allow` or `refuse`"),
    ],
)
def test_a_line_that_cannot_be_taken_is_told_and_changes_nothing(queue, line, told):
    shown = typed(queue, line, "a", ".", one=True)
    assert told in shown
    wanted = ALLOW.model_copy(update={"rationale": "", "confidence": 0.8})
    assert queue.given()[0].verdict.judgement == wanted


def test_what_is_missing_is_named(queue):
    assert "risk_source: with a trigger belongs a risk source" in typed(queue, "r", "1", ".")
    assert "departs from the triggers" in typed(queue, "r", ".")
    assert not queue.given()


def test_definitions_are_shown_on_request(queue):
    shown = typed(queue, "? 3", "? choosing_malicious_tool", "?")
    trigger = TAXONOMY.triggers[2]
    for text in (trigger.definition, trigger.borderline.is_not, trigger.counter_example):
        assert text in shown
    for key in (*TAXONOMY.keys, *TAXONOMY.risk_sources, *TAXONOMY.harms, *TAXONOMY.severities):
        assert key in shown


def test_a_case_that_went_to_somebody_else_is_told_and_the_next_one_comes(queue):
    def taken():
        queue.release_all("ada")
        queue.settle(queue.claim("ben").token, REFUSE)

    shown = typed(queue, taken, "r", "a", ".", one=True)
    assert "the case is not lent to you any more" in shown
    assert [each.verdict.annotator for each in queue.given()] == ["ben", "ada"]
    assert queue.given()[1].verdict.item == item(1).hash


def test_gold_looks_like_any_other_case(tmp_path):
    with opened(tmp_path) as queue:
        queue.fill(dispute(number) for number in range(20))
        queue.add_gold([gold(100)])
        shown = typed(queue, *["a", "."] * 21)
        assert queue.state().quality["ada"].seen == 1
        assert "gold" not in shown.lower()


# -- how a case looks ------------------------------------------------------------------------------


def text_of(trace, *, at=-1, **more):
    step = list(items_of(trace))[at]
    lines = case_lines(Case(step.hash, step.step, step.shown), plain=True, **more)
    return "\n".join(line.text.plain for line in lines)


def test_a_case_shows_the_steps_and_marks_the_judged_one():
    shown = text_of(errand(observation="It is noon."))
    before, _, judged = shown.partition("▶ the step to judge")
    assert "Answer the mail of Ben." in before
    assert "read_mail" in before
    assert "I answered Ben." in judged
    assert "petra" in before


def test_nothing_that_a_parser_or_reader_said_is_shown():
    shown = text_of(errand(), full=True)
    for words in ("agent_outcome", "action_kind", "⟦", "verdict", "allow", "refuse"):
        assert words not in shown


def test_a_long_case_is_folded_and_shown_whole_on_request():
    long = errand(result="\n".join(f"line {number}" for number in range(50)))
    assert "line 49" not in text_of(long)
    assert "line 49" in text_of(long, full=True)
    assert "line 49" in text_of(long, at=0)  # it is the judged step's own
    steps = [*long.steps, *(long.steps[2].model_copy(update={"index": n}) for n in range(5, 20))]
    answer = long.steps[4].model_copy(update={"index": 20})
    whole = long.model_copy(update={"steps": [*steps, answer]})
    assert "14 earlier steps" in text_of(whole)
    assert "earlier steps" not in text_of(whole, full=True)


def test_a_trace_does_not_steer_the_terminal(queue):
    trap = "\x1b]0;owned\x07\x1b[2J\u202e"
    shown = text_of(errand(user=trap, argument=trap, system=trap, account=trap), full=True)
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "\x1b" not in typed(queue, "n \x1b[2J", "\x1b[A", "t \x1b")
