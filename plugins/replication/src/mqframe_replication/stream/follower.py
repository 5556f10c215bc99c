"""The connection of a slave to the replication port of its master (replication.md §1.2)."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Generic, cast

from mqframe.core.errors import ConnectError, FrameError, StoreError
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.trouble import Trouble
from mqframe_replication.rules.following import F, Following, FollowLimits
from mqframe_replication.rules.hello import Welcome
from mqframe_replication.rules.per_second import PerSecond
from mqframe_replication.stream.copy_rules import CopyRules, CopyTarget
from mqframe_replication.stream.dialing import Dialer

log = get_logger("replication")
_BUFFER_BYTES: Final = 1 << 18
_PAUSE_SECONDS_MAX: Final = 20.0
LACKS: Final = "a part of this log was damaged and set aside; it is fetched from the master before all else"


class MasterFollower(asyncio.BufferedProtocol, Generic[F]):
    """Copies the log of a master into `target`, one connection at a time.

    A connection is made by `connect`, and says nothing before `begin`: what is asked of the master in between
    is true of the process that will send, for a new one has other connections. `dialer`: what opens them;
    `rules`: what comes on them, and how far a copy is acknowledged.

    `trouble`: why the last connection was given up; empty while all is well. `unstored`: why what came could
    not be stored, empty once something is stored again; `failures`: how often since. `heard_ms`,
    `reported_ms`: when the master said something, and was told something, the last time; `heard_end`: up to
    where the master's log went by then, bytes; 0 before. `received`: bytes of it.
    """

    def __init__(
        self,
        target: CopyTarget,
        clock: LoopClock,
        limits: FollowLimits,
        dialer: Dialer,
        rules: CopyRules[F],
    ) -> None:
        self._target = target
        self._dialer = dialer
        self._rules = rules
        self._clock = clock
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._following: Following[F] | None = None
        # One for all that comes: to make and drop large blocks costs more than what is done with them.
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self.trouble = self.unstored = self._address = ""
        self._unfollowed = Trouble(log, clock.monotonic, level=logging.ERROR)
        self.failures = 0
        self.heard_ms = self.reported_ms = self.heard_end = 0
        self.received = PerSecond()

    def pause(self, usual: float) -> float:
        """How long to wait between two connections, `usual` seconds where nothing failed.

        Whoever cannot store what comes is not to come again and again.
        """
        return min(usual * (1 << min(self.failures, 9)), max(usual, _PAUSE_SECONDS_MAX))

    @property
    def is_following(self) -> bool:
        """Whether a connection to the master is open, and was begun."""
        return self._following is not None

    async def connect(self, address: str) -> Welcome | None:
        """Open a connection to the replication port at `address`. Takes, returns and raises as `Dialer`."""
        self.close()
        self._address = address
        return await self._dialer.open(self, address)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for `begin`."""
        self._transport = cast("asyncio.Transport", transport)

    def begin(self) -> None:
        """Report where the log ends, upon which the master sends. Raises `ConnectError` when it has left."""
        if self._transport is None:
            raise ConnectError("the master closed the replication connection before it was begun")
        if not self._target.is_whole:
            self.close()
            raise StoreError(LACKS)
        now = self._clock.monotonic()
        self._target.forget_partial()
        stored = self._target.max_offset
        self._following = Following(self._limits, stored, now, self._rules.begin(self.look))
        self.trouble = ""
        self._say(self._following.first_report(stored, now))
        if not self.unstored:
            self._note_followed()

    def _say(self, report: bytes) -> None:
        if not self._target.is_whole:
            self._give_up(LACKS)
        elif report and self._transport is not None:
            self.reported_ms = self._clock.now_ms()
            self._transport.write(report)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes are to lie."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes came."""
        self.data_received(self._buffer[:nbytes])

    def data_received(self, data: bytes | memoryview) -> None:
        """Append what came, and report it."""
        following = self._following
        if following is None:
            self._give_up(
                "the master sends before it was told where this log ends: it is no replication port"
            )
            return
        self.heard_ms = self._clock.now_ms()
        now = self._clock.monotonic()
        self.received.add(len(data), now)
        frames: list[F] = []
        try:
            try:
                frames.extend(following.hear(data, now))
            finally:
                if frames:  # each follows on the one before: they are one stretch of the log
                    self._rules.coming(frames)
                    self._target.append_copy(frames[0].offset, *[frame.data for frame in frames])
                    self._rules.stored(frames)
            if frames:
                if self.unstored:
                    self._note_followed()
                self.unstored, self.failures = "", 0
                self._say(following.report(self._rules.acknowledged, now))
        except (FrameError, StoreError) as problem:
            self.failures += 1
            self._give_up(str(problem))
            self.unstored = str(problem)
        self.heard_end = max(self.heard_end, following.end)
        self._target.dispatch_soon()

    def look(self) -> None:
        """Report when that is due; leave a master that says nothing."""
        now = self._clock.monotonic()
        if self._following is None or self._transport is None:
            return
        if self._following.is_silent(now):
            self._give_up("the master says nothing")
            return
        self._say(self._following.report(self._rules.acknowledged, now))

    def note_trouble(self, trouble: str, *, may_pass: bool = False) -> None:
        """The master is not followed, for `trouble`. `may_pass`: for its first seconds that is no error."""
        self._unfollowed.note("the master is not followed", kind=trouble, may_pass=may_pass, problem=trouble)

    def _note_followed(self) -> None:
        event, offset = "a master is followed", self._target.max_offset
        if not self._unfollowed.over(event, master=self._address, offset=offset):
            log.info(event, master=self._address, offset=offset)

    def _give_up(self, trouble: str) -> None:
        self.note_trouble(trouble)
        self.trouble = trouble
        self.close()

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._transport is not None:
            self._transport.abort()
            self._end()

    def connection_lost(self, problem: Exception | None) -> None:
        """The next one begins behind the last whole record."""
        if self._transport is not None:
            log.info("the connection to the master has ended")
            self.trouble = (
                "the master, or the network, ended the connection; a refusal is in the master's log"
            )
            self._end()

    def _end(self) -> None:
        self._transport = self._following = None
        self._target.forget_partial()
        self._rules.ended()
