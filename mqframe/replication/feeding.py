"""The replication port of a master: slaves connect, and are sent its log (replication.md §1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, cast

from mqframe.core.errors import FrameError
from mqframe.core.measuring.per_second import PerSecond
from mqframe.core.replication.admission import Home, taken_id
from mqframe.core.replication.feed import Due, Feed, FeedLimits
from mqframe.core.replication.hello import Hello, Welcome
from mqframe.core.replication.send_rate import SendRate
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, Timer
from mqframe.net.listening import listen, port_of
from mqframe.net.settings import NetSettings
from mqframe.net.tls.contexts import server_context
from mqframe.net.tls.following import FollowingContext
from mqframe.net.tls.gate import TlsGate
from mqframe.replication.greeting import Lobby
from mqframe.replication.reception import Reception
from mqframe.replication.settings import AS_NEEDED

log = get_logger("replication")
SLAVES_MAX: Final = 64
"""Most connections at once; more would be strangers."""
_HANDSHAKES_MAX: Final = 512
"""Most connections at once that have not ended their TLS handshake."""
_BYTES_AT_ONCE: Final = 1 << 20
"""After so much to one slave others have their turn."""
_WRITE_BYTES: Final = 1 << 18
"""About as much is written with one call."""


class LogSource(Protocol):
    """A log that is sent: as `LogOffsets`."""

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept, bytes."""

    @property
    def max_offset(self) -> int:
        """Log offset behind the last record, bytes."""

    def log_bytes(self, offset: int, size: int) -> memoryview | None:
        """`size` bytes from `offset` on, within one file; `None` where they are not (any more) there."""


class FedSlave(NamedTuple):
    """A connected slave: where it is, has the log up to, and is sent next.

    `id`: its number, where it said hello; `sent_in_second`: how many bytes it was sent in the last whole one.
    """

    address: str
    acknowledged: int
    following: int
    id: int | None = None
    sent_in_second: int = 0


class Feeding:
    """Sends the log of `source` to all slaves that connect and whom `reception` takes; `None`: plain ones.

    `push` is to be called when there is more of the log; `look` from time to time. `on_report` is called when
    a slave told how far it is, or left.

    With `limits.gather_seconds` what `push` is called for leaves so much later, with all that came meanwhile:
    each frame costs a slave about as much as ten messages in it.
    """

    def __init__(
        self,
        source: LogSource,
        clock: LoopClock,
        limits: FeedLimits,
        on_report: Callable[[], object],
        reception: Reception | None = None,
    ) -> None:
        self.source = source
        self.clock = clock
        self.limits = limits
        self.on_report = on_report
        most = limits.bytes_per_second_max
        self.rate = None if most is None else SendRate(most, clock.monotonic())
        self._slaves: dict[Connection, None] = {}
        reception = reception or Reception(Home("", "", 0, limits.file_bytes), AS_NEEDED)
        self.lobby = Lobby(reception, self, clock, limits.silent_seconds)
        self._gate: TlsGate | None = None
        self._listener: asyncio.Server | None = None
        self._pushes_again = False
        self._gathering: Timer | None = None
        self.port = 0

    def secure(self, settings: NetSettings) -> None:
        """Take connections as servers of `settings` do, from the start on. Raises `SettingError`."""
        context = FollowingContext(server_context, settings, self.clock)
        if context.current is None:
            return
        plain = settings.tls_server_mode == "permissive"
        patience = self.limits.silent_seconds
        self._gate = gate = TlsGate(context, self.clock, self.lobby.arrive, plain=plain, patience=patience)
        gate.waiting_max = _HANDSHAKES_MAX
        gate.plain_refused = (
            "a slave without TLS is refused: this replication port takes TLS only. Have it use TLS (net.tls),"
            " or, for RocketMQ's slaves, which cannot, set replication.tls = off here"
        )

    async def start(self, host: str, port: int) -> None:
        """Listen; 0: at any free port. Raises `OSError`."""
        arrive = self.lobby.arrive if self._gate is None else self._gate.arrive
        self._listener = await listen(arrive, host, port)
        self.port = port_of(self._listener)

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
        if self._gate is not None:
            self._gate.close()
        self.lobby.close()
        for each in tuple(self._slaves):
            each.close()

    def acknowledged(self) -> list[int]:
        """Up to where each connected slave has the log; those that have not reported yet are not listed."""
        return [each.feed.acknowledged for each in self._slaves if each.is_followed]

    def slaves(self) -> list[FedSlave]:
        """The slaves that have reported."""
        now = self.clock.monotonic()
        return [
            FedSlave(
                each.address,
                each.feed.acknowledged,
                each.feed.following,
                None if each.hello is None else each.hello.id,
                each.sent.last(now),
            )
            for each in self._slaves
            if each.is_followed
        ]

    def push(self) -> None:
        """Send what there is of the log to those who can take it, at once or a little later."""
        if not self._slaves:
            return
        if self.rate is not None:
            self._push_evenly(self.rate)
        elif self.limits.gather_seconds:
            self.push_later(self.limits.gather_seconds)
        else:
            self._push()

    def push_later(self, seconds: float) -> None:
        """Send so much later what there is then, unless that is about to happen anyway."""
        if self._gathering is None:
            self._gathering = self.clock.call_later(seconds, self._push)

    def _push(self) -> None:
        self._gathering = None
        for each in tuple(self._slaves):
            each.push()

    def _push_evenly(self, rate: SendRate) -> None:
        """Send to each slave that lacks something the same part of what may be sent now."""
        for each in tuple(self._slaves):
            each.send_next(0)  # a heartbeat where one is due
        hungry = [each for each in self._slaves if each.wanted]
        if not hungry:
            return
        allowed = rate.allowed(sum(each.wanted for each in hungry), self.clock.monotonic())
        part = min(allowed // len(hungry), _BYTES_AT_ONCE)
        for each in hungry:
            rate.spend(each.send_part(part))
        if part and not self._pushes_again:
            self._pushes_again = True
            asyncio.get_running_loop().call_soon(self._push_again)

    def _push_again(self) -> None:
        self._pushes_again = False
        self.push()

    def look(self) -> None:
        """Send heartbeats and whatever is due; close silent connections."""
        now = self.clock.monotonic()
        self.lobby.look()
        if self._gate is not None:
            self._gate.tell()
        for each in tuple(self._slaves):
            lacks = "says" if each.feed.is_silent(now) else "takes" if each.is_stuck(now) else ""
            if lacks:
                self.lobby.refusals.note_closed(each.address, lacks)
                each.close()
        self.push()

    def objection(self, hello: Hello | None) -> str:
        """Why another slave cannot come in now; empty: nothing is against it (`Entrance`)."""
        if len(self._slaves) >= SLAVES_MAX:
            return "too many slaves are connected"
        for each, said in self._alike(hello):
            if hello is not None and said.boot != hello.boot:
                return taken_id(hello, each.address)
        return ""

    def _alike(self, hello: Hello | None) -> list[tuple[Connection, Hello]]:
        """The connections of slaves of the same number, and what they said."""
        said = [(each, each.hello) for each in self._slaves if each.hello is not None]
        return [(each, other) for each, other in said if hello is not None and other.id == hello.id]

    def welcome(self, hello: Hello) -> Welcome:
        """What is said to a slave that comes in (`Entrance`)."""
        return Welcome(start=self.source.min_offset, end=self.source.max_offset)

    def enter(self, hello: Hello | None) -> asyncio.Protocol:
        """What goes on with the connection of a slave (`Entrance`)."""
        for each, said in self._alike(hello):
            if hello is not None and said.fetches == hello.fetches:
                log.info("a slave comes again; its former connection is closed", slave=each.address)
                each.close()
        return Connection(self, hello)

    def feed_of(self, hello: Hello | None) -> Feed:
        """What feeds a slave that said `hello`."""
        return Feed(self.limits, self.clock.monotonic())

    def join(self, slave: Connection) -> None:
        """Take `slave` in."""
        self._slaves[slave] = None

    def heard(self, slave: Connection) -> None:
        """`slave` has said how far it is."""
        self.on_report()

    def leave(self, slave: Connection) -> None:
        """`slave` is gone."""
        if slave in self._slaves:
            del self._slaves[slave]
            self.on_report()


class Connection(asyncio.Protocol):
    """The connection of one slave. `hello`: what it said; `None`: it is a plain one."""

    def __init__(self, feeding: Feeding, hello: Hello | None) -> None:
        self._feeding = feeding
        self._transport: asyncio.Transport | None = None
        self._paused = self._pushes_again = False
        self.hello = hello
        self.feed = feeding.feed_of(hello)
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
        self._feeding.join(self)

    def data_received(self, data: bytes) -> None:
        """Take its reports (asyncio.Protocol)."""
        feeding, source = self._feeding, self._feeding.source
        new = self.feed.following < 0
        try:
            self.feed.hear(data, source.min_offset, source.max_offset, feeding.clock.monotonic())
        except FrameError as problem:
            feeding.lobby.refusals.note(self.address, str(problem))
            self.close()
            return
        if new and self.feed.following >= 0:
            feeding.lobby.refusals.over(self.address, self.feed.following)
        if new or not feeding.limits.gather_seconds:
            self.push()
        feeding.heard(self)

    def push(self) -> None:
        """Send what is due, as long as it leaves."""
        if self._feeding.rate is not None:
            return self._feeding.push()  # the others are to have as much of it
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
            left -= self._write(parts)

    def _parts_due(self) -> list[bytes | memoryview]:
        """Frames that are due, of some `_WRITE_BYTES`, in parts; empty when none is, or the slave is left."""
        source, now = self._feeding.source, self._feeding.clock.monotonic()
        parts: list[bytes | memoryview] = []
        left = _WRITE_BYTES
        while left > 0 and (due := self.feed.due(source.max_offset, now)) is not None:
            if not self._add(due, parts):
                return []
            left -= due.size
        return parts

    def _add(self, due: Due, parts: list[bytes | memoryview]) -> bool:
        """Add the frame of `due` to `parts`; False: the log does not have it any more, the slave is left."""
        parts.append(self.feed.head(due))
        if due.size:
            data = self._feeding.source.log_bytes(due.offset, due.size)
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
        self.sent.add(len(data), self._feeding.clock.monotonic())
        return len(data)

    @property
    def wanted(self) -> int:
        """How many bytes there are for the slave that it can take."""
        if self._transport is None or self._paused or self.feed.following < 0:
            return 0
        return max(0, self._feeding.source.max_offset - self.feed.following)

    def send_part(self, size: int) -> int:
        """Send `size` bytes of the log, or what there is of that; how many were sent."""
        left = size
        while left and (sent := self.send_next(left)) is not None and sent.size:
            left -= sent.size
        return size - left

    def send_next(self, most: int | None = None) -> Due | None:
        """Send one frame, of `most` bytes of the log at most, if there is one to send; what was sent."""
        feeding = self._feeding
        if self._transport is None or self._paused:
            return None
        due = self.feed.due(feeding.source.max_offset, feeding.clock.monotonic(), most)
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
        self._feeding.leave(self)

    def connection_lost(self, problem: Exception | None) -> None:
        """It is gone (asyncio.Protocol)."""
        if self._transport is not None:
            log.info("a slave has left", slave=self.address)
        self._transport = None
        self._feeding.leave(self)
