"""An arbitration page on a free loopback port, and people who use it without a browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from disputed import ALLOW, REFUSE, RULES, dispute, gold, item, label, opened
from errands import errand

from vepa.annotate.arbitration.page.limits import Limits
from vepa.annotate.arbitration.page.server import PageServer, Settings
from vepa.annotate.arbitration.queue import ArbitrationQueue
from vepa.annotate.arbitration.records import Dispute
from vepa.annotate.items import items_of
from vepa.corpus.labels import Judgement, write_labels

__all__ = ["REFUSAL", "Person", "Served", "caller", "hostile_dispute", "labelled_folder", "served"]

#: A verdict as the form sends it; `claim` is added.
REFUSAL = {
    "decision": "refuse",
    "trigger": ["incorrect_tool_parameters", "flawed_planning_or_reasoning"],
    "primary": "incorrect_tool_parameters",
    "risk_source": "inherent_agent_failures",
    "harm": "functional_and_opportunity_harm",
    "severity": "low",
    "confidence": "0.7",
    "rationale": "Another one was meant.",
    "note": "",
}


def labelled_folder(folder: Path, disputes: int = 3, extra: Sequence[Dispute] = ()) -> Path:
    """The folder of an annotation whose queue holds some disputes."""
    folder.mkdir(parents=True, exist_ok=True)
    write_labels(
        folder / "labels.jsonl",
        [
            label(item(number), who, said)
            for number in range(disputes)
            for who, said in (("a", ALLOW), ("b", REFUSE))
        ]
        + [each for one in extra for each in one.labels],
    )
    with opened(folder) as queue:
        queue.fill([*extra, *(dispute(number) for number in range(disputes))])
    return folder


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> \" onmouseover='x' {{ 7*7 }} {% raw %} "
    "\u202egnp.exe\u202c zero\u200bwidth \x1b[2J </textarea></form>"
)


def hostile_dispute() -> Dispute:
    """A dispute about a trace in which every text means harm."""
    places = ("description", "observation", "thought", "tool", "argument", "error", "speaker")
    words = dict.fromkeys((*places, "key", "written", "system", "offered", "result"), HOSTILE)
    trace = errand("bad", **words, user=HOSTILE + "A" * 300_000)
    step = list(items_of(trace))[-1]
    said = Judgement(decision="allow", rationale=HOSTILE, confidence=0.5)
    return Dispute(
        trajectory=step.trajectory,
        step=step.step,
        item=step.hash,
        shown=step.shown,
        reasons=["decision"],
        labels=[label(step, HOSTILE, said), label(step, "b", REFUSE)],
    )


def caller(base: str) -> httpx.Client:
    """A client that says it comes from the page; without certificates, which take long to load."""
    return httpx.Client(base_url=base, headers={"origin": base}, trust_env=False, verify=False)


class Served:
    """A running page.

    Attributes
    ----------
    told
        What stands in the log.
    """

    def __init__(self, server: PageServer, queue: ArbitrationQueue, told: list[str]):
        self.server = server
        self.queue = queue
        self.told = told
        self.base = f"http://127.0.0.1:{server.port}"
        self.token = next(iter(server.door.tokens.values()))
        self.clients: list[httpx.Client] = []

    def client(self) -> httpx.Client:
        """One that says it comes from the page; closed with the server."""
        client = caller(self.base)
        self.clients.append(client)
        return client

    def person(self, name: str, token: str | None = None) -> Person:
        client = self.client()
        given = {"name": name, "token": token or self.token}
        answer = client.post("/login", data=given)
        assert answer.status_code == 303, answer.text
        return Person(client)


class Person:
    """Somebody who is logged in, and sends what the forms of the page send."""

    def __init__(self, client: httpx.Client):
        self.client = client

    def page(self) -> str:
        answer = self.client.get("/")
        assert answer.status_code == 200
        return answer.text

    def take(self) -> str:
        """Take the next case; its claim."""
        assert self.send("/next").status_code == 303
        return self.claim()

    def claim(self) -> str:
        found = re.search(r'name="claim" value="([0-9a-f]+)"', self.page())
        assert found, "no case is lent"
        return found[1]

    def send(self, path: str, as_json: bool = False, **fields: Any) -> httpx.Response:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if as_json:
            headers["accept"] = "application/json"
        return self.client.post(path, data=fields, headers=headers)

    def settle(self, claim: str, as_json: bool = True, **fields: Any) -> httpx.Response:
        return self.send("/settle", as_json, **{**REFUSAL, **fields}, claim=claim)


@contextmanager
def served(
    folder: Path,
    *,
    limits: Limits | None = None,
    people: Sequence[str] = (),
    golden: bool = False,
    clock: Callable[[], float] | None = None,
) -> Iterator[Served]:
    """The page of a folder, in a thread of its own."""
    told: list[str] = []
    more = {"clock": clock} if clock else {}
    with opened(folder, **more) as queue:
        if golden:
            queue.add_gold([gold(900 + number) for number in range(3)])
        settings = Settings(people=people, taken=["a", "b"], limits=limits or Limits())
        server = PageServer(folder, queue, RULES, settings, told.append)
        thread = threading.Thread(target=server.run)
        thread.start()
        running = Served(server, queue, told)
        try:
            yield running
        finally:
            for client in running.clients:
                client.close()
            server.stop()
            thread.join(30)
        assert not thread.is_alive()
