"""The connection of a slave to the replication port of its master (replication.md §1.2)."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from mqframe.core.errors import ConnectError, FrameError, StoreError
from mqframe.core.os_errors import told
from mqframe.core.replication.following import Following, FollowLimits
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within

log = get_logger("replication")
CONNECT_SECONDS: Final = 5.0


class CopyTarget(Protocol):
    """A log that is written from what comes: as `ReplicaStore`."""

    @property
    def max_offset(self) -> int:
        """Log offset behind the last whole record, bytes."""

    def append_copy(self, offset: int, data: bytes) -> None:
        """Append what lies at log offset `offset` of the master. Raises `StoreError`."""

    def forget_partial(self) -> None:
        """Drop what has come of a record that is not whole."""

    def dispatch_soon(self) -> None:
        """Let consumers see it."""


class Follower(asyncio.Protocol):
    """Copies the log of a master into `target`, one connection at a time.

    `trouble`: why the last connection was given up; empty while all is well. `heard_ms`, `reported_ms`: when
    the master said something, and was told something, the last time; 0 before.
    """

    def __init__(self, target: CopyTarget, clock: LoopClock, limits: FollowLimits) -> None:
        self._target = target
        self._clock = clock
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._following: Following | None = None
        self.trouble = ""
        self.heard_ms = self.reported_ms = 0

    @property
    def is_connected(self) -> bool:
        """Whether a connection to the master is open."""
        return self._transport is not None

    async def connect(self, address: str) -> None:
        """Follow the master at `address`, "host:port". Raises `ConnectError`."""
        host, _, port = address.rpartition(":")
        loop = asyncio.get_running_loop()
        if not (host and port.isdecimal()):
            raise ConnectError(f"replication port {address!r} of the master: must be host:port")
        try:
            await within(
                self._clock,
                CONNECT_SECONDS,
                loop.create_connection(lambda: self, host.strip("[]"), int(port)),
            )
        except OSError as problem:
            raise ConnectError(f"replication port {address} of the master: {told(problem)}") from None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report where the log ends."""
        now = self._clock.monotonic()
        self._transport = cast("asyncio.Transport", transport)
        self._target.forget_partial()
        stored = self._target.max_offset
        self._following = Following(self._limits, stored, now)
        self._say(self._following.greeting(stored, now))

    def _say(self, report: bytes) -> None:
        if report and self._transport is not None:
            self.reported_ms = self._clock.now_ms()
            self._transport.write(report)

    def data_received(self, data: bytes) -> None:
        """Append what came, and report each frame."""
        following = self._following
        if following is None:
            return
        self.heard_ms = self._clock.now_ms()
        try:
            for frame in following.hear(data, self._clock.monotonic()):
                self._target.append_copy(frame.offset, frame.data)
                self._say(following.report(self._target.max_offset, self._clock.monotonic()))
        except (FrameError, StoreError) as problem:
            self._give_up(str(problem))
        else:
            self.trouble = ""
            self._target.dispatch_soon()

    def look(self) -> None:
        """Report when that is due; leave a master that says nothing."""
        now = self._clock.monotonic()
        if self._following is None or self._transport is None:
            return
        if self._following.is_silent(now):
            self._give_up("the master says nothing")
            return
        self._say(self._following.report(self._target.max_offset, now))

    def _give_up(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.error("the master is not followed", problem=trouble)
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
            self._end()

    def _end(self) -> None:
        self._transport = self._following = None
        self._target.forget_partial()
