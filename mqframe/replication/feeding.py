"""The replication port of a master: slaves connect, and are sent its log (replication.md §1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, cast

from mqframe.core.errors import FrameError
from mqframe.core.replication.feed import Feed, FeedLimits
from mqframe.core.replication.stream import frame_head
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, Timer

log = get_logger("replication")
SLAVES_MAX: Final = 64
"""Most connections at once; more would be strangers."""
_BYTES_AT_ONCE: Final = 1 << 20
"""After so much to one slave others have their turn."""
_WRITE_BYTES: Final = 1 << 18
"""About as much is written with one call."""


class LogSource(Protocol):
    """A log that is sent: as `MessageStore`."""

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept, bytes."""

    @property
    def max_offset(self) -> int:
        """Log offset behind the last record, bytes."""

    def log_bytes(self, offset: int, size: int) -> memoryview | None:
        """`size` bytes from `offset` on, within one file; `None` where they are not (any more) there."""


class FedSlave(NamedTuple):
    """A connected slave: its address, where it has the log up to, and the next byte that it is sent."""

    address: str
    acknowledged: int
    following: int


class Feeding:
    """Sends the log of `source` to all slaves that connect.

    `push` is to be called when there is more of the log; `look` from time to time. `on_report` is called when
    a slave told how far it is, or left.

    With `limits.gather_seconds` what `push` is called for leaves so much later, with all that came meanwhile:
    each frame costs a slave about as much as ten messages in it.
    """

    def __init__(
        self, source: LogSource, clock: LoopClock, limits: FeedLimits, on_report: Callable[[], object]
    ) -> None:
        self.source = source
        self.clock = clock
        self.limits = limits
        self.on_report = on_report
        self._slaves: dict[_Connection, None] = {}
        self._listener: asyncio.Server | None = None
        self._gathering: Timer | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Listen; 0: at any free port. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _Connection(self), host.strip("[]"), port)
        self.port = int(self._listener.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and all connections."""
        self.abandon()
        if self._listener is not None:
            await self._listener.wait_closed()

    def abandon(self) -> None:
        """Close the port and all connections, without waiting."""
        if self._gathering is not None:
            self._gathering.cancel()
        if self._listener is not None:
            self._listener.close()
        for each in tuple(self._slaves):
            each.close()

    def acknowledged(self) -> list[int]:
        """Up to where each connected slave has the log; those that have not reported yet are not listed."""
        return [each.feed.acknowledged for each in self._slaves if each.feed.following >= 0]

    def slaves(self) -> list[FedSlave]:
        """The slaves that have reported."""
        return [
            FedSlave(each.address, each.feed.acknowledged, each.feed.following)
            for each in self._slaves
            if each.feed.following >= 0
        ]

    def push(self) -> None:
        """Send what there is of the log to those who can take it, at once or a little later."""
        if not self._slaves:
            return
        seconds = self.limits.gather_seconds
        if not seconds:
            self._push()
        elif self._gathering is None:
            self._gathering = self.clock.call_later(seconds, self._push)

    def _push(self) -> None:
        self._gathering = None
        for each in tuple(self._slaves):
            each.push()

    def look(self) -> None:
        """Send heartbeats and whatever is due; close silent connections."""
        now = self.clock.monotonic()
        for each in tuple(self._slaves):
            if each.feed.is_silent(now):
                log.warning("a slave says nothing; its connection is closed", slave=each.address)
                each.close()
            else:
                each.push()

    def join(self, slave: _Connection) -> bool:
        """Take `slave` in; False where there are too many."""
        if len(self._slaves) >= SLAVES_MAX:
            return False
        self._slaves[slave] = None
        return True

    def leave(self, slave: _Connection) -> None:
        """`slave` is gone."""
        if slave in self._slaves:
            del self._slaves[slave]
            self.on_report()


class _Connection(asyncio.Protocol):
    def __init__(self, feeding: Feeding) -> None:
        self._feeding = feeding
        self._transport: asyncio.Transport | None = None
        self._paused = self._pushes_again = False
        self.feed = Feed(feeding.limits, feeding.clock.monotonic())
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        host, port = transport.get_extra_info("peername")[:2]
        self.address = f"{host}:{port}"
        if not self._feeding.join(self):
            log.warning(
                "too many connections at the replication port; one more is refused", peer=self.address
            )
            self.close()

    def data_received(self, data: bytes) -> None:
        feeding, source = self._feeding, self._feeding.source
        new = self.feed.following < 0
        try:
            self.feed.hear(data, source.min_offset, source.max_offset, feeding.clock.monotonic())
        except FrameError as problem:
            log.error("a slave is refused", slave=self.address, problem=str(problem))
            self.close()
            return
        if new and self.feed.following >= 0:
            log.info("a slave follows", slave=self.address, offset=self.feed.following)
        if new or not feeding.limits.gather_seconds:
            self.push()
        feeding.on_report()

    def push(self) -> None:
        """Send what is due, as long as it leaves."""
        left = _BYTES_AT_ONCE
        while self._transport is not None and not self._paused:
            if left <= 0:
                if not self._pushes_again:
                    self._pushes_again = True
                    asyncio.get_running_loop().call_soon(self._push_again)
                return
            parts = self._parts_due()
            if not parts:
                return
            # Joined: parts are views of mapped files, which must not outlive this turn.
            data = b"".join(parts)
            left -= len(data)
            self._transport.write(data)

    def _parts_due(self) -> list[bytes | memoryview]:
        """Frames that are due, of some `_WRITE_BYTES`, in parts; empty when none is, or the slave is left."""
        source, now = self._feeding.source, self._feeding.clock.monotonic()
        parts: list[bytes | memoryview] = []
        left = _WRITE_BYTES
        while left > 0 and (due := self.feed.due(source.max_offset, now)) is not None:
            parts.append(frame_head(due.offset, due.size))
            if due.size:
                data = source.log_bytes(due.offset, due.size)
                if data is None:
                    log.error(
                        "a slave is so far behind that what it needs is deleted; start it with an empty"
                        " store",
                        slave=self.address, offset=due.offset
                    )  # fmt: skip
                    self.close()
                    return []
                parts.append(data)
            left -= due.size
        return parts

    def _push_again(self) -> None:
        self._pushes_again = False
        self.push()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self.push()

    def close(self) -> None:
        """Close the connection; it counts no more."""
        if self._transport is not None:
            self._transport.abort()
        self._transport = None
        self._feeding.leave(self)

    def connection_lost(self, problem: Exception | None) -> None:
        if self._transport is not None:
            log.info("a slave has left", slave=self.address)
        self._transport = None
        self._feeding.leave(self)
