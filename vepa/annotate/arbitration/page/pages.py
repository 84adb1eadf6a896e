"""What each address of the page does. All of them ask the queue, which alone knows what stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from vepa.annotate.arbitration.lending import LostClaimError, lost
from vepa.annotate.arbitration.page.door import Door
from vepa.annotate.arbitration.page.opinions import own_and_others
from vepa.annotate.arbitration.page.rendering import ASSETS, Renderer, asset
from vepa.annotate.arbitration.page.showing import show_case
from vepa.annotate.arbitration.page.typed import Typed
from vepa.annotate.arbitration.queue import ArbitrationQueue
from vepa.annotate.arbitration.records import Claim
from vepa.errors import InputError, RunError
from vepa.viewer.signs import visible

__all__ = ["Desk", "Pages"]

#: A page renews its lease so many times while one runs.
_RENEWALS = 4


@dataclass(frozen=True, slots=True)
class Desk:
    """What the pages work with.

    Attributes
    ----------
    queue
        Where verdicts are kept.
    renderer
        The templates.
    door
        Who is in.
    named
        Whether a person's token tells the name.
    changed
        Told that a verdict was given or taken back.
    """

    queue: ArbitrationQueue
    renderer: Renderer
    door: Door
    named: bool
    changed: Callable[[], None]


async def _fields(request: Request) -> dict[str, list[str]]:
    """What a form sent; its size is bounded already."""
    try:
        text = (await request.body()).decode("ascii")
        return parse_qs(text, keep_blank_values=True, max_num_fields=500, errors="strict")
    except ValueError:
        raise InputError("the form is not readable") from None


Fields = Annotated[dict[str, list[str]], Depends(_fields)]


class Pages:
    """One method an address.

    Parameters
    ----------
    desk
        What it works with.
    cookie
        Name of the session's cookie.
    """

    def __init__(self, desk: Desk, cookie: str):
        self._desk = desk
        self._queue = desk.queue
        self._cookie = cookie

    # -- coming and going --------------------------------------------------------------------------

    def login_form(self) -> Response:
        return self._login_page(200)

    def login(self, request: Request, fields: Fields) -> Response:
        name, token = _one(fields, "name"), _one(fields, "token")
        try:
            secret, session = self._desk.door.enter(token, name)
        except InputError as error:
            code = 401 if error.where.field == "token" else 422
            if _wants_json(request.headers):
                return _told(code, error)
            return self._login_page(code, str(error.message), name)
        answer = self._go(request, who=session.who)
        answer.set_cookie(self._cookie, secret, httponly=True, samesite="strict", path="/")
        return answer

    def logout(self, request: Request) -> Response:
        held = self._queue.holding(_who(request))
        if held is not None:
            self._queue.release(held.token)
        self._desk.door.leave(request.cookies.get(self._cookie, ""))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict")
        return answer

    # -- looking -----------------------------------------------------------------------------------

    def home(self, request: Request) -> Response:
        who = _who(request)
        claim = self._queue.holding(who)
        return self._rest_page(who) if claim is None else self._case_page(claim)

    def help(self, request: Request) -> Response:
        return self._page("help", 200, who=_who(request))

    def state(self, request: Request) -> Response:
        return JSONResponse(self._queue.progress(_who(request)))

    def asset(self, name: str) -> Response:
        if name not in ASSETS:
            return Response("There is no such file.", 404, media_type="text/plain")
        kind, text = asset(name)
        kept = {"cache-control": "private, max-age=86400, immutable"}
        return Response(text, media_type=kind, headers=kept)

    # -- doing -------------------------------------------------------------------------------------

    def next(self, request: Request) -> Response:
        self._queue.claim(_who(request))
        return self._go(request)

    def settle(self, request: Request, fields: Fields) -> Response:
        typed = Typed.of_fields(fields)
        try:
            claim = self._own_claim(request, fields)
            judgement = typed.judgement(self._queue.taxonomy, claim.case.shown)
            self._queue.settle(claim.token, judgement, note=typed.note or None)
        except LostClaimError as error:
            return self._lost(request, error, typed)
        except InputError as error:
            if _wants_json(request.headers):
                return _told(422, error)
            return self._case_page(claim, 422, typed, error)
        self._desk.changed()
        return self._go(request)

    def skip(self, request: Request, fields: Fields) -> Response:
        typed = Typed.of_fields(fields)
        try:
            claim = self._own_claim(request, fields)
            self._queue.skip(claim.token, why=typed.note[:2000])
        except LostClaimError as error:
            return self._lost(request, error, typed)
        return self._go(request)

    def skipped(self, request: Request) -> Response:
        self._queue.forget_skips(_who(request))
        self._queue.claim(_who(request))
        return self._go(request)

    def undo(self, request: Request) -> Response:
        if self._queue.undo(_who(request)) is not None:
            self._desk.changed()
        return self._go(request)

    def renew(self, request: Request, fields: Fields) -> Response:
        try:
            claim = self._own_claim(request, fields)
            until = self._queue.renew(claim.token)
        except LostClaimError as error:
            return _told(409, error)
        seconds = max(0.0, until - time.time())
        return JSONResponse({"seconds": seconds, **self._queue.progress(_who(request))})

    # -- answers -----------------------------------------------------------------------------------

    def refuse(self, headers: Headers, status: int, words: str) -> Response:
        """What the guard answers where it says no."""
        if _wants_json(headers):
            return JSONResponse({"error": words, "field": None}, status)
        if status == 401:
            return self._login_page(401)
        return Response(f"{words}\n", status, media_type="text/plain")

    def failed(self, request: Request, error: Exception) -> Response:
        """What went wrong outside of any form."""
        code = 503 if isinstance(error, RunError) else 400
        if _wants_json(request.headers):
            return _told(code, error)
        return Response(f"{visible(str(error))}\n", code, media_type="text/plain")

    def _own_claim(self, request: Request, fields: Mapping[str, list[str]]) -> Claim:
        claim = self._queue.claim_of(_one(fields, "claim"))
        if claim is None or claim.who != _who(request):
            raise lost("the case is not lent to you any more")
        return claim

    def _lost(self, request: Request, error: LostClaimError, typed: Typed) -> Response:
        if _wants_json(request.headers):
            return _told(409, error)
        return self._page("lost", 409, who=_who(request), error=error, typed=typed)

    def _go(self, request: Request, who: str | None = None) -> Response:
        """On to what is to be seen now; never an answer that a reload would send again."""
        if _wants_json(request.headers):
            return JSONResponse({"go": "/", "who": who or _who(request)})
        return RedirectResponse("/", 303)

    def _login_page(self, status: int, error: str = "", name: str = "") -> Response:
        text = self._desk.renderer.render(
            "login", error=visible(error), name=visible(name), named=self._desk.named
        )
        return HTMLResponse(text, status)

    def _case_page(
        self,
        claim: Claim,
        status: int = 200,
        typed: Typed | None = None,
        error: InputError | None = None,
    ) -> Response:
        if typed is None:
            before = self._queue.taken_back(claim.who, claim.case.item)
            typed = Typed()
            if before is not None:
                typed = Typed.of_judgement(before.verdict.judgement, before.verdict.note)
        left = max(1.0, claim.until - time.time())
        return self._page(
            "case",
            status,
            who=claim.who,
            claim=claim,
            case=show_case(claim.case),
            typed=typed,
            error=error,
            renew=max(1, round(left / _RENEWALS)),
        )

    def _rest_page(self, who: str) -> Response:
        given = self._queue.last(who)
        case, said, shared = None, [], False
        if given is not None:
            dispute = self._queue.opinions(given.verdict.item, who)
            shared = dispute is not None
            case = show_case(self._queue.case_of(given))
            said = own_and_others(given, dispute, self._queue.taxonomy)
        return self._page(
            "rest",
            200,
            who=who,
            case=case,
            said=said,
            shared=shared,
            skipped=self._queue.skipped(who),
        )

    def _page(self, name: str, status: int, *, who: str, **values: Any) -> Response:
        text = self._desk.renderer.render(
            name, who=who, progress=self._queue.progress(who), **values
        )
        return HTMLResponse(text, status)


def _who(request: Request) -> str:
    return str(request.state.session.who)


def _one(fields: Mapping[str, list[str]], name: str) -> str:
    return fields.get(name, [""])[0]


def _wants_json(headers: Mapping[str, str]) -> bool:
    return "application/json" in headers.get("accept", "")


def _told(status: int, error: Exception) -> Response:
    field = remedy = None
    words = str(error)
    if isinstance(error, InputError):
        field, remedy, words = error.where.field, error.remedy, error.message
    told = {"error": visible(words), "field": field, "remedy": visible(remedy or "")}
    return JSONResponse(told, status)
