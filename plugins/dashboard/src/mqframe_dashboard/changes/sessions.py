"""Sessions of users who signed in: random ids, a token for forms, and an end."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

import attrs

from mqframe import AsyncAdmin, AsyncProducer
from mqframe.core.errors import RetryError
from mqframe.log import get_logger
from mqframe_dashboard.asking import called
from mqframe_dashboard.view import Page

log = get_logger("dashboard")
P = ParamSpec("P")
T = TypeVar("T")

IDLE_SECONDS: Final = 30 * 60.0
LONGEST_SECONDS: Final = 8 * 3600.0
SESSIONS_MAX: Final = 100
CHANGE_SECONDS: Final = 60.0
"""What one call of a change may take."""
TICKETS_MAX: Final = 64
"""Outcomes of forms that a session remembers."""


class NotKnown(RetryError):
    """A change that was not answered in time. It may have been made."""

    maybe_stored = True


@attrs.frozen
class Account:
    """Who signed in. `admin`: the client that makes their changes; `close`: ends it with the session.

    `producer`: makes a producer that sends with their keys.
    """

    user: str
    admin: AsyncAdmin = attrs.field(repr=False)
    close: Callable[[], Awaitable[None]] = attrs.field(repr=False)
    producer: Callable[[], AsyncProducer] = attrs.field(repr=False)


class Session:
    """One user in one browser. `key`: the secret in the cookie; `token`: stands in every form."""

    def __init__(self, account: Account, now: float) -> None:
        self.user = account.user
        self.admin = account.admin
        self.account = account
        self.key = secrets.token_urlsafe(32)
        self.token = secrets.token_urlsafe(32)
        self.opened = now
        self.used = now
        self._outcomes: dict[str, asyncio.Task[Page]] = {}

    def __repr__(self) -> str:
        return f"<Session of {self.user}>"

    def fits(self, token: str) -> bool:
        """Whether a form with `token` was made for this session."""
        return hmac.compare_digest(self.token.encode(), token.encode("utf-8", "replace"))

    async def do(self, call: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What `call`, a method of `admin`, returns. Raises as it does, and `NotKnown`."""
        try:
            async with asyncio.timeout(CHANGE_SECONDS):
                return await call(*args, **kwargs)
        except TimeoutError:
            raise NotKnown(f"no answer to {called(call)} within {CHANGE_SECONDS:g} s") from None

    async def once(self, ticket: str, work: Callable[[], Coroutine[Any, Any, Page]]) -> Page:
        """The outcome of `work`, done once for a form with `ticket`, however often that is sent.

        What failed may be tried again.
        """
        found = self._outcomes.get(ticket)
        if found is None:
            while len(self._outcomes) >= TICKETS_MAX:
                del self._outcomes[next(iter(self._outcomes))]
            found = self._outcomes[ticket] = asyncio.create_task(work())
        try:
            return await asyncio.shield(found)
        except Exception:
            if self._outcomes.get(ticket) is found:
                del self._outcomes[ticket]
            raise


class Sessions:
    """All sessions. They end when nothing was changed for `IDLE_SECONDS`, and after `LONGEST_SECONDS`.

    `now`: monotonic seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def open(self, account: Account) -> Session:
        """A new session; the one that was used least recently ends when there are too many."""
        await self.sweep()
        if len(self._open) >= SESSIONS_MAX:
            await self.end(min(self._open.values(), key=lambda each: each.used))
        session = Session(account, self._now())
        self._open[session.key] = session
        return session

    def find(self, key: str) -> Session | None:
        """The session with `key`, unless it is over."""
        session = self._open.get(key)
        return None if session is None or self._over(session) else session

    def touch(self, session: Session) -> None:
        """Somebody works in `session`."""
        session.used = self._now()

    async def end(self, session: Session) -> None:
        """End `session`, and with it what its user signs with."""
        if self._open.pop(session.key, None) is None:
            return
        try:
            await session.account.close()
        except Exception:  # isolation boundary: the end of one harms no other
            log.exception("a session did not end well", user=session.user)

    async def sweep(self) -> None:
        """End those that are over."""
        for session in [each for each in self._open.values() if self._over(each)]:
            await self.end(session)

    async def close(self) -> None:
        """End all."""
        for session in list(self._open.values()):
            await self.end(session)

    def _over(self, session: Session) -> bool:
        now = self._now()
        return now - session.used >= IDLE_SECONDS or now - session.opened >= LONGEST_SECONDS
