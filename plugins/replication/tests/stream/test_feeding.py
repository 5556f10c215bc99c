"""The replication port, with slaves that speak by themselves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import master_port
import pytest
from mqframe_replication.rules.feed import FeedLimits
from mqframe_replication.rules.stream import FrameReader, encode_report, frame_head
from mqframe_replication.stream.feed_rules import MasterRules
from mqframe_replication.stream.feeding import SLAVES_MAX, FedSlave, Feeding
from mqframe_testing.manual_clock import ManualClock

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
        if offset < self.min_offset:
            return None
        return memoryview(self.data)[offset - 1000 : offset - 1000 + size]


class Place:
    def __init__(self, limits: FeedLimits = LIMITS) -> None:
        self.clock = ManualClock()
        self.log = Log(bytes(range(250)))
        self.writers: list[asyncio.StreamWriter] = []
        self.reports: list[list[int]] = []
        rules = MasterRules(self.log, lambda: self.reports.append(self.feeding.acknowledged()))
        self.feeding = Feeding(self.log, self.clock, limits, rules)

    async def close(self) -> None:
        for writer in self.writers:
            writer.close()
        await self.feeding.stop()

    async def join(self, report: int | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.feeding.port)
        self.writers.append(writer)
        if report is not None:
            writer.write(encode_report(report))
        await self.clock.aadvance(0)
        return reader, writer


async def is_left(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


@asynccontextmanager
async def staged(limits: FeedLimits = LIMITS) -> AsyncIterator[Place]:
    place = Place(limits)
    await place.feeding.start("127.0.0.1", 0)
    try:
        yield place
    finally:
        await place.close()


async def test_a_slave_gets_the_log_and_then_what_is_appended() -> None:
    async with staged() as place:
        reader, writer = await place.join(0)
        data = place.log.data
        first = b"".join(
            frame_head(1000 + at, len(data[at : at + 100])) + data[at : at + 100] for at in (0, 100, 200)
        )
        assert await reader.readexactly(len(first)) == first
        place.log.data += b"more"
        place.feeding.push()
        assert await reader.readexactly(16) == frame_head(1250, 4) + b"more"
        writer.write(encode_report(1254))
        await place.clock.aadvance(0)
        assert place.feeding.acknowledged() == [1254]
        [slave] = place.feeding.slaves()
        assert slave == FedSlave(slave.address, 1254, 1254)
        writer.close()
        await place.clock.aadvance(0)
        assert place.feeding.acknowledged() == []
        assert place.reports == [[0], [1254], []]


async def test_what_is_gathered_leaves_together_when_the_first_of_it_has_waited_long_enough() -> None:
    async with staged(attrs.evolve(LIMITS, gather_seconds=0.005)) as place:
        reader, writer = await place.join(1250)
        for more in (b"some", b"more"):
            place.log.data += more
            place.feeding.push()
            writer.write(encode_report(1250))  # reports bring nothing forward
            await place.clock.aadvance(0.002)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await reader.read(1)
        await place.clock.aadvance(0.001)
        assert await reader.readexactly(20) == frame_head(1250, 8) + b"somemore"
        place.log.data += b"last"
        place.feeding.push()
        await place.clock.aadvance(0.005)
        assert await reader.readexactly(16) == frame_head(1258, 4) + b"last"
        place.feeding.push()  # what is left to wait is dropped with the port


async def test_an_idle_slave_gets_heartbeats_and_a_silent_one_is_left() -> None:
    async with staged() as place:
        reader, _ = await place.join(1250)
        for seconds in (5.1, 5.1):
            await place.clock.aadvance(seconds)
            place.feeding.look()
            assert await reader.readexactly(12) == frame_head(1250, 0)
        await place.clock.aadvance(10)
        place.feeding.look()
        assert await is_left(reader)
        assert place.feeding.slaves() == []


async def test_a_slave_whose_log_is_another_is_refused_and_does_not_count() -> None:
    async with staged() as place:
        reader, _ = await place.join(1251)
        assert await is_left(reader)
        assert place.feeding.acknowledged() == []


async def test_a_slave_that_is_behind_what_is_deleted_is_left() -> None:
    async with staged() as place:
        reader, _ = await place.join(1250)
        place.log.data += b"more"
        place.log.min_offset = 2000
        place.feeding.push()
        assert await is_left(reader)


async def test_strangers_do_not_fill_the_port() -> None:
    async with staged() as place:
        kept = [await place.join(None) for _ in range(SLAVES_MAX)]
        reader, _ = await place.join(1250)
        assert await is_left(reader)
        kept[0][1].close()
        await place.clock.aadvance(0)
        await place.join(1250)
        assert len(place.feeding.slaves()) == 1


SLOW = attrs.evolve(LIMITS, bytes_per_second_max=1100, file_bytes=1 << 20)


async def came(line: master_port.Line, reader: FrameReader) -> list[int]:
    """The sizes of the frames that have come."""
    sizes: list[int] = []
    while True:
        try:
            async with asyncio.timeout(0):
                data = await line.reader.read(1 << 20)
        except TimeoutError:
            return sizes
        sizes += [len(frame.data) for frame in reader.read(data)]


async def test_all_slaves_together_get_what_is_allowed_each_as_much() -> None:
    async with master_port.Place(limits=SLOW) as place:
        place.log.data = bytes(100_000)
        lines = [await place.connect() for _ in range(3)]
        for line in lines:
            await line.report(1000)
        readers = [FrameReader() for _ in lines]
        seconds = []
        for _ in range(5):
            second = [0] * len(lines)
            for _ in range(10):
                await place.look(0.1)
                await lines[0].report(1000)  # whoever speaks most gets no more for it
                sizes = [await came(*each) for each in zip(lines, readers, strict=True)]
                assert all(0 not in each for each in sizes)
                second = [had + sum(each) for had, each in zip(second, sizes, strict=True)]
            seconds.append(second)
        for second in seconds[1:]:
            assert 990 <= sum(second) <= 1100
        total = [sum(each) for each in zip(*seconds, strict=True)]
        assert max(total) - min(total) <= 100  # a frame


async def test_a_slave_that_has_all_leaves_its_part_to_the_others() -> None:
    async with master_port.Place(limits=SLOW) as place:
        place.log.data = bytes(100_000)
        line, other = await place.connect(), await place.connect()
        await other.report(101_000)
        await line.report(1000)
        reader, got = FrameReader(), 0
        for _ in range(20):
            await place.look(0.1)
            got += sum(await came(line, reader))
        assert 1990 <= got <= 2100


async def test_without_flow_control_all_is_sent_at_once() -> None:
    async with master_port.Place() as place:
        place.log.data = bytes(100_000)
        line = await place.connect()
        await line.report(1000)
        got, reader = 0, FrameReader()
        while got < 100_000:
            frames = reader.read(await line.reader.read(1 << 20))
            got += sum(len(frame.data) for frame in frames)
        assert place.followed == [(1000, 101_000)]


async def test_a_slave_that_takes_nothing_is_left_and_little_is_kept_for_it() -> None:
    async with master_port.Place(
        limits=attrs.evolve(LIMITS, batch_bytes=1 << 20, file_bytes=1 << 30)
    ) as place:
        place.log.data = bytes(64 << 20)
        good = await place.connect()
        stuck = socket.create_connection(("127.0.0.1", place.feeding.port))
        stuck.sendall(encode_report(1000))
        await good.report(place.log.max_offset)
        for _ in range(50):
            await place.look(0)
        slaves = place.feeding.slaves()
        assert len(slaves) == 2
        assert slaves[1].following < 32 << 20  # what the system holds, and a little more
        for _ in range(21):
            stuck.sendall(encode_report(1000))  # it is not silent
            await good.report(place.log.max_offset)
            await place.look(1)
        [left] = place.feeding.slaves()
        assert left.following == place.log.max_offset
        assert good.reader.at_eof() is False
        stuck.close()
