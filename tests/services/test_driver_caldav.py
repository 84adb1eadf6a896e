"""The caldav driver against a server that answers drop by drop."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from vepa.services.drivers import Caller, Deadline, Endpoint, Unreachable, make_driver

HEADS = {
    "in its head": b"HTTP/1.1 207 Multi-Status\r\nX-Long: ",
    "in a body without a length": b"HTTP/1.1 207 Multi-Status\r\nContent-Type: text/xml\r\n\r\n",
    "in a body with a length": b"HTTP/1.1 207 Multi-Status\r\nContent-Length: 9999\r\n\r\n",
}


@pytest.fixture
def trickling(request: pytest.FixtureRequest) -> Iterator[int]:
    """Port of a server that sends the head, and then a byte every 20 ms."""
    stop = threading.Event()

    def serve(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            client.sendall(HEADS[request.param])
            try:
                while not stop.wait(0.02):
                    client.sendall(b"x")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        stop.set()
        thread.join(5)


@pytest.mark.parametrize("trickling", HEADS, indirect=True)
def test_a_server_that_trickles_does_not_outlive_the_call(trickling: int) -> None:
    driver = make_driver("caldav", {}, Endpoint("127.0.0.1", {"http": trickling}))
    before = set(threading.enumerate())
    began = time.monotonic()
    with pytest.raises(Unreachable, match="time limit"):
        driver.request(
            {"do": "collections", "homes": ["a"]}, Caller("a", "a", "b"), Deadline.after(0.5)
        )
    assert time.monotonic() - began < 3
    driver.close()
    # Other tests of this process may have timers too; one that was cancelled takes a moment to end.
    timers = [
        each for each in set(threading.enumerate()) - before if isinstance(each, threading.Timer)
    ]
    for each in timers:
        each.join(2)
    assert [each.name for each in timers if each.is_alive()] == []


@pytest.mark.parametrize("status", [b"302 Found\r\nLocation: http://elsewhere.test/", b"500 Odd"])
def test_a_redirect_is_a_refusal(status: bytes) -> None:
    def serve(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        driver = make_driver("caldav", {}, Endpoint("127.0.0.1", {"http": port}))
        answer = driver.request(
            {"do": "collections", "homes": ["a"]}, Caller("a", "a", "b"), Deadline.after(5)
        )
        driver.close()
        thread.join(5)
    assert (answer.ok, answer.status) == (False, int(status[:3]))
