"""A headless Chromium that tests look through: its DevTools protocol over a loopback socket."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

__all__ = ["Browser", "chromium", "opened"]

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--remote-debugging-address=127.0.0.1",
    # Whatever a page asks for, nothing but loopback is ever resolved.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def chromium() -> str | None:
    """The browser's command; None where there is none."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class Browser:
    """One page of a browser.

    Attributes
    ----------
    messages
        What the console said, exceptions and blocked requests.
    requests
        Addresses that the page asked for.
    process
        The browser itself.
    """

    def __init__(self, socket: ClientConnection, process: subprocess.Popen[bytes]):
        self.socket = socket
        self.process = process
        self.number = 0
        self.messages: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol; its result."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == self.number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, url: str, *, width: int, height: int, dark: bool) -> None:
        """Load a page at a size and in a colour scheme."""
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 60
        while not (
            self.evaluate("document.readyState") == "complete"
            and self.evaluate("location.href").startswith(url)
        ):
            assert time.monotonic() < end, f"{url} was not loaded"
            time.sleep(0.05)

    def _note(self, message: dict[str, Any]) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
            self.messages.append(json.dumps(given))


@contextmanager
def opened() -> Iterator[Browser]:
    """A new browser with a profile of its own."""
    command = chromium()
    assert command is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [command, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect(_page(Path(profile), process), max_size=None) as socket:
                yield Browser(socket, process)
        finally:
            process.terminate()
            process.wait(30)


def _page(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """The address of the first page, once the browser answers."""
    from urllib.request import ProxyHandler, build_opener

    opener = build_opener(ProxyHandler({}))
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, "the browser ended"
        try:
            port = (profile / "DevToolsActivePort").read_text().split()[0]
            with opener.open(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            return str(pages[0]["webSocketDebuggerUrl"])
        except (OSError, IndexError):
            time.sleep(0.1)
    raise TimeoutError("the browser does not answer")
