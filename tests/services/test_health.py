"""Health: quick when it is there, quick when it is dead, a reason when time is over."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tiny_service import running, spec

from vepa.errors import RunError
from vepa.services.runtimes.health import BannerCheck, HttpCheck, TcpCheck, wait_healthy
from vepa.services.runtimes.processes import death, log_tail

pytestmark = pytest.mark.integration


def lives() -> None:
    return None


@contextmanager
def answering(*answers: bytes, delay: float = 0.0, drip: float = 0.0) -> Iterator[int]:
    """A server that gives these answers, the last one for ever; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    left = list(answers)

    def answer(connection: socket.socket) -> None:
        time.sleep(delay)
        text = left[0]
        if len(left) > 1:
            left.pop(0)
        pieces = [text[at : at + 1] for at in range(len(text))] if drip else [text]
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(drip)
        # Read what was asked, or the answer may be lost with a reset.
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(0.2)
        while connection.recv(1000):
            pass

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):  # who asked may be gone
                answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@pytest.fixture
def closed() -> Iterator[int]:
    """A port where nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
SEALED = b"HTTP/1.1 429 Standby\r\nContent-Length: 0\r\n\r\n"


class TestHealthy:
    @pytest.mark.parametrize(
        ("answers", "check"),
        [
            ((b"",), TcpCheck("p")),
            ((b"220 mail.test ESMTP\r\n",), BannerCheck("p", b"220")),
            ((b"* ", b"* OK ready\r\n"), BannerCheck("p", b"OK")),
            ((OK,), HttpCheck("p")),
            ((BUSY, BUSY, OK), HttpCheck("p", "/health")),
            ((SEALED,), HttpCheck("p", accept=(200, 429))),
        ],
    )
    def test_every_kind_of_check(self, answers, check):
        with answering(*answers) as port:
            assert wait_healthy([check], {"p": port}, 5, lives) < 3

    def test_all_of_several(self):
        with answering(OK) as one, answering(BUSY, BUSY, b"220 x\r\n") as two:
            checks = [HttpCheck("one"), TcpCheck("two"), BannerCheck("two", b"220")]
            wait_healthy(checks, {"one": one, "two": two}, 5, lives)

    def test_no_check_is_healthy_at_once(self):
        assert wait_healthy([], {}, 5, lives) < 1

    def test_it_is_noticed_quickly(self):
        spent = []
        for _ in range(5):  # a busy machine may be late, though not every time
            with socket.socket() as server:
                server.bind(("127.0.0.1", 0))
                timer = threading.Timer(0.3, server.listen)
                timer.start()
                port = server.getsockname()[1]
                spent.append(wait_healthy([TcpCheck("p")], {"p": port}, 5, lives))
                timer.join()
            if spent[-1] < 0.45:
                break
        assert 0.25 < min(spent) < 0.45


class TestTimeOver:
    @pytest.mark.parametrize(
        ("answer", "check", "why"),
        [
            (BUSY, HttpCheck("p", "/x"), "answered 503 to GET /x"),
            (b"HTTP/1.1 302 F\r\nLocation: /\r\n\r\n", HttpCheck("p"), "answered 302 to GET /"),
            (b"220 smtp\r\n", HttpCheck("p"), r"no HTTP answer \(BadStatusLine\)"),
            (b"", HttpCheck("p"), r"no HTTP answer|remote end closed"),
            (
                b"* BYE\r\n",
                BannerCheck("p", b"OK"),
                r"greeted with b'\* BYE\\r\\n' instead of b'OK'",
            ),
            (b"", BannerCheck("p", b"OK"), "greeted with b''"),
        ],
    )
    def test_the_last_reason_is_told(self, answer, check, why):
        with answering(answer) as port, pytest.raises(RunError, match=why) as caught:
            wait_healthy([check], {"p": port}, 0.2, lives, name="mail")
        assert f"the service 'mail' was not healthy within 0.2 s: port 'p' ({port})" in str(
            caught.value
        )

    def test_nobody_listens(self, closed):
        with pytest.raises(
            RunError, match=r"connection refused\nits log ends with:\n  \| a\n  \| b"
        ):
            wait_healthy([TcpCheck("p")], {"p": closed}, 0.1, lives, log=lambda: "a\nb\n")

    @pytest.mark.parametrize("check", [HttpCheck("p"), BannerCheck("p", b"x")])
    def test_it_hangs(self, check):
        with answering(b"x", delay=2) as port:
            before = time.monotonic()
            with pytest.raises(RunError, match="no answer within"):
                wait_healthy([check], {"p": port}, 0.3, lives)
            assert 0.25 < time.monotonic() - before < 1.9

    def test_it_drips(self):
        """Bytes now and then do not stretch the time."""
        with answering(b"x" * 30, drip=0.05) as port:
            before = time.monotonic()
            with pytest.raises(RunError, match="not healthy within"):
                wait_healthy([BannerCheck("p", b"OK")], {"p": port}, 0.2, lives)
            assert time.monotonic() - before < 1.4


class TestDeath:
    def test_a_service_that_dies_is_told_at_once_with_its_log(self, tmp_path):
        with running(spec(tmp_path, "quits")) as one:
            before = time.monotonic()
            with pytest.raises(RunError) as caught:
                wait_healthy(
                    [TcpCheck("main")],
                    one.ports,
                    30,
                    lambda: death(one),
                    name="tiny",
                    log=lambda: log_tail(one.folder),
                )
            assert time.monotonic() - before < 15  # and not 30
        text = str(caught.value)
        assert "the service 'tiny' died before it was healthy: it exited with code 7" in text
        assert "  | no configuration found" in text

    def test_one_that_answers_and_is_dead_is_not_healthy(self):
        """Somebody else on the port: an orphaned worker, say."""
        with answering(OK) as port, pytest.raises(RunError, match=r"died .*: it was ended"):
            wait_healthy([HttpCheck("p")], {"p": port}, 5, lambda: "it was ended by SIGKILL")

    def test_a_real_service(self, tmp_path):
        with running(spec(tmp_path)) as one:
            wait_healthy([TcpCheck("main")], one.ports, 10, lambda: death(one))
