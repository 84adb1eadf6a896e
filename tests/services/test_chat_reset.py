"""The chat server starts over on request: a new process on a copy of the seed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from vepa.services import Office

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def chat(nine, world_file) -> Iterator[Office]:
    with Office.start([nine["chat"]], world_file) as office:
        yield office


def parent(pid: int) -> int:
    return int((Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[1])


def servers(office: Office) -> tuple[int, int]:
    """The process that holds the port, and its server."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if f"/{office.id}/" in " ".join(words) and any(w.endswith("/serve.py") for w in words):
            found.append(int(folder.name))
    [server] = [pid for pid in found if parent(pid) in found]
    return parent(server), server


def databases(office: Office) -> list[str]:
    words = (Path("/proc") / str(servers(office)[0]) / "environ").read_text().split("\0")
    [work] = [word.partition("=")[2] for word in words if word.startswith("TMPDIR=")]
    return sorted(each.name for each in Path(work).glob("chat-*/*.db"))


def test_resets_in_a_row_leave_one_server_with_one_database(chat):
    holder, first = servers(chat)
    for _ in range(3):
        with chat.session("employee") as session:
            assert session.call("chat_send", {"room": "engineering", "text": "x"}).ok
        assert not chat.at_seed("chat")
        chat.reset()
        assert chat.at_seed("chat")
    still, last = servers(chat)
    assert still == holder
    assert last != first
    assert databases(chat) == ["4.db"]


def test_only_who_has_the_key_resets(chat):
    place = chat.endpoint("chat")
    url = f"http://{place.host}:{place.ports['http']}/_office/reset"
    before = servers(chat)
    assert httpx.post(url).status_code == 403
    assert httpx.post(url, headers={"X-Office-Key": "wrong"}).status_code == 403
    assert servers(chat) == before


def test_whoever_comes_during_a_reset_is_answered_by_the_new_server(chat):
    place = chat.endpoint("chat")
    url = f"http://{place.host}:{place.ports['http']}/_matrix/client/versions"
    with ThreadPoolExecutor(1) as pool:
        resetting = pool.submit(chat.reset, ["chat"], everything=True)
        answers = 0
        while not resetting.done():
            assert httpx.get(url, timeout=20).status_code == 200
            answers += 1
        assert resetting.result().reset == ("chat",)
    assert answers > 0


def test_a_server_that_dies_is_told(nine, world_file):
    with Office.start([nine["chat"]], world_file) as office:
        os.kill(servers(office)[1], signal.SIGKILL)
        until = time.monotonic() + 20
        while office.condition("chat").state == "running" and time.monotonic() < until:
            time.sleep(0.05)
        condition = office.condition("chat")
    assert condition.state == "failed"
