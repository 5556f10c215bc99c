"""Where users sign in and out, and hand in their changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mqframe_dashboard.asking import Asking
from mqframe_dashboard.changes.accounts import Accounts
from mqframe_dashboard.changes.attempts import Attempts
from mqframe_dashboard.changes.errand import Change, Errand, signed_in
from mqframe_dashboard.changes.posted import Values, read_form
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.changes.sessions import LONGEST_SECONDS, Session, Sessions
from mqframe_dashboard.form_parts import ChangeForm, Input, Visitor
from mqframe_dashboard.html import page_html
from mqframe_dashboard.protection import host_name
from mqframe_dashboard.surroundings import frame_of
from mqframe_dashboard.view import Note, Page

SIGN_IN: Final = "/sign-in"
COOKIE: Final = "mqframe_session"
SWEEP_SECONDS: Final = 60.0
LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class Desk:
    """Signs users in, and has changes made by those who are. `accounts`: who may sign in."""

    def __init__(
        self,
        asking: Asking,
        accounts: Accounts,
        sessions: Sessions,
        attempts: Attempts,
    ) -> None:
        self._asking = asking
        self._accounts = accounts
        self._sessions = sessions
        self._attempts = attempts

    async def run(self) -> None:
        """End what is over, until it is cancelled; then end all."""
        try:
            while True:
                await asyncio.sleep(SWEEP_SECONDS)
                await self._sessions.sweep()
        finally:
            await self._sessions.close()

    def session(self, request: Request) -> Session | None:
        """The session of the browser that sends `request`."""
        return self._sessions.find(request.cookies.get(COOKIE, ""))

    def visitor(self, request: Request) -> Visitor:
        """What pages know of the browser that sends `request`."""
        session = self.session(request)
        return Visitor(True, session.user, session.token) if session else Visitor(True)

    async def sign_in(self, request: Request) -> Response:
        """The form, and what becomes of it. Raises `Rejection`."""
        _check_private(request)
        if request.method != "POST":
            return self._answer(request, SIGN_IN, _sign_in_page())
        values = await read_form(request)
        user, secret = values.text("user"), values.text("secret")
        address = _address(request)
        wait = self._attempts.begin(address)
        if wait:
            raise Rejection(429, "Too many failed sign-ins", f"try again in {wait} s", wait=wait)
        try:
            account = await self._accounts.account(user, secret) if user and secret else None
        except BaseException:
            self._attempts.forgive(address)
            raise
        if account is None:
            signed_in(user, address, "refused: wrong name or secret")
            return self._answer(request, SIGN_IN, _sign_in_page(failed=True), 403)
        self._attempts.forgive(address)
        old = self.session(request)
        if old is not None:
            await self._sessions.end(old)
        session = await self._sessions.open(account)
        signed_in(user, address, "signed in")
        answer = RedirectResponse("./", 303)
        _set_cookie(answer, request, session.key, int(LONGEST_SECONDS))
        return answer

    async def sign_out(self, request: Request) -> Response:
        """End the session. Raises `Rejection`."""
        session, _ = await self._posted(request)
        await self._sessions.end(session)
        signed_in(session.user, _address(request), "signed out")
        answer = RedirectResponse("./", 303)
        _set_cookie(answer, request, "", 0)
        return answer

    def changing(self, change: Change) -> Callable[[Request], Awaitable[Response]]:
        """What answers with the form of `change`, or makes it when it is posted."""
        return partial(self._change, change)

    async def _change(self, change: Change, request: Request) -> Response:
        if request.method != "POST":
            session = self._needed(request)
            self._sessions.touch(session)
            values = Values({name: request.query_params.getlist(name) for name in request.query_params})
            page = await change.show(Errand(self._asking, session, values))
            return self._answer(request, change.path, page)
        session, values = await self._posted(request)
        errand = Errand(self._asking, session, values)
        page = await session.once(
            f"{change.path} {values.needed('ticket')}", lambda: change.run(errand, _address(request))
        )
        return self._answer(request, change.path, page)

    def _answer(self, request: Request, path: str, page: Page, status: int = 200) -> Response:
        return HTMLResponse(page_html(page, path, self.visitor(request), frame_of(request)), status)

    async def _posted(self, request: Request) -> tuple[Session, Values]:
        """Who posts, and what. Raises `Rejection` unless it was made in the same session."""
        values = await read_form(request)
        session = self._needed(request)
        if not session.fits(values.text("token")):
            raise Rejection(
                403,
                "This form is not of your session",
                "nothing was done; open its page again, which may have been loaded before you signed in",
            )
        self._sessions.touch(session)
        return session, values

    def _needed(self, request: Request) -> Session:
        session = self.session(request)
        if session is None:
            raise Rejection(
                401,
                "Sign in",
                "only who is signed in may do this; your session may be over. Nothing was done.",
            )
        return session


def _set_cookie(answer: Response, request: Request, value: str, seconds: int) -> None:
    answer.set_cookie(
        COOKIE,
        value,
        max_age=seconds,
        path=None,  # the folder of this page, also where a proxy serves the dashboard below another
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def _check_private(request: Request) -> None:
    """Raise `Rejection` where secrets would cross a network that anybody may read."""
    if request.url.scheme != "https" and host_name(request.headers.get("host", "")) not in LOOPBACK_NAMES:
        raise Rejection(
            403,
            "Sign in by https",
            "secrets do not travel over plain connections; reach this dashboard by https through a proxy "
            "that says so (X-Forwarded-Proto), or by a browser of its own machine",
        )


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _sign_in_page(*, failed: bool = False) -> Page:
    form = ChangeForm(
        "sign-in",
        "Sign in",
        [Input("user", "User"), Input("secret", "Secret", kind="password")],
    )
    wrong = [Note("Name or secret is wrong, or this user is disabled.", wrong=True)] if failed else []
    return Page("Sign in", [*wrong, form])
