"""One change that a signed-in user asks for: its page with the form, what it does, and its audit line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import attrs

from mqframe.core.errors import AccessError, AnswerError, MqframeError, RetryError
from mqframe.log import get_logger
from mqframe_dashboard.asking import Asking, NotFound
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.changes.sessions import Session
from mqframe_dashboard.masking import MASK
from mqframe_dashboard.view import Page

TOLD_CHARS: Final = 200
"""Most characters of a value in an audit line."""
_log = get_logger("audit")


@attrs.frozen
class Errand:
    """`asking` reads with the dashboard's keys; `session` changes with its user's; `values` say what."""

    asking: Asking
    session: Session
    values: Values


Step = Callable[[Errand], Awaitable[Page]]


def no_secrets(values: Values) -> list[str]:
    """Of forms without any."""
    return []


@attrs.frozen
class Change:
    """One kind of change, at `path`.

    `prepare` makes the page with the form, `perform` does what the form says and makes a page of the outcome.
    `told`: the fields that the audit line has; `secrets`: values of a form that no page and no log may show.
    """

    path: str
    prepare: Step
    perform: Step
    told: tuple[str, ...]
    secrets: Callable[[Values], list[str]] = no_secrets

    async def show(self, errand: Errand) -> Page:
        """The page with the form. Raises `Rejection` for what its user may not even see."""
        try:
            return await self.prepare(errand)
        except AccessError as problem:
            raise _forbidden(errand, problem.remark or "") from None

    async def run(self, errand: Errand, address: str) -> Page:
        """Do it, and leave a line in the audit log. `address`: where the browser is."""
        secrets = self.secrets(errand.values)
        try:
            page = await self.perform(errand)
        except AccessError as problem:
            said = hidden(problem.remark or "no remark", secrets)
            self._tell(errand, address, f"refused: {said}")
            raise _forbidden(errand, said) from None
        except AnswerError as problem:
            said = hidden(problem.remark or str(problem), secrets)
            self._tell(errand, address, f"refused: {said}")
            raise Rejection(409, "The broker refused", f"{problem.address}: {said}") from None
        except NotFound as problem:
            self._tell(errand, address, f"failed: {problem}")
            raise
        except MqframeError as problem:
            said = hidden(str(problem), secrets)
            self._tell(errand, address, f"failed: {said}")
            if not isinstance(problem, RetryError):
                raise Rejection(400, "This cannot be done", said) from None
            open_end = " It may have been done all the same; look before you repeat it."
            said += "." + open_end if problem.maybe_stored else "; nothing was done."
            raise Rejection(503, "The cluster does not answer", said, wait=5) from None
        except BaseException as problem:
            self._tell(errand, address, f"failed: {type(problem).__name__}")
            raise
        self._tell(errand, address, "done")
        return page

    def _tell(self, errand: Errand, address: str, outcome: str) -> None:
        said = {name: short(" ".join(errand.values.each(name))) for name in self.told}
        what = {name: value for name, value in said.items() if value}
        _log.info(
            f"dashboard {self.path.removeprefix('/')}",
            user=errand.session.user,
            peer=address,
            outcome=short(outcome),
            request=what,
        )


def _forbidden(errand: Errand, said: str) -> Rejection:
    return Rejection(
        403,
        "You may not do this",
        f"{errand.session.user}: {said}. Sign in again if your secret was changed since.",
    )


def hidden(text: str, secrets: list[str]) -> str:
    """`text` with a mask in the place of each secret."""
    for each in secrets:
        if each:
            text = text.replace(each, MASK)
    return text


def short(text: str) -> str:
    """`text` for a log: whoever sent it chose how long it is."""
    return text if len(text) <= TOLD_CHARS else f"{text[:TOLD_CHARS]}… ({len(text)} characters)"


def signed_in(user: str, address: str, outcome: str) -> None:
    """Leave a line about a sign-in or sign-out."""
    _log.info("dashboard session", user=short(user), peer=address, outcome=outcome)
