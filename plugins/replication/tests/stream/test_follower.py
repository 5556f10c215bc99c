"""The connection of a slave, to a master that speaks by itself."""

from __future__ import annotations

import asyncio

import pytest
from master_end import MasterEnd, Target, connected
from mqframe_replication.rules.following import FollowLimits
from mqframe_replication.rules.stream import CopyFrame, encode_report, frame_head
from mqframe_replication.stream.copy_rules import SlaveRules
from mqframe_replication.stream.dialing import Dialer
from mqframe_replication.stream.follower import MasterFollower
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import ConnectError, StoreError


def follower_of(target: Target, clock: ManualClock) -> MasterFollower[CopyFrame]:
    return MasterFollower(target, clock, FollowLimits(5, 20), Dialer(clock), SlaveRules(target))


class Place(MasterEnd):
    """With the log that the follower writes."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.target = Target()
        self.follower = follower_of(self.target, self.clock)

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.clock.aadvance(0)


async def test_what_comes_is_stored_and_reported_once_however_many_frames_it_was() -> None:
    async with connected(Place()) as place:
        assert await place.reader.readexactly(8) == encode_report(1000)
        await place.say(frame_head(1000, 2) + b"ab" + frame_head(1002, 1) + b"c" + frame_head(1003, 1)[:5])
        assert await place.reader.readexactly(8) == encode_report(1003)
        await place.say(frame_head(1003, 1)[5:] + b"d")
        assert await place.reader.readexactly(8) == encode_report(1004)
        assert (place.target.data, place.follower.trouble) == (b"abcd", "")
        assert place.target.dispatched
        assert place.follower.heard_ms == place.follower.reported_ms == place.clock.now_ms()


async def test_what_came_before_a_frame_that_does_not_follow_is_stored() -> None:
    async with connected(Place()) as place:
        await place.say(frame_head(1000, 2) + b"ab" + frame_head(1001, 1) + b"x")
        assert not place.follower.is_following
        assert "goes on at log offset 1001" in place.follower.trouble
        assert place.target.data == b"ab"
        assert place.target.dispatched


async def test_reports_go_on_while_nothing_comes_and_a_silent_master_is_left() -> None:
    async with connected(Place()) as place:
        await place.reader.readexactly(8)
        await place.clock.aadvance(5.1)
        place.follower.look()
        assert await place.reader.readexactly(8) == encode_report(1000)
        await place.clock.aadvance(15)
        place.follower.look()
        assert not place.follower.is_following
        assert place.follower.trouble == "the master says nothing"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (frame_head(999, 1) + b"x", "goes on at log offset 999"),
        (frame_head(1000, 3) + b"bad", "no sound record"),
        (b"HTTP/1.1 400 Bad Request", "no replication port"),
    ],
)
async def test_a_master_that_cannot_be_followed_is_left_with_nothing_stored(sent: bytes, said: str) -> None:
    async with connected(Place()) as place:
        await place.say(sent)
        assert not place.follower.is_following
        assert said in place.follower.trouble
        assert place.target.data == b""


async def test_the_next_connection_begins_behind_what_is_stored() -> None:
    async with connected(Place()) as place:
        await place.say(frame_head(1000, 2) + b"ab")
        place.writer.close()
        await place.clock.aadvance(0)
        assert not place.follower.is_following
        assert place.target.forgotten == 2
        server = await place.connect()
        assert await place.reader.readexactly(8) == encode_report(1002)
        server.close()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:"])
async def test_an_address_that_does_not_answer_is_named(address: str) -> None:
    with pytest.raises(ConnectError, match=address):
        await follower_of(Target(), ManualClock()).connect(address)


async def server_closed(server: asyncio.Server) -> None:
    server.close()
    await server.wait_closed()


async def test_a_slave_says_nothing_before_it_is_told_to_begin() -> None:
    place = Place()
    server = await place.connect(begin=False)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await place.reader.read(1)
    assert not place.follower.is_following
    place.target.max_offset = 2000  # what it has when it begins counts
    place.follower.begin()
    assert await place.reader.readexactly(8) == encode_report(2000)
    place.follower.close()
    place.writer.close()
    await server_closed(server)


async def test_a_connection_that_has_ended_is_not_begun() -> None:
    place = Place()
    server = await place.connect(begin=False)
    place.writer.close()
    await place.clock.aadvance(0)
    with pytest.raises(ConnectError, match="before it was begun"):
        place.follower.begin()
    await server_closed(server)


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_slave_that_lacks_something_reports_nothing(at_once: bool) -> None:
    async with connected(Place()) as place:
        await place.reader.readexactly(8)
        place.target.is_whole = False
        if at_once:
            await place.say(frame_head(1000, 2) + b"ab" + frame_head(1002, 1) + b"c")
        else:
            place.follower.look()
            await place.clock.aadvance(0)
        assert await place.reader.read() == b""
        assert not place.follower.is_following
        assert "set aside" in place.follower.trouble
        assert place.target.data == (b"abc" if at_once else b"")
        place.writer.close()
        server = await place.connect(begin=False)
        with pytest.raises(StoreError, match="set aside"):
            place.follower.begin()
        await server_closed(server)


async def test_what_could_not_be_stored_is_told_until_something_is_and_is_tried_less_and_less_often() -> None:
    async with connected(Place()) as place:
        follower = place.follower
        assert follower.pause(0.25) == 0.25
        for _ in range(3):
            await place.say(frame_head(1000, 3) + b"bad")
            assert not follower.is_following
            place.writer.close()
            server = await place.connect()
            assert follower.is_following
            assert follower.unstored == "no sound record"
            server.close()
        assert follower.pause(0.25) == 2.0
        follower.failures = 10_000
        assert follower.pause(0.25) == 20.0
        assert follower.pause(30.0) == 30.0
        await place.say(frame_head(1000, 4) + b"good")
        assert (follower.unstored, follower.pause(0.25)) == ("", 0.25)
