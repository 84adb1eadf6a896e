"""The application: which address leads where, behind the guard."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from starlette.types import ASGIApp

from vepa.annotate.arbitration.page.guard import Asked, Guard, Hosts
from vepa.annotate.arbitration.page.limits import Limits
from vepa.annotate.arbitration.page.pages import Desk, Pages
from vepa.errors import VepaError

__all__ = ["make_app"]

#: What a login needs is open; everything else needs a session.
_OPEN = {
    "/login": frozenset({"GET", "POST"}),
    "/assets/page.css": frozenset({"GET"}),
    "/assets/login.js": frozenset({"GET"}),
}


def make_app(
    desk: Desk,
    hosts: Hosts,
    *,
    cookie: str,
    limits: Limits | None = None,
    log: Callable[[Asked], None] = lambda _: None,
) -> ASGIApp:
    """The guarded application.

    Parameters
    ----------
    desk
        What it works with.
    hosts
        What it answers to.
    cookie
        Name of the session's cookie: one a port, for browsers do not tell ports apart.
    limits
        How much it takes.
    log
        Told every request.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    pages = Pages(desk, cookie)
    for method, path, does in (
        ("GET", "/", pages.home),
        ("GET", "/login", pages.login_form),
        ("POST", "/login", pages.login),
        ("POST", "/logout", pages.logout),
        ("GET", "/help", pages.help),
        ("GET", "/state", pages.state),
        ("GET", "/assets/{name}", pages.asset),
        ("POST", "/next", pages.next),
        ("POST", "/settle", pages.settle),
        ("POST", "/skip", pages.skip),
        ("POST", "/skipped", pages.skipped),
        ("POST", "/undo", pages.undo),
        ("POST", "/renew", pages.renew),
    ):
        app.add_api_route(path, does, methods=[method], response_model=None)
    app.add_exception_handler(VepaError, pages.failed)
    return Guard(
        app,
        door=desk.door,
        hosts=hosts,
        cookie=cookie,
        open_paths=_OPEN,
        refuse=pages.refuse,
        limits=limits or Limits(),
        log=log,
    )
