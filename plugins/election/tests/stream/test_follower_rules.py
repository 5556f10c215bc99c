"""The connection of a follower, to an elected leader that speaks by itself."""

from __future__ import annotations

import asyncio

import pytest
from master_end import MasterEnd, connected
from mqframe_election.rules.history import EpochHistory
from mqframe_election.rules.replicas import FollowerReplicas
from mqframe_election.stream.follower_rules import FollowerRules
from mqframe_replication.rules.following import FollowLimits
from mqframe_replication.rules.stream import encode_report, epoch_frame_head
from mqframe_replication.stream.dialing import Dialer
from mqframe_replication.stream.follower import MasterFollower
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import StoreError


class Target:
    """A log that takes what comes; `done`: says what became of each flush that was begun."""

    def __init__(self, happened: list[object]) -> None:
        self.happened = happened
        self.max_offset = self.flushed_offset = 1000
        self.is_whole = True
        self.done: list[asyncio.Future[bool]] = []

    def append_copy(self, offset: int, *parts: bytes | memoryview) -> None:
        data = b"".join(parts)
        assert offset == self.max_offset
        self.max_offset += len(data)
        if data:
            self.happened.append(data)

    def forget_partial(self) -> None:
        """Nothing is kept of such a one."""

    def dispatch_soon(self) -> None:
        """Nobody reads."""

    async def flush_log(self) -> bool:
        end = self.max_offset
        self.done.append(asyncio.get_running_loop().create_future())
        if not await self.done[-1]:
            return False
        self.flushed_offset = end
        return True


class Epochs:
    """Keeps epochs in `history`; those of `bad` not."""

    def __init__(self, happened: list[object]) -> None:
        self.happened = happened
        self.history = EpochHistory([(3, 0)])
        self.is_bad = False

    def record(self, history: EpochHistory) -> None:
        if self.is_bad:
            raise StoreError("the disk is full")
        self.history = history
        self.happened.append(history)


class Place(MasterEnd):
    """A follower of the leader of epoch 7, connected to `writer`; `reader` gets what it reports."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.happened: list[object] = []
        self.target = Target(self.happened)
        self.replicas = FollowerReplicas(0)
        self.epochs = Epochs(self.happened)
        self.rules = FollowerRules(self.target, self.replicas, self.epochs, syncs=False)
        self.rules.epoch = 7
        self.follower = MasterFollower(
            self.target, self.clock, FollowLimits(5, 20), Dialer(self.clock), self.rules
        )

    async def connect(self, *, begin: bool = True) -> asyncio.Server:
        server = await super().connect(begin=begin)
        assert await self.reader.readexactly(8) == encode_report(1000)
        return server

    async def say(self, offset: int, data: bytes, epoch: int, confirmed: int = 0) -> None:
        self.writer.write(epoch_frame_head(offset, len(data), epoch, confirmed) + data)
        await self.clock.aadvance(0)

    async def flush_ends(self, *, well: bool = True) -> None:
        self.target.done[-1].set_result(well)
        await self.clock.aadvance(0)

    async def reports(self, offset: int) -> None:
        assert await self.reader.readexactly(8) == encode_report(offset)

    async def reports_nothing(self) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await self.reader.read(1)


async def test_an_epoch_is_recorded_before_its_first_byte_is_stored() -> None:
    async with connected(Place()) as place:
        await place.say(1000, b"ab", 3)
        await place.say(1002, b"", 7)
        assert place.happened == [b"ab"]  # there is no byte of it yet
        await place.say(1002, b"c", 7)
        await place.say(1003, b"d", 7)
        assert place.happened == [b"ab", EpochHistory([(3, 0), (7, 1002)]), b"c", b"d"]


async def test_nothing_of_an_epoch_that_cannot_be_recorded_is_stored() -> None:
    async with connected(Place()) as place:
        place.epochs.is_bad = True
        await place.say(1000, b"ab", 7, confirmed=900)
        assert not place.follower.is_following
        assert place.follower.trouble == "the disk is full"
        assert (place.happened, place.replicas.told) == ([], 0)


async def test_replicas_are_told_what_is_confirmed_with_bytes_or_without() -> None:
    async with connected(Place()) as place:
        await place.say(1000, b"ab", 7, confirmed=1000)
        assert place.replicas.told == 1000
        await place.reports(1002)
        await place.say(1002, b"", 7, confirmed=1002)
        assert place.replicas.told == 1002
        await place.reports_nothing()


@pytest.mark.parametrize(("epoch", "last"), [(3, 7), (8, 3)])
async def test_bytes_of_an_epoch_that_is_older_or_not_the_leaders_close_the_connection(
    epoch: int, last: int
) -> None:
    async with connected(Place()) as place:
        await place.say(1000, b"ab", last)
        done = list(place.happened)
        await place.say(1002, b"c", epoch, confirmed=1002)
        assert not place.follower.is_following
        assert (
            f"of epoch 7 sends bytes of epoch {epoch} behind some of epoch {last}" in place.follower.trouble
        )
        assert (place.happened, place.replicas.told) == (done, 0)


async def test_bytes_older_than_the_end_of_the_log_close_the_connection_when_they_are_the_first() -> None:
    async with connected(Place()) as place:
        await place.say(1000, b"ab", 2)
        assert not place.follower.is_following
        assert "sends bytes of epoch 2 behind some of epoch 3" in place.follower.trouble
        assert place.happened == []


async def test_with_synchronous_flush_what_is_on_disk_is_reported_and_the_rest_after_its_own_flush() -> None:
    async with connected(Place()) as place:
        place.rules.syncs = True
        await place.say(1000, b"ab", 7)
        await place.reports_nothing()
        await place.say(1002, b"c", 7)  # while the first is flushed
        await place.reports_nothing()
        assert len(place.target.done) == 1
        await place.flush_ends()
        await place.reports(1002)
        assert len(place.target.done) == 2
        await place.reports_nothing()
        await place.flush_ends()
        await place.reports(1003)
        assert len(place.target.done) == 2


async def test_what_could_not_be_flushed_is_not_reported() -> None:
    async with connected(Place()) as place:
        place.rules.syncs = True
        await place.say(1000, b"ab", 7)
        await place.flush_ends(well=False)
        await place.reports_nothing()
        assert place.follower.is_following


async def test_a_connection_that_ends_takes_its_flush_with_it() -> None:
    async with connected(Place()) as place:
        place.rules.syncs = True
        await place.say(1000, b"ab", 7)
        place.follower.close()
        await place.clock.aadvance(0)
        assert place.target.done[0].cancelled()
