"""The webdav driver against the real WsgiDAV, and against servers that misbehave."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from vepa.errors import InputError
from vepa.services.drivers import Caller, Deadline, Endpoint, Unreachable
from vepa.services.drivers.webdav import WebdavDriver

pytestmark = pytest.mark.integration

SERVICES = ["files"]


@pytest.fixture
def ask(office, connection):
    """Send one request as an account."""
    driver = WebdavDriver({"port": "http"}, office.endpoint("files"))

    def send(account="admin", seconds=10.0, **request):
        return driver.request(request, connection.caller(account), Deadline.after(seconds))

    yield send
    driver.close()


def test_a_file_is_written_read_and_removed(ask):
    text = "ä line\r\nand another\n"
    written = ask(do="write", path="/Team/a b.md", text=text)
    assert written.data == {"path": "/Team/a b.md", "size": 21, "created": True}
    assert ask(do="read", path="/Team/a b.md").text == text
    assert ask(do="write", path="/Team/a b.md", text="").data["created"] is False
    assert ask(do="read", path="/Team/a b.md").data == ""
    assert ask(do="delete", path="/Team/a b.md").ok
    assert ask(do="exists", path="/Team/a b.md").data is False


@pytest.mark.parametrize(
    "name", ["100% sure?.md", "a#b.md", "%41.md", "Ünïcode-日本.txt", "a+b & c;d.md"]
)
def test_odd_names_are_just_names(ask, name):
    path = f"/Team/{name}"
    assert ask(do="write", path=path, text=name).ok
    assert ask(do="read", path=path).text == name
    assert path in [each["path"] for each in ask(do="list", path="/Team").data]
    assert ask(do="copy", path=path, to=f"{path}.copy").ok
    assert ask(do="info", path=f"{path}.copy").data["size"] == len(name.encode())


def test_write_without_overwrite_keeps_what_is_there(ask):
    refused = ask(do="write", path="/Team/glossary.md", text="lost", overwrite=False)
    assert (refused.ok, refused.status) == (False, 412)
    assert "Glossary" in ask(do="read", path="/Team/glossary.md").text


def test_folders_are_made_on_demand_only(ask):
    assert ask(do="write", path="/Team/x/y/z.md", text="z").status == 409
    assert ask(do="write", path="/Team/x/y/z.md", text="z", folders=True).ok
    assert [each["type"] for each in ask(do="list", path="/Team/x", deep=True).data] == [
        "folder",
        "file",
    ]
    assert ask(do="mkdir", path="/Team/x").status == 405


def test_list_is_sorted_and_keeps_etags_to_itself(ask):
    entries = ask(do="list", path="/Projects").data
    assert [each["path"] for each in entries] == sorted(each["path"] for each in entries)
    assert set(entries[0]) == {"path", "type", "size", "modified"}
    assert len(ask(do="list", path="/", deep=True, limit=7).data) == 7


def test_dots_in_a_path_are_resolved_before_it_is_sent(ask):
    assert ask("employee", do="read", path="/Team/../HR/staff-list.csv").status == 403
    assert ask(do="read", path="Team//./glossary.md").text.startswith("# Glossary")
    assert ask(do="list", path="/../..").data[0]["path"] == "/Board"


@pytest.mark.parametrize("do", ["copy", "move"])
@pytest.mark.parametrize("target", ["/Team/new.md", "/Projects/new.md"])
def test_copy_and_move_within_a_share_and_across(ask, do, target):
    text = ask(do="read", path="/Team/glossary.md").text
    assert ask(do=do, path="/Team/glossary.md", to=target).data["to"] == target
    assert ask(do="read", path=target).text == text
    assert ask(do="exists", path="/Team/glossary.md").data is (do == "copy")


@pytest.mark.parametrize("do", ["copy", "move"])
@pytest.mark.parametrize("target", ["/Team/lunch-list.csv", "/Projects/TideGate/plan.md"])
def test_copy_and_move_overwrite_only_when_told(ask, do, target):
    assert ask(do=do, path="/Team/glossary.md", to=target).status == 412
    assert ask(do="exists", path="/Team/glossary.md").data is True
    assert ask(do=do, path="/Team/glossary.md", to=target, overwrite=True).ok
    assert "Glossary" in ask(do="read", path=target).text


def test_moving_out_of_a_share_that_may_only_be_read_keeps_the_source(ask):
    """The copy is made, then the delete is refused: as with a file manager, and said so."""
    moved = ask("employee", do="move", path="/Policies/payments.md", to="/Team/payments.md")
    assert moved.status == 403
    assert ask(do="exists", path="/Policies/payments.md").data is True


def test_search_by_name_and_text_skips_closed_folders(ask):
    found = ask("employee", do="search", name="*.csv", text="hansen").data
    assert [each["path"] for each in found["entries"]] == ["/Team/directory.csv"]
    assert found["unreadable"] == ["/Board", "/Finance", "/HR", "/IT"]
    everything = ask(do="search", name="SALARY").data
    assert [each["path"] for each in everything["entries"]] == [
        "/HR/Salaries/salary-bands-2026.csv"
    ]
    assert ask("employee", do="search", name="x", path="/HR").status == 403
    assert ask(do="search", name="x", path="/Nowhere").status == 404


def test_a_refusal_says_what_the_server_said_and_nothing_that_changes(ask):
    first = ask("employee", do="read", path="/HR/staff-list.csv")
    assert (first.ok, first.status) == (False, 403)
    assert first.text == "403 Forbidden: jonas has no access to the share /HR."
    assert "<" not in first.text
    time.sleep(1.1)  # the server's page carries the second
    assert ask("employee", do="read", path="/HR/staff-list.csv").text == first.text


def test_a_wrong_password_is_a_refusal(office):
    driver = WebdavDriver({}, office.endpoint("files"))
    answer = driver.request(
        {"do": "list", "path": "/Team"}, Caller("x", "jonas", "wrong"), Deadline.after(5)
    )
    driver.close()
    assert (answer.ok, answer.status) == (False, 401)


def test_read_is_cut_at_the_limit_between_characters(ask):
    ask(do="write", path="/Team/long.txt", text="ä" * 1000)
    assert ask(do="read", path="/Team/long.txt", limit=101).text == "ä" * 50


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"do": "burn", "path": "/"}, "do"),
        ({"do": "copy", "path": "/a"}, "to"),
        ({"do": "write", "path": "/a"}, "text"),
        ({"do": "search"}, "name"),
        ({"do": "read", "path": "/a", "colour": "red"}, "colour"),
    ],
)
def test_a_wrong_request_is_told_apart(ask, request_, field):
    with pytest.raises(InputError, match=field):
        ask(**request_)


def test_a_port_that_the_service_has_not():
    with pytest.raises(InputError, match="no port 'dav'"):
        WebdavDriver({"port": "dav"}, Endpoint("127.0.0.1", {"http": 1}))


@pytest.mark.parametrize("behaviour", ["silent", "trickles", "trickles in its head", "endless"])
def test_a_server_that_does_not_finish_is_unreachable_in_time(behaviour):
    stop = threading.Event()

    def serve(listener):
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            if behaviour in ("trickles", "endless"):
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            try:
                if behaviour == "trickles in its head":
                    client.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
                while behaviour != "silent" and not stop.is_set():
                    client.sendall(b"x" * (1 << 20 if behaviour == "endless" else 1))
                    if behaviour != "endless":
                        stop.wait(0.02)
            except OSError:
                return
            stop.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        driver = WebdavDriver({}, Endpoint("127.0.0.1", {"http": listener.getsockname()[1]}))
        began = time.monotonic()
        with pytest.raises(Unreachable):
            # A PROPFIND is read to its end; no limit in bytes is asked for.
            driver.request({"do": "list"}, Caller("a", "a", "a"), Deadline.after(0.5))
        assert time.monotonic() - began < 3
        stop.set()
        driver.close()
        thread.join(5)


def test_nobody_at_the_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    driver = WebdavDriver({}, Endpoint("127.0.0.1", {"http": port}))
    with pytest.raises(Unreachable, match="refused"):
        driver.request({"do": "list"}, Caller("a", "a", "a"), Deadline.after(5))


@pytest.mark.parametrize(("request_", "again"), [("read", True), ("delete", False)])
def test_only_reading_is_sent_again_over_a_connection_that_was_let_go(request_, again):
    asked = []

    def serve(listener):
        for number in range(2):
            client, _ = listener.accept()
            with client:
                asked.append(client.recv(65536))
                if number == 1:
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        driver = WebdavDriver({}, Endpoint("127.0.0.1", {"http": listener.getsockname()[1]}))
        request = {"do": request_, "path": "/a"}
        if again:
            assert driver.request(request, Caller("a", "a", "a"), Deadline.after(5)).text == "hi"
        else:
            with pytest.raises(Unreachable):
                driver.request(request, Caller("a", "a", "a"), Deadline.after(5))
        driver.close()
    assert len(asked) == 1 + again


def test_a_path_that_http_cannot_carry_is_no_traceback(ask):
    with pytest.raises(Unreachable, match="HTTP cannot carry"):
        ask(do="read", path="/Team/" + "x" * 100_000)
    assert ask(do="list").ok
