"""The shorter way of requests of one broker, of sends and of pulls, in the order in which they came."""

from __future__ import annotations

from typing import Final

from mqframe.core.messages.addresses import encode_host
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces.access import Authentication, Authorization
from mqframe.log import get_logger
from mqframe.net.frame_path import FramesServed, HoldingPeer, LateAnswers, LateReply
from mqframe_speedups.callers import KnownCallers, judges_of
from mqframe_speedups.pulls import BEGINNINGS as PULLS_BEGIN
from mqframe_speedups.pulls import PullPath
from mqframe_speedups.sends import BEGINNINGS as SENDS_BEGIN
from mqframe_speedups.sends import SendPath
from mqframe_speedups.served_read import WORDS_BYTES, ServedRead

log: Final = get_logger("broker")

_BEGINNINGS: Final = (*SENDS_BEGIN, *PULLS_BEGIN)


class BrokerPath:
    """The `FramePath` of one broker. `sends`: `None` where all of them go the longer way."""

    def __init__(self, sends: SendPath | None, pulls: PullPath) -> None:
        self._sends, self._pulls = sends, pulls
        self._callers: KnownCallers | None = None

    def may_take(self, data: bytes, start: int) -> bool:
        """As `FramePath.may_take`."""
        return data.startswith(_BEGINNINGS, start + WORDS_BYTES)

    def take(self, data: bytes, start: int, peer: HoldingPeer, received: float) -> FramesServed | None:
        """As `FramePath.take`."""
        made = ServedRead(data, peer, start=start)
        try:
            if self._callers is not None:
                made.caller = self._callers.of(peer)
            self._serve(made, received)
        except Exception:  # isolation boundary: what is not served here is served as ever
            log.exception("the shorter way of requests failed", peer=peer.address)
        if made.start == start:
            return None
        joined = b"".join(made.answers)
        answers: bytes | LateAnswers = joined
        if made.sent and self._sends is not None:
            answers = self._sends.answered(made, received, joined)
        # Consumers have messages to work on, and who sent a batch has another one to pack.
        unhurried = made.batched or not made.sent
        return FramesServed(made.start - start, answers, made.requests, unhurried)

    def take_one(
        self, request: SendMessageV2, body: Body, peer: Peer, received: float
    ) -> Reply | LateReply | None:
        """As `FramePath.take_one`."""
        if self._sends is None or self._callers is not None:
            return None
        try:
            return self._sends.take_one(request, body, encode_host(peer.address), received)
        except (OverflowError, TypeError, UnicodeEncodeError):
            return None  # whoever serves it now says what is wrong with it
        except Exception:  # isolation boundary: what is not served here is served as ever
            log.exception("the shorter way of sends failed", peer=peer.address)
            return None

    def enforce(self, who: Authentication | None, what: Authorization | None) -> bool:
        """As `FramePath.enforce`."""
        judges = judges_of(who, what)
        if judges is None:
            log.info("no speedups", why="access control has to see every request")
            return False
        self._callers = KnownCallers(judges)
        return True

    def _serve(self, made: ServedRead, received: float) -> None:
        """Serve what can be served, sends and pulls in turns."""
        sends, was_pull, start = self._sends, False, made.start
        while made.start < len(made.data) and made.room > 0:
            is_pull = self._pulls.is_next(made)
            if made.start > start and is_pull != was_pull and sends is not None and sends.waits:
                return  # answers to sends wait, those to pulls do not
            was_pull, before = is_pull, made.start
            if is_pull:
                self._pulls.take(made, received)
            elif sends is not None:
                sends.take(made, encode_host(made.peer.address))
            if made.start == before:
                return
