"""Elections of brokers whose logs are numbers, by an engine in memory, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from mqframe_election.broker.election_service import ElectionService
from mqframe_election.rules.group import GroupState, LeaderNote, ReplicaNote, decode_note, encode_note
from mqframe_election.rules.limits import ElectionLimits
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from mqframe_election.rules.term import LeaderTerm
from mqframe_testing.coordination import Fate, MemoryCoordination, MemoryEngine
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import FixError, StoreError
from mqframe.hooks.interfaces.coordination import GroupPlace, Snapshot

LIMITS = ElectionLimits(lease=5, renew=1.5, margin=1, patience=1, first=5, members_min=1)
PLACE = GroupPlace("c", "b", 0)


class Broker:
    """A broker without a log: it has the role that it is told to have."""

    def __init__(self, scene: Scene, number: int, end: int) -> None:
        self.scene = scene
        self.number = number
        self.end = end
        self.epoch = 0
        self.role = "none"
        self.members: SyncSet | None = None
        self.term: LeaderTerm | None = None
        self.is_clean = True
        self.refuses_to_lead = self.refuses_to_follow = False
        self.unable = ""
        self.heirs: list[int] = []
        self.store = f"store {number}"
        self.coordination = scene.engines(scene.engine, scene.clock)
        self.elector = ElectionService(
            self.coordination,
            PLACE._replace(member=number),
            self,
            scene.clock,
            LIMITS,
        )
        self.task: asyncio.Task[None] | None = None

    def note(self, ready: int) -> ReplicaNote:
        return ReplicaNote(
            self.number, self.epoch, self.end, 0, ready, self.is_clean, self.store, f"h:{self.number}", "",
            self.unable,
        )  # fmt: skip

    def unable_now(self) -> str:
        return self.unable

    def take_messages(self, heir: int) -> None:
        self.heirs.append(heir)

    def stop_storing(self) -> None:
        self.role = "has stopped storing"

    async def lead(self, term: LeaderTerm) -> SyncSet:
        if self.refuses_to_lead:
            raise StoreError("the disk is gone")
        self.role, self.term, self.epoch = "leads", term, term.state.epoch
        limits = SetLimits(LIMITS.members_min, lag_seconds=5, away_seconds=1)
        now = self.scene.clock.monotonic()
        self.members = SyncSet(term.state, term.version, self.end, limits, now)
        return self.members

    async def follow(self, leader: LeaderNote | None, epoch: int) -> None:
        if self.refuses_to_follow:
            raise StoreError("the store cannot be opened")
        self.role = "alone" if leader is None else f"follows {leader.id}"
        self.members = self.term = None

    def left_set(self) -> None:
        self.is_clean = True

    @property
    def is_trusted(self) -> bool:
        return self.term is not None and self.term.lease.is_trusted(self.scene.clock.monotonic())

    def joins(self, other: Broker) -> None:
        """The broker `other` follows this one, and has everything."""
        assert self.members is not None
        other.end, other.epoch = self.end, self.epoch
        now = self.scene.clock.monotonic()
        self.members.joined(other.number, now, is_clean=other.is_clean)
        self.members.acknowledged(other.number, self.end, self.end, now)
        self.elector.ring()


class Hasty(MemoryCoordination):
    """Tells of a change without delay, again and again, until it is read; `told_again`: so often."""

    told_again = 0
    _is_read = False

    async def read(self) -> Snapshot:
        snapshot = await super().read()
        self._is_read = True
        return snapshot

    async def changed(self) -> None:
        if self._is_read:
            await super().changed()
            self._is_read = False
        else:
            self.told_again += 1
            if self.told_again > 100:
                await asyncio.Event().wait()


class Scene:
    engines: type[MemoryCoordination] = MemoryCoordination

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.engine = MemoryEngine(self.clock)
        self.brokers: dict[int, Broker] = {}
        self.others: list[Broker] = []

    async def start(self, number: int, end: int = 0) -> Broker:
        broker = self.brokers[number] = Broker(self, number, end)
        broker.task = asyncio.ensure_future(broker.elector.run())
        await self.clock.aadvance(0)
        return broker

    async def kill(self, number: int) -> None:
        """End it without a word to the engine."""
        self.engine.go_away(number)
        task = self.brokers[number].task
        assert task is not None
        task.cancel()
        await self.clock.aadvance(3)
        self.engine.come_back(number)

    async def stop(self, number: int) -> None:
        task = self.brokers[number].task
        assert task is not None
        task.cancel()
        await self.clock.aadvance(0)

    async def state(self) -> GroupState:
        looked = await MemoryCoordination(self.engine, self.clock).look(PLACE)
        assert looked.state is not None
        return decode_note(looked.state, GroupState)

    def roles(self) -> list[str]:
        return [broker.role for broker in self.brokers.values()]

    async def with_three(self) -> Broker:
        """Three brokers, of which the first leads, and all are in sync."""
        first = await self.start(1)
        await self.clock.aadvance(6)
        for number in (2, 3):
            first.joins(await self.start(number))
            await self.clock.aadvance(0)
        await self.clock.aadvance(0.1)
        assert (await self.state()).members == (1, 2, 3)
        assert self.roles() == ["leads", "follows 1", "follows 1"]
        return first


@asynccontextmanager
async def staged() -> AsyncIterator[Scene]:
    scene = Scene()
    try:
        yield scene
    finally:
        for broker in [*scene.brokers.values(), *scene.others]:
            if broker.task is not None:
                broker.task.cancel()
        await scene.clock.aadvance(10)


async def test_the_first_leader_is_the_one_with_most_after_others_had_time_to_come() -> None:
    async with staged() as scene:
        await scene.start(1, end=100)
        await scene.start(2, end=500)
        await scene.clock.aadvance(4.9)
        assert scene.roles() == ["alone", "alone"]
        await scene.clock.aadvance(0.4)
        assert scene.roles() == ["follows 2", "leads"]
        assert await scene.state() == GroupState(epoch=1, leader=2, members=(2,), known=(2,))


async def test_a_change_that_is_told_until_it_is_read_holds_nothing_up() -> None:
    async with staged() as scene:
        scene.engines = Hasty
        await scene.with_three()
        for broker in scene.brokers.values():
            assert isinstance(broker.coordination, Hasty)
            assert broker.coordination.told_again < 10


async def test_a_leader_that_dies_is_replaced_when_its_lease_is_over_by_the_member_with_most() -> None:
    async with staged() as scene:
        await scene.with_three()
        scene.brokers[3].end = 900
        await scene.kill(1)
        assert scene.roles()[1:] == ["follows 1", "follows 1"]
        await scene.clock.aadvance(2.2)
        assert scene.roles()[1:] == ["follows 3", "leads"]
        assert await scene.state() == GroupState(epoch=2, leader=3, members=(2, 3), known=(1, 2, 3))


async def test_a_leader_that_leaves_in_order_is_replaced_at_once() -> None:
    async with staged() as scene:
        await scene.with_three()
        await scene.stop(1)
        await scene.clock.aadvance(0.1)
        assert scene.roles()[1:] == ["leads", "follows 2"]


async def test_a_lead_that_is_handed_over_goes_to_the_one_named_and_who_asked_is_told() -> None:
    async with staged() as scene:
        first = await scene.with_three()
        asked = asyncio.ensure_future(first.elector.hand_over(3, 5))
        await scene.clock.aadvance(0)
        with pytest.raises(FixError, match="hands over its lead already"):
            await first.elector.hand_over(2, 5)
        await scene.clock.aadvance(0.3)
        assert await asked == 3
        assert first.heirs == [3]
        assert scene.roles() == ["follows 3", "follows 3", "leads"]
        state = await scene.state()
        assert (state.epoch, state.leader, state.preferred) == (2, 3, 0)


async def test_a_lead_that_is_not_handed_over_stays_and_who_asked_is_told_why() -> None:
    async with staged() as scene:
        first = await scene.with_three()
        first.end = 900
        for to, why in ((7, "broker 7 is not handed the lead: it is not there"), (2, "was not confirmed in")):
            asked = asyncio.ensure_future(first.elector.hand_over(to, 0.5))
            await scene.clock.aadvance(1)
            with pytest.raises(FixError, match=why):
                await asked
        assert first.heirs == [2, 0]
        assert scene.roles() == ["leads", "follows 1", "follows 1"]


async def test_who_waits_for_a_handing_over_is_told_where_the_broker_stops() -> None:
    async with staged() as scene:
        first = await scene.with_three()
        first.end = 900
        asked = asyncio.ensure_future(first.elector.hand_over(2, 60))
        await scene.clock.aadvance(0.2)
        await scene.stop(1)
        with pytest.raises(FixError, match="this broker stops"):
            await asked


async def test_a_broker_outside_of_the_set_never_leads_and_says_what_it_waits_for() -> None:
    async with staged() as scene:
        first = await scene.start(1)
        await scene.clock.aadvance(6)
        outside = await scene.start(2, end=5000)
        await scene.stop(1)
        await scene.clock.aadvance(60)
        assert outside.role == "alone"
        assert "broker 1 is not there" in outside.elector.trouble
        again = await scene.start(1)
        await scene.clock.aadvance(0.2)
        assert (again.role, outside.role) == ("leads", "follows 1")
        assert again is not first
        assert (await scene.state()).epoch == 2


async def test_a_leader_that_cannot_reach_the_engine_stops_before_another_one_leads() -> None:
    async with staged() as scene:
        first = await scene.with_three()
        scene.engine.go_away(1)
        for _ in range(80):
            await scene.clock.aadvance(0.1)
            assert not (first.is_trusted and "leads" in scene.roles()[1:])
        assert first.role == "leads"  # it does not know
        assert not first.is_trusted
        assert scene.roles()[1:] == ["leads", "follows 2"]
        scene.engine.come_back(1)
        await scene.clock.aadvance(5)
        assert scene.roles() == ["follows 2", "leads", "follows 2"]


@pytest.mark.parametrize("fate", [Fate.DONE, Fate.LATE, Fate.LOST])
async def test_a_change_of_the_set_without_an_answer_counts_for_both_sets_until_it_is_known(
    fate: Fate,
) -> None:
    async with staged() as scene:
        first = await scene.start(1)
        await scene.clock.aadvance(6)
        second = await scene.start(2)
        await scene.clock.aadvance(0.1)
        assert first.members is not None
        scene.engine.go_away(1, fate)
        first.joins(second)
        first.end = 700
        await scene.clock.aadvance(0.1)
        if first.members.pending is not None:
            assert first.members.confirm(700) == 0  # the second has nothing of it
        await scene.clock.aadvance(1.5)
        scene.engine.come_back(1)
        await scene.clock.aadvance(2)
        assert first.members.pending is None
        assert first.members.state == await scene.state()
        assert first.members.state.members == (1, 2)
        assert first.members.confirm(700) == 0


@pytest.mark.parametrize("fate", [Fate.DONE, Fate.LATE])
async def test_a_claim_that_took_effect_without_an_answer_is_found_and_taken_up(fate: Fate) -> None:
    async with staged() as scene:
        only = await scene.start(1)
        await scene.clock.aadvance(4.9)
        scene.engine.go_away(1, fate)
        await scene.clock.aadvance(1.2)
        assert only.role == "alone"
        scene.engine.come_back(1)
        await scene.clock.aadvance(12)
        assert only.role == "leads"
        state = await scene.state()
        assert only.term is not None
        assert only.term.state.epoch == state.epoch
        assert only.members is not None
        assert (
            only.members.version == (await MemoryCoordination(scene.engine, scene.clock).look(PLACE)).version
        )


async def test_two_brokers_with_one_number_are_told_apart_and_the_second_takes_no_part() -> None:
    async with staged() as scene:
        first = await scene.start(1)
        await scene.clock.aadvance(6)
        twin = Broker(scene, 1, 0)
        twin.store = "another folder"
        twin.task = asyncio.ensure_future(twin.elector.run())
        scene.others.append(twin)
        await scene.clock.aadvance(3)
        assert "replication.id = 1 of b is that of another broker, at h:1" in twin.elector.trouble
        assert (first.role, twin.role) == ("leads", "none")


async def test_a_broker_that_cannot_lead_leaves_it_to_the_others() -> None:
    async with staged() as scene:
        await scene.with_three()
        scene.brokers[2].refuses_to_lead = True
        scene.brokers[2].end = 10
        await scene.stop(1)
        await scene.clock.aadvance(3)
        assert scene.brokers[3].role == "leads"


async def test_a_broker_whose_machine_failed_leads_again_only_after_it_was_taken_out_of_the_set() -> None:
    async with staged() as scene:
        first = await scene.with_three()
        second = scene.brokers[2]
        await scene.stop(2)
        second = await scene.start(2)
        second.is_clean = False
        await scene.clock.aadvance(1.6)
        first.joins(second)
        await scene.clock.aadvance(0.1)
        assert second.is_clean
        assert (await scene.state()).members == (1, 2, 3)  # out, and in again with what it has now


async def test_what_an_operator_forced_lets_the_named_broker_lead() -> None:
    async with staged() as scene:
        await scene.start(1)
        await scene.clock.aadvance(6)
        outside = await scene.start(2, end=300)
        await scene.stop(1)
        await scene.clock.aadvance(2)
        access = MemoryCoordination(scene.engine, scene.clock)
        looked = await access.look(PLACE)
        state = GroupState(
            epoch=1, leader=1, members=(2,), confirmed=0, note="lost: all of 1", forced_epoch=2
        )
        assert await access.force(PLACE, encode_note(state), looked.version)
        await scene.clock.aadvance(2)
        assert outside.role == "leads"
        assert await scene.state() == GroupState(
            2, 2, (2,), 300, "lost: all of 1", forced_epoch=2, known=(2,)
        )


async def test_an_engine_that_is_away_at_the_start_is_waited_for_and_told_of() -> None:
    async with staged() as scene:
        scene.engine.go_away()
        only = await scene.start(1)
        await scene.clock.aadvance(10)
        assert "did not answer" in only.elector.trouble
        scene.engine.come_back()
        await scene.clock.aadvance(10)
        assert only.role == "leads"
        assert only.elector.trouble == ""


async def test_a_broker_whose_lease_was_not_renewed_claims_nothing_before_it_is() -> None:
    async with staged() as scene:
        await scene.start(1)
        await scene.clock.aadvance(4.5)  # nobody leads before 5 s
        scene.engine.go_away(1, Fate.DONE)  # the engine hears of renewals, the broker of no answer
        await scene.clock.aadvance(5)
        broker = scene.brokers[1]
        assert broker.elector.seen is None
        scene.engine.come_back(1)
        await scene.clock.aadvance(0.1)
        assert broker.elector.seen is None or broker.elector.seen.epoch <= 1
        await scene.clock.aadvance(6)
        assert (broker.role, (await scene.state()).epoch) == ("leads", 1)


async def test_a_leader_that_cannot_store_leaves_the_lead_to_one_that_can_and_does_not_claim_it_first() -> (
    None
):
    async with staged() as scene:
        first = await scene.with_three()
        first.end = 900
        first.joins(scene.brokers[2])
        first.joins(scene.brokers[3])
        first.unable = "the disk is full"
        scene.brokers[2].unable = "the disk is full, too"
        for broker in (scene.brokers[2], first):
            broker.elector.ring()
            await scene.clock.aadvance(0)
        await scene.clock.aadvance(2)
        assert scene.roles() == ["follows 3", "follows 3", "leads"]
        assert (await scene.state()).leader == 3
        await scene.clock.aadvance(300)
        assert (await scene.state()).epoch == 2


async def test_a_leader_that_cannot_store_stays_where_nobody_else_can() -> None:
    async with staged() as scene:
        await scene.with_three()
        for number in (3, 2, 1):
            scene.brokers[number].unable = "the disk is full"
            scene.brokers[number].elector.ring()
            await scene.clock.aadvance(0)
        await scene.clock.aadvance(300)
        assert scene.brokers[1].role == "leads"
        assert (await scene.state()).epoch == 1


async def test_a_broker_whose_store_cannot_be_opened_takes_part_again_once_it_can() -> None:
    async with staged() as scene:
        first = await scene.with_three()
        first.refuses_to_follow = True
        first.elector.resign(StoreError("the disk is gone"))
        await scene.clock.aadvance(5)
        assert scene.roles()[1:] == ["leads", "follows 2"]
        assert first.task is not None
        assert not first.task.done()
        first.refuses_to_follow = False
        await scene.clock.aadvance(5)
        assert scene.roles() == ["follows 2", "leads", "follows 2"]


async def test_a_fault_of_the_broker_is_logged_and_it_takes_part_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged() as scene:
        await scene.with_three()

        async def lead(term: LeaderTerm) -> SyncSet:
            raise ValueError("no such field")

        second = scene.brokers[2]
        leading = second.lead
        second.lead = lead  # type: ignore[method-assign]
        await scene.stop(1)
        await scene.clock.aadvance(3)
        assert scene.brokers[3].role == "leads"
        failed = [each.exc_info for each in caplog.records if "elections failed" in each.getMessage()]
        assert [repr(problem) for _, problem, _ in failed] == ["ValueError('no such field')"]
        second.lead = leading  # type: ignore[method-assign]
        await scene.clock.aadvance(3)
        assert second.role == "follows 3"


async def test_who_is_stopped_leaves_the_engine_and_no_task_or_timer_behind() -> None:
    async with staged() as scene:
        first = await scene.with_three()
        before = len(asyncio.all_tasks())
        await scene.stop(1)
        await scene.clock.aadvance(0)
        assert first.task is not None
        assert first.task.done()
        assert len(asyncio.all_tasks()) == before - 2  # its watch, and itself
        looked = await MemoryCoordination(scene.engine, scene.clock).look(PLACE)
        assert 1 not in looked.replicas
        role, term = first.role, first.term
        first.elector.ring()
        first.elector.resign(StoreError("the disk is gone"))
        await scene.clock.aadvance(60)
        assert (first.role, first.term, first.elector.trouble) == (role, term, "")


async def test_what_another_broker_says_that_cannot_be_read_is_logged_and_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged() as scene:
        only = await scene.start(1)
        stranger = MemoryCoordination(scene.engine, scene.clock)
        await stranger.start(PLACE._replace(member=2), 5)
        await stranger.announce(b"?")
        await scene.clock.aadvance(6)
        assert only.role == "leads"
        assert "a broker of the group says what cannot be read" in caplog.text
        assert only.elector.brokers == {1: "h:1"}


async def test_a_broker_that_cannot_write_down_that_it_left_the_set_tries_again() -> None:
    async with staged() as scene:
        await scene.start(1)
        await scene.clock.aadvance(6)
        await scene.stop(1)
        outside = Broker(scene, 2, 0)
        failures = 0

        def left_set() -> None:
            nonlocal failures
            failures += 1
            raise StoreError("the disk is full")

        outside.left_set = left_set  # type: ignore[method-assign]
        outside.task = asyncio.ensure_future(outside.elector.run())
        scene.others.append(outside)
        await scene.clock.aadvance(4)
        assert outside.elector.trouble == "the disk is full"
        assert failures >= 3
        del outside.left_set
        await scene.clock.aadvance(2)
        assert outside.role == "alone"
        assert "broker 1 is not there" in outside.elector.trouble
