"""Somebody at the arbitration page who has a keyboard and nothing else."""

from __future__ import annotations

import time
from typing import Any

from chromium import Browser

__all__ = ["Typist"]

_CONTROL, _SHIFT = 2, 8
_CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, "ArrowDown": 40}


class Typist:
    """A person in a browser.

    Parameters
    ----------
    browser
        A page of it.
    name
        Theirs.
    """

    def __init__(self, browser: Browser, name: str):
        self.browser = browser
        self.name = name
        # A headless window has no focus of its own.
        browser.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def press(self, *keys: str, control: bool = False, shift: bool = False) -> None:
        """Press keys, one after another."""
        for key in keys:
            code = f"Digit{key}" if key.isdigit() else ""
            modifiers = _CONTROL * control + _SHIFT * shift
            sign = key if len(key) == 1 else "\r" if key == "Enter" else ""
            given: dict[str, Any] = {
                "key": key,
                "code": code,
                "modifiers": modifiers,
                "windowsVirtualKeyCode": _CODES.get(key, 0),
            }
            self.browser.call("Input.dispatchKeyEvent", type="keyDown", text=sign, **given)
            self.browser.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self.browser.call("Input.insertText", text=text)

    def until(self, wanted: str, seconds: float = 30) -> None:
        """Wait for what an expression says; a page that is being left says nothing."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.browser.evaluate(f"!!({wanted})"):
                    return
            except AssertionError:
                pass
            assert time.monotonic() < end, (wanted, self.seen(), self.browser.messages[-3:])
            time.sleep(0.02)

    def seen(self) -> str:
        """The text of the page."""
        return str(self.browser.evaluate("document.body.innerText"))

    def open(self, url: str, *, width: int = 1280, dark: bool = False) -> None:
        """Go to an address."""
        self.browser.open("about:blank", width=width, height=800, dark=dark)
        self.browser.call("Page.navigate", url=url)

    def log_in(self, link: str, **look: Any) -> None:
        """Follow the link, type the name."""
        self.open(link, **look)
        self.browser.requests.clear()
        self.until("document.getElementById('token')?.value.length > 20")
        self.browser.evaluate("document.getElementById('name').value = ''")
        self.type(self.name)
        self.press("Enter")
        self.until("document.body.dataset.state === 'ready'")

    def wait_for(self, view: str) -> None:
        """Wait until a page of a kind stands."""
        self.until(
            f"document.body.dataset.state === 'ready' && document.body.dataset.view === '{view}'"
        )

    def take(self) -> None:
        """The next case."""
        self.press("n")
        self.wait_for("case")

    def judge(self, number: int) -> None:
        """Fill the form: every third case is allowed."""
        if number % 3 == 0:
            self.press("a")
            return
        self.press("r", "3")
        self.press("i", *"inh", "Enter")
        self.press("h", *"func", "Enter")
        self.press("x", "e")
        self.press("w")
        self.type(f"Case {number} of {self.name}.")

    def settle(self) -> None:
        """Send it, from wherever the focus is."""
        self.press("Enter", control=True)

    def finish(self, number: int) -> None:
        """One case from its beginning to its end."""
        self.take()
        self.finish_here(number)

    def finish_here(self, number: int) -> None:
        """The case that is open."""
        self.judge(number)
        self.settle()
        self.wait_for("rest")
