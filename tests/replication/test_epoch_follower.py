"""The connection of a follower to its elected leader, which speaks by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mqframe.core.election.history import EpochHistory
from mqframe.core.replication.following import FollowLimits
from mqframe.core.replication.stream import encode_report, epoch_frame_head
from mqframe.replication.dialing import Dialer
from mqframe.replication.epoch_follower import EpochFollower
from mqframe.replication.reign import FollowerReplicas
from mqframe.testing.manual_clock import ManualClock


class Target:
    """A log from 1000 on, of which `flushed_offset` is on disk."""

    max_offset = flushed_offset = 1000
    is_whole = True
    data = b""

    def append_copy(self, offset: int, *parts: bytes | memoryview) -> None:
        assert offset == self.max_offset
        self.data += b"".join(parts)
        self.max_offset = 1000 + len(self.data)

    def forget_partial(self) -> None:
        pass

    def dispatch_soon(self) -> None:
        pass

    async def flush_log(self) -> bool:
        self.flushed_offset = self.max_offset
        return True


class Epochs:
    """`found`: where the log ended when an epoch was recorded."""

    def __init__(self, target: Target) -> None:
        self.history = EpochHistory([(2, 900)])
        self.target = target
        self.found: list[int] = []

    def record(self, history: EpochHistory) -> None:
        self.history = history
        self.found.append(self.target.max_offset)


class Place:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def __init__(self, *, syncs: bool) -> None:
        self.clock = ManualClock()
        self.target = Target()
        self.replicas = FollowerReplicas(950)
        self.follower = EpochFollower(
            self.target, self.clock, FollowLimits(5, 20), Dialer(self.clock), self.replicas
        )
        self.epochs = self.follower.epochs = Epochs(self.target)
        self.follower.epoch, self.follower.syncs = 4, syncs

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.clock.aadvance(0)


def play(scenario: Callable[[Place], Coroutine[Any, Any, None]], *, syncs: bool = False) -> None:
    async def whole() -> None:
        place, came = Place(syncs=syncs), asyncio.Event()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            place.reader, place.writer = reader, writer
            came.set()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        await place.follower.connect(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await came.wait()
        place.follower.begin()
        assert await place.reader.readexactly(8) == encode_report(1000)
        try:
            await scenario(place)
        finally:
            place.follower.close()
            place.writer.close()
            server.close()
            await server.wait_closed()

    asyncio.run(whole())


def test_an_epoch_is_recorded_before_its_first_byte_is_stored() -> None:
    async def scenario(place: Place) -> None:
        await place.say(epoch_frame_head(1000, 2, 2, 1000) + b"ab")
        await place.say(epoch_frame_head(1002, 2, 4, 1001) + b"cd")
        assert place.epochs.history == EpochHistory([(2, 900), (4, 1002)])
        assert place.epochs.found == [1002]
        assert (place.target.data, place.replicas.told) == (b"abcd", 1001)

    play(scenario)


def test_bytes_of_an_epoch_that_is_older_or_beyond_the_leaders_are_not_stored() -> None:
    for epoch in (1, 5):

        async def scenario(place: Place, epoch: int = epoch) -> None:
            await place.say(epoch_frame_head(1000, 2, epoch, 1000) + b"ab")
            assert place.target.data == b""
            assert "it is not the log that was followed" in place.follower.trouble
            assert not place.follower.is_following

        play(scenario)


def test_a_follower_that_syncs_reports_what_is_on_disk_and_never_more() -> None:
    async def scenario(place: Place) -> None:
        await place.say(epoch_frame_head(1000, 4, 2, 1000) + b"abcd")
        assert await place.reader.readexactly(8) == encode_report(1004)
        assert place.target.flushed_offset == 1004

    play(scenario, syncs=True)
