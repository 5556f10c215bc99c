"""The guard of a listener: every request passes it before anything else is done with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.fields import Request
from mqframe.core.requests.needs import UNDECLARED, Need, Needs
from mqframe.core.requests.serving import Call
from mqframe.hooks.interfaces.access import Caller, Refused, Signed
from mqframe.log import get_logger
from mqframe.net.access.access import Access
from mqframe.net.access.audit import short, tell_refusal

log = get_logger("access")

FAILED: Final = "Authentication failed. Please verify the credentials and try again."
"""All that whoever is not known gets to hear, in the words of Apache RocketMQ."""
QUIET_SECONDS: Final = 10.0
"""Of refusals within so long one is told, with the number of those before."""


class AccessRefusals:
    """Counts what was refused, and tells of a few: who tries it often would fill the disk."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next = float("-inf")
        self._untold = 0
        self.unknown = 0
        self.forbidden = 0

    def note(self, call: Call, cause: str) -> None:
        """Count the refusal of `call`; it has a user when that is known."""
        if call.user:
            self.forbidden += 1
        else:
            self.unknown += 1
        self._untold += 1
        now = self._clock.monotonic()
        if now >= self._next:
            code, peer = call.frame.code, call.peer.address
            log.warning("request refused", cause=short(cause), code=code, peer=peer, refused=self._untold)
            self._untold = 0
            self._next = now + QUIET_SECONDS

    def counters(self) -> dict[str, str]:
        """For operators."""
        return {"authenticationFailures": str(self.unknown), "authorizationFailures": str(self.forbidden)}


class Guard:
    """Lets requests of one listener pass, or raises `Refusal`.

    `access`: who may do what; `None`: nobody is asked. `body_bytes_max`: longer bodies are not read to see
    what they ask for. `clients_only`: what operators do is refused, for it belongs to another port.
    """

    def __init__(
        self,
        access: Access | None,
        refusals: AccessRefusals | None,
        body_bytes_max: int,
        *,
        clients_only: bool = False,
    ) -> None:
        self._authentication = None if access is None else access.authentication
        self._authorization = None if access is None else access.authorization
        self._let_in = frozenset[int]() if access is None else access.let_in
        self._granted = frozenset[int]() if access is None else access.granted
        self._note = (lambda call, cause: None) if refusals is None else refusals.note
        self._body_bytes_max = body_bytes_max
        self._clients_only = clients_only

    def admit(self, call: Call, needs: Needs | None = None, signed: Signed | None = None) -> None:
        """Return when `call` may be served; `call.user` says then who sent it.

        `needs`: of what is no request; `signed`: user, text and signature that are there instead of a frame.
        """
        frame = call.frame
        kind = REQUESTS.get(frame.code)
        needs = needs or (UNDECLARED if kind is None else kind.NEEDS)
        if self._clients_only and kind is not None and needs.operators:
            raise Refusal(
                ResponseCode.NO_PERMISSION,
                f"{kind.__name__} ({kind.CODE}) is for operators, who have a port of their own here "
                "(operator_port)",
            )
        if self._authentication is not None:
            try:
                self._ask(kind, needs, call, signed)
            except Refused as refusal:
                self._note(call, refusal.cause)
                if call.user and kind is not None and needs.changes:
                    tell_refusal(kind, call, refusal)
                raise
            except (Refusal, BodyError):
                raise
            except Exception as problem:  # isolation boundary: whoever cannot be judged is not let in
                self._note(call, cause := f"{type(problem).__name__}: {problem}")
                log.exception("access control failed", code=frame.code, peer=call.peer.address)
                raise Refused(FAILED, cause) from None

    def _ask(self, kind: type[Request] | None, needs: Needs, call: Call, signed: Signed | None) -> None:
        peer, frame, who = cast("Caller", call.peer), call.frame, self._authentication
        if who is not None and not call.user:  # else whoever carried the request has seen who sent it
            try:
                call.user = who.authenticate_text(peer, *signed) if signed else who.authenticate(peer, frame)
            except Refused:
                if frame.code not in self._let_in:
                    raise
        if self._authorization is None or frame.code in self._granted:
            return
        if len(frame.body) > self._body_bytes_max and kind is not None and kind.has_text_body():
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"the body of {kind.__name__} has {len(frame.body)} bytes, at most {self._body_bytes_max} "
                "are read (net.body_bytes_max); send it in parts",
            )
        self._authorize(call, needs.find(frame))
        call.judge = self._judge

    def _authorize(self, call: Call, found: Sequence[Need]) -> None:
        assert self._authorization is not None
        if call.user:
            self._authorization.authorize(call.user, cast("Caller", call.peer), found)
        elif found:
            raise Refused(FAILED, "let in unsigned, but nothing is granted to somebody unknown")

    def _judge(self, call: Call, found: Sequence[Need]) -> None:
        """`Call.demand`: needs that show when the request is served."""
        try:
            self._authorize(call, found)
        except Refused as refusal:
            self._note(call, refusal.cause)
            raise
