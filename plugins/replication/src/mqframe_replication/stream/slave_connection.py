"""The connection of one slave to the replication port of its master (replication.md §1.1)."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from mqframe.core.errors import FrameError
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe_replication.rules.feed import DueBytes, Feed, FeedLimits
from mqframe_replication.rules.hello import Hello
from mqframe_replication.rules.per_second import PerSecond
from mqframe_replication.rules.send_rate import SendRate
from mqframe_replication.stream.feed_rules import LogSource
from mqframe_replication.stream.refusals import ConnectionRefusals

log = get_logger("replication")
BYTES_AT_ONCE: Final = 1 << 20
"""After so much to one slave others have their turn."""
_WRITE_BYTES: Final = 1 << 18
"""About as much is written with one call."""


class FeedingPort(Protocol):
    """The port that slaves connect to, with all of them: as `Feeding`."""

    source: LogSource
    clock: LoopClock
    limits: FeedLimits
    rate: SendRate | None
    refusals: ConnectionRefusals

    def push(self) -> None:
        """Send what there is of the log to those who can take it."""

    def join(self, slave: SlaveConnection, /) -> None:
        """Take `slave` in."""

    def heard(self, slave: SlaveConnection, /) -> None:
        """`slave` has said how far it is."""

    def leave(self, slave: SlaveConnection, /) -> None:
        """`slave` is gone."""


class SlaveConnection(asyncio.Protocol):
    """The connection of one slave to `port`.

    `hello`: what it said; `None`: it is a plain one. `feed`: what it is to be sent.
    """

    def __init__(self, port: FeedingPort, hello: Hello | None, feed: Feed) -> None:
        self._port = port
        self._transport: asyncio.Transport | None = None
        self._paused = self._pushes_again = False
        self.hello = hello
        self.feed = feed
        self.sent = PerSecond()
        self.address = ""

    @property
    def is_followed(self) -> bool:
        """Whether the slave reports where its log ends, and has."""
        return self.feed.following >= 0 and (self.hello is None or not self.hello.fetches)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the slave in (asyncio.Protocol)."""
        self._transport = cast("asyncio.Transport", transport)
        host, port = transport.get_extra_info("peername")[:2]
        self.address = f"{host}:{port}"
        self._port.join(self)

    def data_received(self, data: bytes) -> None:
        """Take its reports (asyncio.Protocol)."""
        port, source = self._port, self._port.source
        new = self.feed.following < 0
        try:
            self.feed.hear(data, source.min_offset, source.max_offset, port.clock.monotonic())
        except FrameError as problem:
            port.refusals.note(self.address, str(problem))
            self.close()
            return
        if new and self.feed.following >= 0:
            port.refusals.over(self.address, self.feed.following)
        if new or not port.limits.gather_seconds:
            self.push()
        port.heard(self)

    def push(self) -> None:
        """Send what is due, as long as it leaves."""
        if self._port.rate is not None:
            return self._port.push()  # the others are to have as much of it
        left = BYTES_AT_ONCE
        while self._transport is not None and not self._paused:
            if left <= 0:
                if not self._pushes_again:
                    self._pushes_again = True
                    asyncio.get_running_loop().call_soon(self._push_again)
                return
            parts = self._parts_due()
            if not parts:
                return
            left -= self._write(parts)

    def _parts_due(self) -> list[bytes | memoryview]:
        """Frames that are due, of some `_WRITE_BYTES`, in parts; empty when none is, or the slave is left."""
        source, now = self._port.source, self._port.clock.monotonic()
        parts: list[bytes | memoryview] = []
        left = _WRITE_BYTES
        while left > 0 and (due := self.feed.due(source.max_offset, now)) is not None:
            if not self._add(due, parts):
                return []
            left -= due.size
        return parts

    def _add(self, due: DueBytes, parts: list[bytes | memoryview]) -> bool:
        """Add the frame of `due` to `parts`; False: the log does not have it any more, the slave is left."""
        parts.append(self.feed.head(due))
        if due.size:
            data = self._port.source.log_bytes(due.offset, due.size)
            if data is None:
                log.error(
                    "a slave is so far behind that what it needs is deleted; start it with an empty store",
                    slave=self.address, offset=due.offset
                )  # fmt: skip
                self.close()
                return False
            parts.append(data)
        return True

    def _write(self, parts: list[bytes | memoryview]) -> int:
        """Write `parts`; how many bytes."""
        assert self._transport is not None
        # Joined: parts are views of mapped files, which must not outlive this turn.
        data = b"".join(parts)
        self._transport.write(data)
        self.sent.add(len(data), self._port.clock.monotonic())
        return len(data)

    @property
    def wanted(self) -> int:
        """How many bytes there are for the slave that it can take."""
        if self._transport is None or self._paused or self.feed.following < 0:
            return 0
        return max(0, self._port.source.max_offset - self.feed.following)

    def send_part(self, size: int) -> int:
        """Send `size` bytes of the log, or what there is of that; how many were sent."""
        left = size
        while left and (sent := self.send_next(left)) is not None and sent.size:
            left -= sent.size
        return size - left

    def send_next(self, most: int | None = None) -> DueBytes | None:
        """Send one frame, of `most` bytes of the log at most, if there is one to send; what was sent."""
        port = self._port
        if self._transport is None or self._paused:
            return None
        due = self.feed.due(port.source.max_offset, port.clock.monotonic(), most)
        parts: list[bytes | memoryview] = []
        if due is None or not self._add(due, parts):
            return None
        self._write(parts)
        return due

    def is_stuck(self, now: float) -> bool:
        """Whether the slave takes nothing of what waits for it."""
        line = self._transport
        return line is not None and self.feed.is_stuck(line.get_write_buffer_size(), now)

    def _push_again(self) -> None:
        self._pushes_again = False
        self.push()

    def pause_writing(self) -> None:
        """It takes no more for now (asyncio.Protocol)."""
        self._paused = True

    def resume_writing(self) -> None:
        """It takes more again (asyncio.Protocol)."""
        self._paused = False
        self.push()

    def close(self) -> None:
        """Close the connection; it counts no more."""
        if self._transport is not None:
            self._transport.abort()
        self._transport = None
        self._port.leave(self)

    def connection_lost(self, problem: Exception | None) -> None:
        """It is gone (asyncio.Protocol)."""
        if self._transport is not None:
            log.info("a slave has left", slave=self.address)
        self._transport = None
        self._port.leave(self)
