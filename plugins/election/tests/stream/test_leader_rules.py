"""The replication port of an elected leader, with followers that speak by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import msgspec
import pytest
from master_port import HOME, LIMITS, Line, Log
from mqframe_election.rules.group import GroupState
from mqframe_election.rules.history import EpochHistory
from mqframe_election.rules.lease import Lease, LeaseTimes
from mqframe_election.rules.replicas import LeaderReplicas
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from mqframe_election.rules.term import LeaderTerm
from mqframe_election.stream.leader_rules import LeaderRules
from mqframe_replication.rules.hello import EpochStart, Hello, Welcome
from mqframe_replication.rules.stream import epoch_frame_head, frame_head
from mqframe_replication.settings import ALWAYS
from mqframe_replication.stream.feeding import Feeding
from mqframe_replication.stream.slave_admission import SlaveAdmission
from mqframe_testing.manual_clock import ManualClock

HELLO = Hello("C", "broker-a", 2, 1000, 1250, "first", epoch=3)
STATE = GroupState(epoch=7, leader=1, members=(1, 2), confirmed=1100)
HISTORY = EpochHistory([(3, 1000), (7, 1250)])
WHOLE = 1250


class Follower(Line):
    """One connection."""

    async def hello(self, **change: object) -> Welcome:
        """What is answered to a hello; nothing comes behind it."""
        return await self.greet(msgspec.structs.replace(HELLO, **change))

    async def leaves(self) -> None:
        self.writer.close()
        await self.place.clock.aadvance(0)

    async def gets(self, expected: bytes) -> None:
        assert await self.reader.readexactly(len(expected)) == expected

    async def gets_nothing(self) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await self.reader.read(1)


class Place:
    """The port of the broker 1 that leads in epoch 7, over a log of 250 bytes from 1000 on."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.log = Log(bytes(range(250)))
        lease = Lease(LeaseTimes(ttl=1000, renew=1, margin=1), self.clock.monotonic())
        limits = SetLimits(1, lag_seconds=5, away_seconds=1)
        term = LeaderTerm(STATE, 4, lease)
        self.replicas = LeaderReplicas(term, self.clock, limits, 1)
        self.confirmed: list[int] = []
        self.newer: list[str] = []
        rules = LeaderRules(
            self.log,
            self.clock,
            self.replicas,
            history=lambda: HISTORY,
            newer=lambda: self.newer.append("newer"),
        )
        admission = SlaveAdmission(attrs.evolve(HOME, id=1), ALWAYS)
        self.feeding = Feeding(self.log, self.clock, LIMITS, rules, admission)
        self.replicas.attach(WHOLE, self.move)
        self.lines: list[Follower] = []

    def move(self) -> None:
        """As a store does: ask what is confirmed now."""
        self.confirmed.append(self.replicas.confirmed(self.log.max_offset))

    @property
    def members(self) -> SyncSet:
        assert self.replicas.members is not None
        return self.replicas.members

    async def connect(self) -> Follower:
        streams = await asyncio.open_connection("127.0.0.1", self.feeding.port)
        self.lines.append(Follower(self, *streams))  # type: ignore[arg-type]
        await self.clock.aadvance(0)
        return self.lines[-1]

    async def follows(self, number: int = 2, offset: int = WHOLE) -> Follower:
        """A follower that has reported `offset`."""
        line = await self.connect()
        assert (await line.hello(id=number)).refusal == ""
        await line.report(offset)
        return line


@asynccontextmanager
async def staged() -> AsyncIterator[Place]:
    place = Place()
    await place.feeding.start("127.0.0.1", 0)
    try:
        yield place
    finally:
        for line in place.lines:
            line.writer.close()
        await place.feeding.stop()


def told(confirmed: int, offset: int = WHOLE) -> bytes:
    """A frame without bytes."""
    return epoch_frame_head(offset, 0, 7, confirmed)


async def test_a_follower_is_told_the_epoch_and_its_history_and_what_is_confirmed() -> None:
    async with staged() as place:
        line = await place.connect()
        assert await line.hello() == Welcome(
            id=1,
            epoch=7,
            history=(EpochStart(3, 1000), EpochStart(7, 1250)),
            start=1000,
            end=1250,
            confirmed=1100,
        )
        assert place.newer == []


async def test_a_broker_that_knows_a_newer_epoch_is_refused_and_the_leader_hears_of_it() -> None:
    async with staged() as place:
        same, newer = await place.connect(), await place.connect()
        assert (await same.hello(epoch=7)).refusal == ""
        assert place.newer == []
        refusal = (await newer.hello(id=3, epoch=8)).refusal
        assert refusal == "epoch 8 is known there, this broker leads in epoch 7: it is replaced"
        assert await newer.is_left()
        assert place.newer == ["newer"]
        await same.report(WHOLE)
        assert [each.id for each in place.feeding.slaves()] == [2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"protocol": 2}, "update the older of them"),
        ({"cluster": "D"}, "both need the same broker.cluster and broker.name"),
        ({"broker": "broker-b"}, "both need the same broker.cluster and broker.name"),
        ({"id": 1}, "give each broker its own"),
        ({"file_bytes": 2000}, "both need the same store.commit_log_file_bytes"),
    ],
)
async def test_who_does_not_belong_to_the_group_is_told_why(change: dict[str, Any], said: str) -> None:
    async with staged() as place:
        line = await place.connect()
        assert said in (await line.hello(**change)).refusal
        assert await line.is_left()
        assert (place.confirmed, place.newer) == ([], [])


async def test_two_brokers_with_one_number_do_not_take_turns() -> None:
    async with staged() as place:
        await place.follows()
        second = await place.connect()
        assert "give each broker its own" in (await second.hello(boot="of another process")).refusal
        assert [each.following for each in place.feeding.slaves()] == [WHOLE]


async def test_a_slave_that_says_no_hello_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with staged() as place:
        line = await place.connect()
        await line.report(WHOLE)
        assert await line.is_left()
        assert "it says no hello" in caplog.text
        assert (place.feeding.slaves(), place.confirmed, place.newer) == ([], [], [])


async def test_frames_say_of_which_epoch_their_bytes_are_and_have_those_of_one_alone() -> None:
    async with staged() as place:
        place.log.data += b"more"
        line = await place.follows(offset=1200)
        # What is confirmed is what was so when the frame left.
        await line.gets(epoch_frame_head(1200, 50, 3, 1100) + place.log.data[200:250])
        await line.gets(epoch_frame_head(1250, 4, 7, 1100) + b"more")


async def test_what_a_member_acknowledged_is_confirmed_and_counts_no_more_when_it_has_left() -> None:
    async with staged() as place:
        place.log.data += b"more"
        assert place.members.least == -1
        line = await place.follows()
        assert (place.members.least, place.members.has_enough) == (1250, True)
        assert place.confirmed[-1] == 1250
        await line.report(1254)
        assert place.members.least == 1254
        assert place.confirmed[-1] == 1254
        said = len(place.confirmed)
        await line.leaves()
        assert place.members.least == -1
        assert place.confirmed[said:] == [1254]  # asked again, and nothing lost
        await place.clock.aadvance(1.1)
        wanted = place.members.wanted(1254, place.clock.monotonic())
        assert wanted is not None
        assert wanted.members == (1,)


async def test_a_member_that_connects_again_counts_from_what_it_says_then() -> None:
    async with staged() as place:
        await place.follows()
        assert place.members.least == 1250
        again = await place.connect()
        await again.hello()
        assert place.members.least == -1
        await again.report(1200)
        assert place.members.least == 1200
        assert len(place.feeding.slaves()) == 1


async def test_a_broker_that_is_not_clean_counts_only_after_it_was_out_of_the_set() -> None:
    async with staged() as place:
        line = await place.connect()
        await line.hello(is_clean=False)
        await line.report(WHOLE)
        assert place.members.least == -1
        wanted = place.members.wanted(WHOLE, place.clock.monotonic())
        assert wanted is not None
        assert wanted.members == (1,)


async def test_a_broker_outside_of_the_set_is_fed_and_may_join_when_it_has_everything() -> None:
    async with staged() as place:
        await place.follows()
        line = await place.follows(3, offset=1249)
        await line.gets(epoch_frame_head(1249, 1, 3, 1250) + b"\xf9")
        now = place.clock.monotonic()
        assert place.members.wanted(WHOLE, now) is None
        await line.report(WHOLE)
        wanted = place.members.wanted(WHOLE, now)
        assert wanted is not None
        assert wanted.members == (1, 2, 3)


async def test_what_is_confirmed_is_told_without_bytes_soon_after_it_has_grown() -> None:
    async with staged() as place:
        line = await place.follows()
        await line.gets(told(1100))
        await line.gets_nothing()
        await place.clock.aadvance(0.005)
        await line.gets(told(1250))
        await line.report(WHOLE)
        await place.clock.aadvance(0.005)
        await line.gets_nothing()  # it has not grown
        place.log.data += b"more"
        place.feeding.push()
        await line.gets(epoch_frame_head(1250, 4, 7, 1250) + b"more")
        await line.report(1254)
        await place.clock.aadvance(0.005)
        await line.gets(told(1254, 1254))
        await line.gets_nothing()


async def test_what_is_appended_next_says_what_is_confirmed() -> None:
    async with staged() as place:
        line = await place.follows()
        await line.gets(told(1100))
        place.log.data += b"more"
        place.feeding.push()
        await line.gets(epoch_frame_head(1250, 4, 7, 1250) + b"more")
        await place.clock.aadvance(0.005)
        await line.gets_nothing()


async def test_all_followers_are_told_what_one_of_them_confirmed() -> None:
    async with staged() as place:
        outside = await place.follows(3)
        await outside.gets(told(1100))
        await place.follows()
        await place.clock.aadvance(0.005)
        await outside.gets(told(1250))


async def test_a_connection_that_fetches_counts_for_nothing_and_gets_plain_frames() -> None:
    async with staged() as place:
        line = await place.follows(offset=1150)
        said, fetching = len(place.confirmed), await place.connect()
        assert (await fetching.hello(fetches=True)).confirmed == 1150
        await fetching.report(1200)
        await fetching.gets(frame_head(1200, 50) + place.log.data[200:250])
        assert place.members.least == 1150
        await fetching.leaves()
        assert place.members.least == 1150
        assert place.confirmed[said:] == []
        await line.report(1160)
        assert place.confirmed[said:] == [1160]
