"""The replication port of a master in this process, and connections that say what the test likes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, Self

from mqframe_replication.rules.admission import Home
from mqframe_replication.rules.feed import FeedLimits
from mqframe_replication.rules.hello import Hello, Welcome, WelcomeReader, encode_hello
from mqframe_replication.rules.stream import encode_report
from mqframe_replication.stream.feed_rules import MasterRules
from mqframe_replication.stream.feeding import Feeding
from mqframe_replication.stream.slave_admission import SlaveAdmission
from mqframe_testing.manual_clock import ManualClock

from mqframe.net.access.access import Access
from mqframe.net.settings import NetSettings

HOME = Home("C", "broker-a", 0, 1000)
HELLO = Hello("C", "broker-a", 1, 1000, 1250, "first")
LIMITS = FeedLimits(batch_bytes=100, file_bytes=1000, heartbeat_seconds=5, silent_seconds=20)


class Log:
    """A log of `data` that begins at 1000."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.min_offset = 1000

    @property
    def max_offset(self) -> int:
        return 1000 + len(self.data)

    def log_bytes(self, offset: int, size: int) -> memoryview | None:
        return memoryview(self.data)[offset - 1000 : offset - 1000 + size]


class Line:
    """One connection."""

    def __init__(self, place: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.place, self.reader, self.writer = place, reader, writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.place.clock.aadvance(0)

    async def welcome(self) -> Welcome:
        """The next one; nothing comes behind it."""
        found, reader = None, WelcomeReader()
        while found is None:
            data = await self.reader.read(1)
            assert data, "the connection has ended"
            found = reader.read(data)
        return found

    async def greet(self, hello: Hello = HELLO) -> Welcome:
        await self.say(encode_hello(hello))
        return await self.welcome()

    async def report(self, offset: int) -> None:
        await self.say(encode_report(offset))

    async def is_left(self) -> bool:
        """Whether the connection was closed, with nothing more said."""
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True


class Place:
    """A port where `hello` is what masters are told, with a log of 250 bytes."""

    def __init__(
        self,
        hello: str = "as_needed",
        *,
        net: NetSettings | None = None,
        access: Access | None = None,
        limits: FeedLimits = LIMITS,
    ) -> None:
        self.clock = ManualClock()
        self.log = Log(bytes(range(250)))
        self.admission = SlaveAdmission(HOME, hello)
        if access is not None:
            self.admission.enforce(access)
        self.feeding = Feeding(
            self.log, self.clock, limits, MasterRules(self.log, lambda: None), self.admission
        )
        if net is not None:
            self.feeding.secure(net)
        self.lines: list[Line] = []

    async def __aenter__(self) -> Self:
        await self.feeding.start("127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for line in self.lines:
            line.writer.close()
        await self.feeding.stop()

    async def connect(self, context: ssl.SSLContext | None = None) -> Line:
        streams = await asyncio.open_connection("127.0.0.1", self.feeding.port, ssl=context)
        self.lines.append(Line(self, *streams))
        await self.clock.aadvance(0)
        return self.lines[-1]

    @property
    def followed(self) -> list[tuple[int, int]]:
        return [(each.acknowledged, each.following) for each in self.feeding.slaves()]

    async def look(self, seconds: float) -> None:
        await self.clock.aadvance(seconds)
        self.feeding.look()
        await self.clock.aadvance(0)


def play(
    scenario: Callable[[Place], Coroutine[Any, Any, None]],
    hello: str = "as_needed",
    *,
    net: NetSettings | None = None,
    access: Access | None = None,
    limits: FeedLimits = LIMITS,
) -> None:
    async def whole() -> None:
        async with Place(hello, net=net, access=access, limits=limits) as place:
            await scenario(place)

    asyncio.run(whole())
