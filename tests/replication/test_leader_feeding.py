"""The replication port of an elected leader, with followers that speak by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import attrs
import msgspec
import pytest
from replication.master_port import HELLO, HOME, LIMITS, Line, Log

from mqframe.core.election.group import GroupState
from mqframe.core.election.history import EpochHistory
from mqframe.core.election.lease import Lease, LeaseTimes
from mqframe.core.election.sync_set import SetLimits
from mqframe.core.replication.hello import EpochStart
from mqframe.core.replication.stream import encode_report, epoch_frame_head
from mqframe.replication.elector import Reigning
from mqframe.replication.leader_feeding import LeaderFeeding
from mqframe.replication.reception import Reception
from mqframe.replication.reign import LeaderReplicas
from mqframe.testing.manual_clock import ManualClock

HISTORY = EpochHistory([(2, 1000), (3, 1150)])
FOLLOWER = msgspec.structs.replace(HELLO, id=2, epoch=3)


class Place:
    """Broker 1 leads in epoch 3 with 2 in its set; its log goes from 1000 to 1250."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.log = Log(bytes(range(250)))
        lease = Lease(LeaseTimes(5, 1.5, 1), 0.0)
        reigning = Reigning(GroupState(3, 1, (1, 2), 1100), 9, lease)
        self.replicas = LeaderReplicas(reigning, self.clock, SetLimits(1, 5, 1), 3.0)
        self.replicas.attach(1250, lambda: None)
        self.replicas.told = lambda: self.replicas.confirmed(self.log.max_offset)
        self.newer = 0
        self.feeding = LeaderFeeding(
            self.log, self.clock, LIMITS, lambda: None, Reception(attrs.evolve(HOME, id=1), "always"),
            replicas=self.replicas, history=lambda: HISTORY, newer=self._note_newer,
        )  # fmt: skip
        self.lines: list[Line] = []

    def _note_newer(self) -> None:
        self.newer += 1

    async def connect(self) -> Line:
        streams = await asyncio.open_connection("127.0.0.1", self.feeding.port)
        self.lines.append(Line(self, *streams))  # type: ignore[arg-type]
        await self.clock.aadvance(0)
        return self.lines[-1]


def play(scenario: Callable[[Place], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        place = Place()
        await place.feeding.start("127.0.0.1", 0)
        try:
            await scenario(place)
        finally:
            for line in place.lines:
                line.writer.close()
            await place.feeding.stop()

    asyncio.run(whole())


def test_a_follower_is_told_all_that_it_compares() -> None:
    async def scenario(place: Place) -> None:
        welcome = await (await place.connect()).greet(FOLLOWER)
        assert welcome.refusal == ""
        assert (welcome.id, welcome.epoch, welcome.confirmed) == (1, 3, 1100)
        assert welcome.history == (EpochStart(2, 1000), EpochStart(3, 1150))
        assert (welcome.start, welcome.end) == (1000, 1250)

    play(scenario)


def test_no_frame_has_bytes_of_two_epochs_and_what_is_confirmed_is_told() -> None:
    async def scenario(place: Place) -> None:
        line = await place.connect()
        await line.greet(FOLLOWER)
        await line.report(1120)
        data = place.log.data
        # Both are sent as the report comes, before that counts.
        sent = epoch_frame_head(1120, 30, 2, 1100) + data[120:150]
        sent += epoch_frame_head(1150, 100, 3, 1100) + data[150:]
        assert await line.reader.readexactly(len(sent)) == sent
        await line.say(encode_report(1250))
        await place.clock.aadvance(0)
        assert place.replicas.confirmed(1250) == 1250

    play(scenario)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"protocol": 2}, "update the older of them"),
        ({"cluster": "D"}, "both need the same broker.cluster and broker.name"),
        ({"broker": "broker-b"}, "both need the same broker.cluster and broker.name"),
        ({"id": 1}, "give each broker its own"),
        ({"file_bytes": 2000}, "both need the same store.commit_log_file_bytes"),
        ({"epoch": 4}, "epoch 4 is known there, this broker leads in epoch 3: it is replaced"),
    ],
)
def test_who_does_not_belong_to_the_group_is_told_why(change: dict[str, Any], told: str) -> None:
    async def scenario(place: Place) -> None:
        line = await place.connect()
        welcome = await line.greet(msgspec.structs.replace(FOLLOWER, **change))
        assert told in welcome.refusal
        assert place.newer == (1 if "epoch" in change else 0)
        assert place.replicas.confirmed(1250) == 1100

    play(scenario)


def test_two_brokers_with_one_number_do_not_take_turns() -> None:
    async def scenario(place: Place) -> None:
        first, second = await place.connect(), await place.connect()
        await first.greet(FOLLOWER)
        await first.report(1200)
        other = msgspec.structs.replace(FOLLOWER, boot="of another process")
        assert "give each broker its own" in (await second.greet(other)).refusal

    play(scenario)


def test_a_plain_slave_is_left_without_a_word_of_the_log() -> None:
    async def scenario(place: Place) -> None:
        line = await place.connect()
        await line.report(0)
        assert await line.is_left()
        assert place.replicas.confirmed(1250) == 1100

    play(scenario)


def test_what_a_follower_said_counts_no_more_when_its_connection_ends() -> None:
    async def scenario(place: Place) -> None:
        line = await place.connect()
        await line.greet(FOLLOWER)
        await line.report(1200)
        assert place.replicas.confirmed(1250) == 1200
        line.writer.close()
        await place.clock.aadvance(0)
        assert place.replicas.members is not None
        assert place.replicas.members.least < 0
        assert place.replicas.confirmed(1250) == 1200  # and never goes back

    play(scenario)
