"""The page in a real browser: two people, a keyboard each, and everything that can break."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from chromium import Browser, chromium, opened
from page_user import Typist
from served_page import hostile_dispute, labelled_folder, served

from vepa.corpus.settled import stream_settled

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        yield found


@contextmanager
def process(folder: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the link that it prints."""
    command = [sys.executable, "-m", "vepa", "arbitrate", "serve", str(folder)]
    running = subprocess.Popen(
        [*command, "--panel", "panel.demo.yaml", "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        link = running.stdout.readline().strip()
        assert "/login#" in link
        yield running, link
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def test_two_people_settle_twenty_cases_while_a_browser_and_the_server_are_killed(tmp_path):
    folder = labelled_folder(tmp_path, 20)
    with ExitStack() as stack:
        ben = Typist(stack.enter_context(opened()), "ben")
        server, link = stack.enter_context(process(folder))
        port = int(link.partition("/login#")[0].rpartition(":")[2])
        ben.log_in(link)
        with opened() as doomed:
            ada = Typist(doomed, "ada")
            ada.log_in(link)
            for number in range(4):
                ada.finish(number)
                ben.finish(number)
            ada.take()
            ada.judge(1)
            held = ada.browser.evaluate("document.getElementById('verdict').dataset.item")
            doomed.process.kill()
        ada = Typist(stack.enter_context(opened()), "ada")
        ada.log_in(link)
        ada.wait_for("case")
        assert ada.browser.evaluate("document.getElementById('verdict').dataset.item") == held
        ada.judge(5)
        ada.settle()
        ada.wait_for("rest")

        # The server dies between the keystroke and the answer.
        ben.take()
        ben.judge(7)
        server.kill()
        server.wait()
        ben.settle()
        ben.until("document.getElementById('message').textContent.includes('does not answer')")
        again, link = stack.enter_context(process(folder, port))
        ben.until("document.getElementById('again').open")
        ben.type(link)
        ben.press("Enter")
        ben.wait_for("rest")
        assert "Case 7 of ben." in ben.seen()
        ada.log_in(link)
        number = 8
        while "Nothing is open" not in ada.seen():
            for person in (ada, ben):
                person.until("document.body.dataset.state === 'ready'")
                if person.browser.evaluate("!!document.getElementById('next-button')"):
                    person.press("n")
                    person.until(
                        "document.body.dataset.state === 'ready' && (document.body.dataset.view"
                        " === 'case' || document.body.innerText.includes('lent to others')"
                        " || document.body.innerText.includes('Nothing is open'))"
                    )
                if person.browser.evaluate("document.body.dataset.view") == "case":
                    person.judge(number)
                    person.settle()
                    person.wait_for("rest")
                    number += 1
        again.send_signal(signal.SIGINT)
        assert again.wait(30) == 0

    database = sqlite3.connect(folder / "queue.sqlite")
    rows = database.execute("SELECT item, who, undone FROM verdicts").fetchall()
    open_ = database.execute("SELECT COUNT(*) FROM leases").fetchone()[0]
    database.close()
    assert len(rows) == 20
    assert len({item for item, _, _ in rows}) == 20, "nothing twice, nothing lost"
    assert {undone for _, _, undone in rows} == {None}
    assert {who for _, who, _ in rows} == {"ada", "ben"}
    assert open_ == 0
    settled = list(stream_settled(folder / "settled.jsonl"))
    assert [each.how for each in settled] == ["person"] * 20
    said = [each.judgement for each in settled]
    assert sum(each.decision == "allow" for each in said) >= 4
    assert all(each.evidence for each in said if each.decision == "refuse")


class Foreign(BaseHTTPRequestHandler):
    """A page of somebody else, which tries to decide for the person who looks at it."""

    target = ""

    def do_GET(self) -> None:
        page = f"""<!DOCTYPE html><title>waiting</title>
        <form id="f" method="post" action="{self.target}/next" target="frame"></form>
        <iframe name="frame"></iframe>
        <script>
        const post = (path, mode) => fetch("{self.target}" + path, {{method: "POST", mode,
          credentials: "include", body: new URLSearchParams({{claim: "x"}})}}).catch(() => null);
        const read = fetch("{self.target}/", {{credentials: "include"}})
          .then((answer) => answer.text(), () => "refused");
        document.getElementById("f").submit();
        Promise.all([post("/next", "no-cors"), post("/undo", "cors"), read])
          .then((found) => {{ document.title = "done " + found[2]; }});
        </script>"""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_foreign_page_in_the_same_browser_is_refused(browser, tmp_path):
    with served(labelled_folder(tmp_path)) as page:
        ada = Typist(browser, "ada")
        ada.log_in(page.server.links[""])
        ada.finish(1)
        before = len(page.told)
        Foreign.target = page.base
        with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as other:
            threading.Thread(target=other.serve_forever, daemon=True).start()
            # Another port of the same host: to a cookie that is the same site.
            ada.open(f"http://127.0.0.1:{other.server_address[1]}/")
            ada.until("document.title.startsWith('done')")
            assert browser.evaluate("document.title") == "done refused"
            other.shutdown()
        told = page.told[before:]
        assert len([line for line in told if " 403 " in line]) >= 3, told
        state = page.queue.state()
        assert (state.settled, state.leased) == (1, 0)


def test_a_wrong_token_is_refused(browser, tmp_path):
    with served(labelled_folder(tmp_path)) as page:
        ada = Typist(browser, "ada")
        ada.open(f"{page.base}/login#{'x' * 32}")
        ada.until("document.getElementById('token')?.value.length > 20")
        assert browser.evaluate("location.hash") == "", "it does not stay in the bar"
        browser.evaluate("document.getElementById('name').value = ''")
        ada.type("ada")
        ada.press("Enter")
        ada.until("document.querySelector('.error')?.textContent.includes('opens nothing')")
        ada.open(page.base)
        ada.until("document.getElementById('token')")
        assert "Answer mail" not in ada.seen()


def test_keys_for_all_that_the_form_holds(browser, tmp_path):
    with served(labelled_folder(tmp_path)) as page:
        ada = Typist(browser, "ada")
        ada.log_in(page.server.links[""])
        browser.messages.clear()
        ada.take()
        assert browser.evaluate("document.activeElement.id") == "judged"
        ada.press("Enter")
        ada.until("document.getElementById('message').textContent.includes('choose')")
        chosen = "[...document.querySelectorAll('[name=trigger]:checked')].map(e => e.value)"
        primary = "document.querySelector('[name=primary]:checked')?.value"
        triggers = page.queue.taxonomy.keys
        ada.press("r", "5", "0")
        ada.press("4", shift=True)
        assert browser.evaluate(chosen) == [triggers[4], triggers[9], triggers[13]]
        assert browser.evaluate(primary) == triggers[4]
        ada.press("p")
        assert browser.evaluate(primary) == triggers[9]
        ada.press("0", "5")
        assert browser.evaluate(primary) == triggers[13]
        ada.press("t")
        ada.type("wrong nothing")
        ada.press("Escape", "t")
        browser.evaluate("document.getElementById('filter').value = ''")
        ada.type("parameters")
        ada.press("Enter")
        assert browser.evaluate(chosen) == [triggers[2], triggers[13]]
        ada.press("d")
        assert browser.evaluate(f"document.querySelector('[data-key={triggers[2]}] .about').open")
        sure = "document.getElementById('field-confidence').value"
        ada.press("-", "-", "+")
        assert browser.evaluate(sure) == "0.75"
        ada.press("k")
        assert browser.evaluate("document.activeElement.dataset.step") == "0"
        ada.press("x")
        browser.evaluate(
            "getSelection().setBaseAndExtent(getSelection().anchorNode, 0,"
            " getSelection().anchorNode.firstChild ?? getSelection().anchorNode, 6)"
        )
        ada.press("e")
        quotes = "[...document.querySelectorAll('[name=evidence_quote]')].map(e => e.value)"
        assert browser.evaluate(quotes)[0] == "Answer"
        assert browser.evaluate("CSS.highlights.get('own').size") == 1
        ada.press("m")
        ada.type("a note, and n is only a letter here")
        ada.press("Escape")
        ada.press("?")
        assert browser.evaluate("document.getElementById('help').open")
        ada.press("Escape")
        ada.press("b")
        assert "Should a guard" in browser.evaluate("document.getElementById('codebook').innerText")
        ada.press("Escape")
        # What was typed outlives a reload.
        browser.call("Page.reload")
        ada.until("document.body.dataset.state === 'ready'")
        assert browser.evaluate(chosen) == [triggers[2], triggers[13]]
        assert browser.evaluate(quotes)[0] == "Answer"
        assert browser.evaluate(sure) == "0.75"
        ada.press("i", *"inh", "Enter", "h", *"func", "Enter", "Enter")
        ada.wait_for("rest")
        for words in ("Reader a", "An ordinary step.", "a note, and n"):
            assert words in ada.seen()
        ada.press("u")
        ada.wait_for("case")
        assert browser.evaluate(chosen) == [triggers[2], triggers[13]]
        assert browser.evaluate(primary) == triggers[13]
        ada.press("s")
        ada.wait_for("rest")
        assert page.queue.state().settled == 0
        assert page.queue.skipped("ada") == 1
        # Chromium calls every refusal of the server an error; nothing else may stand there.
        assert not [text for text in browser.messages if "status of 422" not in text]
        asked = [url for url in browser.requests if not url.startswith(page.base)]
        assert not [url for url in asked if url.startswith("http")]


def test_a_lost_case_is_told_and_what_was_typed_stays(browser, tmp_path):
    with served(labelled_folder(tmp_path)) as page:
        ada = Typist(browser, "ada")
        ada.log_in(page.server.links[""])
        ada.take()
        ada.judge(1)
        claim = browser.evaluate("document.querySelector('[name=claim]').value")
        page.queue.release(claim)
        ada.settle()
        ada.until("document.getElementById('message').textContent.includes('not lent to you')")
        rationale = "document.getElementById('field-rationale').value"
        assert browser.evaluate(rationale) == "Case 1 of ada."
        ada.press("Escape", "n")
        ada.until(f"document.querySelector('[name=claim]')?.value !== '{claim}'")
        ada.wait_for("case")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(browser, tmp_path, width, dark):
    with served(labelled_folder(tmp_path, 1, [hostile_dispute()])) as page:
        ada = Typist(browser, "ada")
        ada.open(page.base, width=width, dark=dark)
        ada.until("document.documentElement.scrollWidth > 0")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        ada.log_in(page.server.links[""], width=width, dark=dark)
        for step in (ada.take, lambda: ada.finish_here(2)):
            step()
            browser.evaluate(
                "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
            )
            for box in ("document.documentElement", "document.querySelector('#steps')"):
                assert browser.evaluate(f"{box}.scrollWidth") <= width, box
            small = browser.evaluate(
                "[...document.querySelectorAll('body *')].filter(e => e.innerText)"
                ".map(e => parseFloat(getComputedStyle(e).fontSize)).sort((a, b) => a - b)[0]"
            )
            assert small >= 10
        back, ink = (
            browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
            for name in ("backgroundColor", "color")
        )
        assert (sum(back[:3]) < sum(ink[:3])) == dark
        assert browser.evaluate("document.querySelectorAll('img, iframe, script').length") == 1


def test_it_works_by_touch(browser, tmp_path):
    with served(labelled_folder(tmp_path)) as page:
        ada = Typist(browser, "ada")
        ada.log_in(page.server.links[""], width=360)

        def tap(selector: str) -> None:
            browser.evaluate(
                f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                " e.scrollIntoView({block: 'center'}); })()"
            )
            x, y = browser.evaluate(
                f"(() => {{ const r = document.querySelector({json.dumps(selector)})"
                ".getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
            )
            for kind in ("mousePressed", "mouseReleased"):
                browser.call(
                    "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
                )

        tap("#next-button")
        ada.wait_for("case")
        browser.evaluate(
            "getSelection().selectAllChildren(document.querySelector('#judged .quotable'))"
        )
        tap("#quote-thumb")
        assert browser.evaluate("document.querySelector('[name=evidence_quote]').value")
        tap(".thumb .allow")
        tap("#settle")
        ada.wait_for("rest")
        assert page.queue.state().settled == 1


def test_it_works_without_scripts(browser, tmp_path):
    with served(labelled_folder(tmp_path)) as page:
        ada = Typist(browser, "ada")
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            ada.open(f"{page.base}/login")
            ada.until("document.getElementById('name')")
            for field, text in (("name", "ada"), ("token", page.token)):
                browser.evaluate(f"document.getElementById('{field}').focus()")
                ada.type(text)
            ada.press("Enter")
            ada.until("document.getElementById('next-button')")
            browser.evaluate("document.getElementById('next-button').focus()")
            ada.press("Enter")
            ada.until("document.getElementById('verdict')")
            assert (
                browser.evaluate(
                    "getComputedStyle(document.getElementById('quote-button').parentElement).display"
                )
                == "none"
            )
            browser.evaluate("document.getElementById('d-allow').click()")
            browser.evaluate("document.getElementById('settle').focus()")
            ada.press("Enter")
            ada.until("document.body.innerText.includes('What was said about your last case')")
        finally:
            browser.call("Emulation.setScriptExecutionDisabled", value=False)
        assert page.queue.state().settled == 1
