"""What people see and do: a case, a verdict, what the others said, undo, skip, and lost claims."""

from __future__ import annotations

import re

from disputed import ALLOW, NAMED, REFUSE, Clock
from served_page import hostile_dispute, labelled_folder, served

from vepa.corpus.settled import stream_settled

#: What the annotators said about every dispute of the tests.
OTHERS = (ALLOW.rationale, REFUSE.rationale)


def test_what_the_others_said_is_hidden_until_ones_own_verdict_is_in(page):
    ada = page.person("ada")
    claim = ada.take()
    before = ada.page()
    assert not any(words in before for words in OTHERS)
    assert ada.settle(claim, rationale="My own words.").json() == {"go": "/", "who": "ada"}
    after = ada.page()
    for words in ("My own words.", *OTHERS, "Reader a", "Reader b"):
        assert words in after, words
    ben = page.person("ben")
    ben.take()
    assert not any(words in ben.page() for words in (*OTHERS, "My own words."))


def test_a_verdict_is_kept_with_who_when_and_why(page):
    ada = page.person("ada")
    ada.settle(ada.take(), note="Ask Ben.", evidence_step=["0"], evidence_quote=["mail 0 of Ben"])
    (given,) = page.queue.given()
    verdict = given.verdict
    assert (verdict.annotator, verdict.origin, verdict.note) == ("ada", "person", "Ask Ben.")
    assert (verdict.taxonomy, verdict.model, bool(verdict.at)) == (NAMED, None, True)
    judgement = verdict.judgement
    assert judgement.triggers == ["incorrect_tool_parameters", "flawed_planning_or_reasoning"]
    assert judgement.confidence == 0.7
    assert judgement.evidence[0].quote == "mail 0 of Ben"


def test_a_form_without_scripts_goes_the_same_way(page):
    ada = page.person("ada")
    answer = ada.settle(ada.take(), as_json=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert page.queue.state().settled == 1


def test_a_verdict_sent_again_is_one_verdict(page):
    ada = page.person("ada")
    claim = ada.take()
    codes = [ada.settle(claim).status_code for _ in range(3)]
    assert codes == [200, 200, 200]
    assert len(page.queue.given()) == 1
    changed = ada.settle(claim, rationale="Something else.")
    assert changed.status_code == 409
    assert page.queue.given()[0].verdict.judgement.rationale == "Another one was meant."


def test_a_wrong_form_comes_back_with_what_was_typed(page):
    ada = page.person("ada")
    claim = ada.take()
    for fields, field in (
        ({"decision": ""}, "decision"),
        ({"risk_source": ""}, "risk_source"),
        ({"harm": "gloom"}, "harm"),
        ({"trigger": []}, "rationale"),
        ({"confidence": "much"}, "confidence"),
        ({"confidence": "2"}, "confidence"),
        ({"evidence_step": ["0"], "evidence_quote": ["not there"]}, "evidence.0.quote"),
        ({"evidence_step": ["x"], "evidence_quote": ["mail"]}, "evidence.0.step"),
        ({"evidence_step": ["0", "7"], "evidence_quote": ["mail", "mail"]}, "evidence.1.step"),
    ):
        if field == "rationale":
            fields = {**fields, "rationale": "", "risk_source": "", "harm": ""}
        answer = ada.settle(claim, **fields)
        assert (answer.status_code, answer.json()["field"]) == (422, field), fields
    plain = ada.settle(claim, as_json=False, harm="", rationale="Kept & told.")
    assert plain.status_code == 422
    assert "Kept &amp; told." in plain.text
    assert 'data-field="harm"' in plain.text
    assert page.queue.given() == []


def test_undo_brings_the_case_back_with_what_was_said(page):
    ada = page.person("ada")
    ada.settle(ada.take(), rationale="Too fast.", note="Hm.")
    assert ada.send("/undo").status_code == 303
    again = ada.page()
    assert "Too fast." in again
    assert "Hm." in again
    assert re.search(r'value="refuse" required checked', again)
    assert not any(words in again for words in OTHERS)
    ada.settle(ada.claim(), rationale="Better.")
    assert [bool(each.undone) for each in page.queue.given()] == [True, False]
    assert page.queue.state().settled == 1


def test_undo_without_a_verdict_changes_nothing(page):
    ada = page.person("ada")
    assert ada.send("/undo").status_code == 303
    assert "Welcome, ada" in ada.page()


def test_a_skipped_case_is_left_to_others_and_can_come_back(page):
    ada = page.person("ada")
    first = ada.take()
    assert ada.send("/skip", claim=first, note="I know him.").status_code == 303
    for _ in range(2):
        ada.settle(ada.take())
    ada.send("/next")
    rest = ada.page()
    assert "Bring back what I skipped (1)" in rest
    assert "was skipped by you" in rest
    ada.send("/skipped")
    assert ada.settle(ada.claim()).status_code == 200
    assert "Nothing is open." in ada.page()


def test_a_lost_claim_says_so_and_keeps_what_was_typed(tmp_path):
    clock = Clock()
    with served(labelled_folder(tmp_path), clock=clock) as page:
        ada, ben = page.person("ada"), page.person("ben")
        claim = ada.take()
        assert ada.send("/renew", True, claim=claim).json()["mine"] == 0
        clock.now += 3600
        assert ben.take() != claim
        for path in ("/renew", "/settle", "/skip"):
            answer = ada.send(path, True, claim=claim, decision="allow")
            assert answer.status_code == 409, path
            assert "not lent to you" in answer.json()["error"]
        plain = ada.settle(claim, as_json=False, rationale="Long <b>thoughts</b>.")
        assert plain.status_code == 409
        assert "Long &lt;b&gt;thoughts&lt;/b&gt;." in plain.text
        assert page.queue.given() == []


def test_nobody_settles_with_somebody_elses_claim(page):
    ada, ben = page.person("ada"), page.person("ben")
    claim = ada.take()
    assert ben.settle(claim).status_code == 409
    assert ben.send("/skip", True, claim=claim).status_code == 409
    assert ada.settle(claim).status_code == 200
    assert ben.settle(claim).status_code == 409


def test_people_are_told_how_far_it_is(page):
    ada, ben = page.person("ada"), page.person("ben")
    ada.settle(ada.take())
    ben.take()
    state = ada.client.get("/state").json()
    assert state == {"total": 3, "open": 2, "leased": 1, "settled": 1, "mine": 1}
    assert '<b id="n-open">2</b> open' in ben.page()


def test_a_gold_case_looks_like_any_other(tmp_path):
    with served(labelled_folder(tmp_path, 4), golden=True) as page:
        ada = page.person("uli")  # whose second case is a gold one
        shapes = set()
        while not page.queue.state().quality:
            claim = ada.take()
            shapes.add(
                re.sub(r"\d+", "", re.sub(r'value="[0-9a-f]{32}"', "", ada.page())).count("<")
            )
            ada.settle(claim)
        assert len(shapes) == 1
        assert ada.client.get("/state").json()["mine"] == len(page.queue.given())
        assert "shown for this case" in ada.page()


def test_settled_labels_are_written_at_the_end_at_the_latest(folder):
    with served(folder) as page:
        ada = page.person("ada")
        ada.settle(ada.take())
    (settled,) = stream_settled(folder / "settled.jsonl")
    assert (settled.how, settled.by) == ("person", ["ada"])


def test_a_hostile_trace_is_only_text(tmp_path):
    with served(labelled_folder(tmp_path, 1, [hostile_dispute()])) as page:
        ada = page.person("ada")
        claim = ada.take()
        case = ada.page()
        quote = {
            "evidence_step": ["0"],
            "evidence_quote": ["‹U+202E›gnp.exe‹U+202C› zero‹U+200B›width \\x1b[2J"],
        }
        told = {"rationale": "<script>alert(1)</script>", "note": "</textarea><script>x</script>"}
        wrong = ada.settle(claim, as_json=False, **told, harm="")
        assert wrong.status_code == 422
        assert ada.settle(claim, **told, **quote).status_code == 200, "as it is spelled out"
        after = ada.page()
        for text in (case, wrong.text, after):
            assert "&lt;script&gt;alert(1)" in text
            assert "<script>" not in text
            assert "<img" not in text
            assert " onmouseover='" not in text
            assert "{{ 7*7 }}" in text
            assert not set(text) & set("\u202e\u202c\u200b\x1b")
            assert "‹U+202E›gnp.exe" in text
            assert text.count("<form") == text.count("</form>")
        assert "more signs" in case
        (given,) = page.queue.given()
        assert given.verdict.judgement.evidence[0].quote.startswith("\u202egnp.exe")


def test_the_scripts_write_no_markup_and_ask_nobody_else(page):
    text = page.person("ada").client.get("/assets/desk.js").text
    text += page.client().get("/assets/login.js").text
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "http:"):
        assert word not in text, word
