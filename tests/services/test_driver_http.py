"""The HTTP driver against a real server: limits, logins, errors."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from vepa.errors import InputError
from vepa.services.drivers import Caller, Deadline, Endpoint, Unreachable
from vepa.services.drivers.http import MAX_BYTES, HttpDriver

ADA = Caller("employee", "ada", "secret of ada")
BOB = Caller("finance", "bob", "secret of bob")
ODD_JSON = {
    "/broken-json": b"{",
    "/deep": b"[" * 900 + b"]" * 900,
    "/deepest": b"[" * 100_000 + b"]" * 100_000,
    "/half": rb'{"a": "x\ud800y", "b": "\ud83d\ude00"}',
}
MOVED = {"/moved": "/text", "/round": "/round", "/out": "http://127.0.0.2:9/text"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets: 40 ms apart otherwise
    seen: ClassVar[list[dict[str, Any]]] = []
    logins: ClassVar[list[str]] = []

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, status: int, data: Any, **headers: str) -> None:
        self.answer(status, json.dumps(data).encode(), "application/json", **headers)

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.seen.append(
            {"method": self.command, "path": self.path, "headers": headers, "body": body}
        )
        path = self.path.partition("?")[0]
        if path == "/echo":
            self.json(200, self.seen[-1])
        elif path == "/login":
            self.log_in(json.loads(body))
        elif path.startswith("/status/"):
            self.json(int(path.rpartition("/")[2]), {"said": "what it is"})
        elif path == "/text":
            self.answer(200, "grüße".encode("latin-1"), "text/plain; charset=iso-8859-1")
        elif path in ODD_JSON:
            self.answer(200, ODD_JSON[path], "application/json")
        elif path in MOVED:
            self.answer(302, b"", "text/plain", Location=MOVED[path])
        elif path == "/sleep":
            time.sleep(5)
        elif path == "/large":
            self.send_response(200)
            self.end_headers()
            self.flood()
        elif path == "/trickle":
            self.trickle()
        elif path == "/trickle-head":
            self.trickle_head()
        elif path == "/hang-up":
            self.close_connection = True

    def log_in(self, given: dict[str, str]) -> None:
        self.logins.append(given["user"])
        if given["password"] != f"secret of {given['user']}":
            self.json(403, {"reason": "wrong password"})
        else:
            self.json(200, {"auth": {"tokens": [f"token-{given['user']}"]}},
                      Set_Cookie=f"session={given['user']}")  # fmt: skip

    def flood(self) -> None:
        block = b"x" * 65536
        try:
            for _ in range(2 * MAX_BYTES // len(block)):
                self.wfile.write(block)
        except OSError:
            pass
        self.close_connection = True

    def trickle(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            pass
        self.close_connection = True

    def trickle_head(self) -> None:
        try:
            for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100:
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            pass
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_PROPFIND = handle_any  # noqa: N815


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def make(port: int) -> Iterator[Any]:
    """Make drivers that are closed at the end."""
    made: list[HttpDriver] = []
    Handler.seen.clear()
    Handler.logins.clear()

    def driver(**settings: Any) -> HttpDriver:
        made.append(HttpDriver(settings, Endpoint("127.0.0.1", {"http": port})))
        return made[-1]

    yield driver
    for each in made:
        each.close()


def ask(
    driver: HttpDriver, path: str, seconds: float = 5.0, caller: Caller = ADA, **more: Any
) -> Any:
    return driver.request({"path": path, **more}, caller, Deadline.after(seconds))


# --- requests and answers


def test_a_request_arrives_as_it_was_written(make: Any) -> None:
    driver = make(headers={"X-Requested-With": "rest"})
    answer = ask(
        driver, "/echo", method="POST", query={"q": "a b&c", "n": 3, "many": ["x", "y"]},
        headers={"If-Match": "7"}, json={"text": "ä"},
    )  # fmt: skip
    said = answer.data
    assert (answer.ok, answer.status, said["method"]) == (True, 200, "POST")
    assert said["path"] == "/echo?q=a+b%26c&n=3&many=x&many=y"
    assert json.loads(said["body"]) == {"text": "ä"}
    assert said["headers"]["content-type"] == "application/json"
    assert said["headers"]["x-requested-with"] == "rest"
    assert said["headers"]["if-match"] == "7"
    assert answer.headers["content-type"] == "application/json"


def test_forms_texts_and_the_prefix(make: Any, port: int) -> None:
    form = ask(make(), "/echo", method="POST", form={"a": "1&2"}).data
    assert (form["body"], form["headers"]["content-type"]) == (
        "a=1%262",
        "application/x-www-form-urlencoded",
    )
    text = ask(make(), "/echo", method="PUT", text="ä").data
    assert (text["body"], text["headers"]["content-type"]) == ("ä", "text/plain; charset=utf-8")
    assert ask(make(prefix="/status"), "/204").status == 204


def test_a_path_that_begins_with_two_slashes_names_no_host(make: Any) -> None:
    assert ask(make(), "//status/204").status == 204  # the handler takes one of them away


def test_texts_have_their_own_encoding_and_broken_json_is_text(make: Any) -> None:
    assert ask(make(), "/text").data == "grüße"
    broken = ask(make(), "/broken-json")
    assert (broken.ok, broken.data) == (True, "{")


def test_redirects_are_followed_only_when_asked(make: Any) -> None:
    assert ask(make(), "/moved").status == 302
    assert ask(make(), "/moved", redirects=True).data == "grüße"


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500, 503])
def test_an_error_is_an_answer_with_what_the_service_said(make: Any, status: int) -> None:
    answer = ask(make(), f"/status/{status}")
    assert (answer.ok, answer.status) == (False, status)
    assert answer.data == {"said": "what it is"}


# --- limits


@pytest.mark.parametrize(
    ("status", "ok"),
    [(200, True), (302, True), (303, True), (301, False), (307, False), (308, False)],
)
def test_a_redirect_that_says_not_here_is_no_success(make: Any, status: int, ok: bool) -> None:
    """Otherwise `delete` would tell success for a path that the service only wrote otherwise."""
    answer = ask(make(), f"/status/{status}")
    assert (answer.ok, answer.status) == (ok, status)


def test_a_slow_answer_ends_with_the_time(make: Any) -> None:
    began = time.monotonic()
    with pytest.raises(Unreachable, match="time limit"):
        ask(make(), "/sleep", seconds=0.3)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("path", ["/trickle", "/trickle-head"])
def test_a_server_that_trickles_does_not_outlive_the_call(make: Any, path: str) -> None:
    driver = make()
    assert ask(driver, "/echo").ok  # the connection is there already, and kept
    began = time.monotonic()
    with pytest.raises(Unreachable, match="time limit"):
        ask(driver, path, seconds=0.4)
    assert time.monotonic() - began < 4
    assert ask(driver, "/echo").ok


def test_no_time_left_sends_nothing(make: Any) -> None:
    driver = make()
    with pytest.raises(Unreachable, match="time limit"):
        driver.request({"path": "/echo"}, ADA, Deadline(time.monotonic() - 1))
    assert Handler.seen == []


def test_a_huge_answer_is_cut_while_it_is_read(make: Any) -> None:
    assert len(ask(make(), "/large", seconds=20).text) == MAX_BYTES


def test_json_without_end_stays_text_and_half_characters_are_replaced(make: Any) -> None:
    assert ask(make(), "/deep").data == "[" * 900 + "]" * 900
    assert ask(make(), "/deepest").data == "[" * 100_000 + "]" * 100_000
    assert ask(make(), "/half").data == {"a": "x?y", "b": "\U0001f600"}


def test_no_redirect_leads_out_of_the_office_or_round_and_round(make: Any) -> None:
    with pytest.raises(Unreachable, match=r"redirects to '127\.0\.0\.2'"):
        ask(make(), "/out", redirects=True)
    with pytest.raises(Unreachable, match="redirect"):
        ask(make(), "/round", redirects=True)
    assert ask(make(), "/out").status == 302


@pytest.mark.parametrize(
    "request_",
    [
        {"path": "/" + "x" * 100_000},
        {"path": "/a\nb"},
        {"path": "/echo", "headers": {"X-One": "a\r\nX-Two: b"}},
        {"path": "/echo", "headers": {"X-One": "gr\u00fc\u20ac"}},
        {"path": "/echo", "method": "POST", "json": {"a": "\ud800"}},
        {"path": "/echo", "method": "POST", "form": {"a": "\ud800"}},
    ],
)
def test_what_http_cannot_carry_is_not_sent_and_is_no_traceback(
    make: Any, request_: dict[str, Any]
) -> None:
    driver = make()
    with pytest.raises(Unreachable):
        driver.request(request_, ADA, Deadline.after(5))
    assert Handler.seen == []
    assert ask(driver, "/echo").ok


def test_nobody_listens(make: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        driver = HttpDriver({}, Endpoint("127.0.0.1", {"http": free.getsockname()[1]}))
        with pytest.raises(Unreachable, match="refused"):
            ask(driver, "/echo")
        driver.close()


def test_a_connection_that_is_broken_off(make: Any) -> None:
    with pytest.raises(Unreachable, match="no answer"):
        ask(make(), "/hang-up")


def test_after_no_answer_the_next_request_works(make: Any) -> None:
    driver = make()
    with pytest.raises(Unreachable):
        ask(driver, "/sleep", seconds=0.2)
    assert ask(driver, "/echo").ok


def test_a_proxy_of_the_surroundings_is_not_used(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(make(), "/echo").ok


# --- accounts


def test_without_auth_nothing_is_sent(make: Any) -> None:
    assert "authorization" not in ask(make(), "/echo").data["headers"]


def test_basic_sends_each_account_s_own(make: Any) -> None:
    driver = make(auth={"how": "basic"})
    ada = ask(driver, "/echo").data["headers"]["authorization"]
    bob = ask(driver, "/echo", caller=BOB).data["headers"]["authorization"]
    assert (ada, bob) == ("Basic YWRhOnNlY3JldCBvZiBhZGE=", "Basic Ym9iOnNlY3JldCBvZiBib2I=")


LOGIN = {"method": "POST", "path": "/login", "json": {"user": "@USER@", "password": "@PASSWORD@"}}


def test_a_token_is_asked_for_once_an_account(make: Any) -> None:
    driver = make(auth={"how": "login", "request": LOGIN, "token": ["auth", "tokens", 0],
                        "header": "X-Token", "value": "t=@TOKEN@"})  # fmt: skip
    told = [ask(driver, "/echo", caller=who).data["headers"]["x-token"] for who in (ADA, BOB, ADA)]
    assert told == ["t=token-ada", "t=token-bob", "t=token-ada"]
    assert Handler.logins == ["ada", "bob"]
    driver.close()
    assert ask(driver, "/echo").ok
    assert Handler.logins == ["ada", "bob", "ada"]


def test_without_a_token_the_cookie_is_kept_apart_for_each_account(make: Any) -> None:
    driver = make(auth={"how": "login", "request": LOGIN})
    told = [ask(driver, "/echo", caller=who).data["headers"]["cookie"] for who in (ADA, BOB, ADA)]
    assert told == ["session=ada", "session=bob", "session=ada"]


def test_a_refused_login_says_what_the_service_said(make: Any) -> None:
    driver = make(auth={"how": "login", "request": LOGIN})
    wrong = Caller("hr", "eve", "guessed")
    with pytest.raises(Unreachable, match=r"login of account 'hr' was answered with 403.*wrong"):
        ask(driver, "/echo", caller=wrong)
    assert [each["path"] for each in Handler.seen] == ["/login"]
    with pytest.raises(Unreachable):  # no half-made client is kept
        ask(driver, "/echo", caller=wrong)


def test_a_login_without_the_token_says_where_it_was_looked_for(make: Any) -> None:
    for path in (["auth", "none"], ["auth", "tokens", 3], ["auth", "tokens", "x"]):
        driver = make(auth={"how": "login", "request": LOGIN, "token": path})
        with pytest.raises(Unreachable, match=r"has nothing at auth\."):
            ask(driver, "/echo")


def test_a_header_carries_the_account(make: Any) -> None:
    driver = make(auth={"how": "header", "header": "X-Key", "value": "key @PASSWORD@"})
    told = [ask(driver, "/echo", caller=who).data["headers"]["x-key"] for who in (ADA, BOB)]
    assert told == ["key secret of ada", "key secret of bob"]


# --- what is wrong with a request


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({}, "path"),
        ({"path": "echo"}, "path"),
        ({"path": "/echo", "method": "get"}, "method"),
        ({"path": "/echo", "body": 1}, "body"),
        ({"path": "/echo", "json": 1, "text": "x"}, None),
        ({"path": "/echo", "headers": {"a": 1}}, "headers.a"),
        ("/echo", None),
    ],
)
def test_a_request_of_the_wrong_form_is_not_sent(
    make: Any, request_: Any, field: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        make().request(request_, ADA, Deadline.after(1))
    assert caught.value.where.field == field
    assert Handler.seen == []


def test_settings_of_the_wrong_form(port: int) -> None:
    with pytest.raises(InputError, match="no port 'web'"):
        HttpDriver({"port": "web"}, Endpoint("127.0.0.1", {"http": port}))
    with pytest.raises(InputError) as caught:
        HttpDriver({"auth": {"how": "magic"}}, Endpoint("127.0.0.1", {"http": port}))
    assert caught.value.where.field == "auth.how"
