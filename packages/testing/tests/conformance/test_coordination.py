"""The suite of coordination: the engine in memory passes, each faulty one is caught by its rule's check."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_testing import ManualClock
from mqframe_testing.conformance import CoordinationConformance
from mqframe_testing.coordination import MemoryCoordination, MemoryEngine

from mqframe.core.errors import CoordinationError
from mqframe.hooks.interfaces import Coordination, GroupPlace, Snapshot


class Suite(CoordinationConformance):
    made: type[MemoryCoordination] = MemoryCoordination

    @pytest.fixture(autouse=True)
    def _engine(self) -> None:
        self.new_engine()

    def new_engine(self) -> None:
        self.clock = ManualClock()
        self.engine = MemoryEngine(self.clock)

    def make(self) -> Coordination:
        return self.made(self.engine, self.clock)

    async def wait(self, seconds: float) -> None:
        await self.clock.aadvance(seconds)


class TestMemoryCoordination(Suite):
    pass


class Faulty(MemoryCoordination):
    """With the engine and the place at hand."""

    def __init__(self, engine: MemoryEngine, clock: ManualClock) -> None:
        super().__init__(engine, clock)
        self.engine = engine
        self.place = GroupPlace("", "", 0)

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        self.place = place
        return await super().start(place, ttl_seconds)


class Prefilled(Faulty):
    """Has a state before anybody wrote one."""

    async def read(self) -> Snapshot:
        found = await super().read()
        return found._replace(state=found.state or b"")


class Stingy(Faulty):
    """Grants one second."""

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        return await super().start(place, 1.0)


class Short(Faulty):
    """Returns less than it grants."""

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        return await super().start(place, ttl_seconds) - 0.5


class Miscounting(Faulty):
    """Returns another version than the one it wrote."""

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        return await super().claim(state, leader, version) + 1


class Leaderless(Faulty):
    """Writes the state alone."""

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        return await self.force(self.place, state, version)


class Usurping(Faulty):
    """Takes the leader's key from whoever has it."""

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        self.engine.group(self.place).leader = None
        return await super().claim(state, leader, version)


class Reclaiming(Faulty):
    """Lets the leader claim again."""

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        await self.step_down()
        return await super().claim(state, leader, version)


class ClaimingAnyVersion(Faulty):
    """Takes the version that there is."""

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        return await super().claim(state, leader, (await self.look(self.place)).version)


class Racing(Faulty):
    """Looks first, and writes then."""

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        if (await self.look(self.place)).version != version:
            return 0
        return await self.force(self.place, state, (await self.look(self.place)).version)


class Resigning(Faulty):
    """Leads no more after a change."""

    async def change(self, state: bytes, version: int) -> int:
        newer = await super().change(state, version)
        await self.step_down()
        return newer


class ChangingAnyVersion(Faulty):
    """Takes the version that there is."""

    async def change(self, state: bytes, version: int) -> int:
        return await super().change(state, (await self.look(self.place)).version)


class ChangingByAnybody(Faulty):
    """Asks for the version alone."""

    async def change(self, state: bytes, version: int) -> int:
        return await self.force(self.place, state, version)


class Clinging(Faulty):
    """Leads until its lease ends."""

    async def step_down(self) -> None:
        pass


class GivingUpAll(Faulty):
    """Begins anew where it is only to step down."""

    async def step_down(self) -> None:
        await self.start(self.place, 100.0)


class Deposing(Faulty):
    """Takes away the leader's key, whoever has it."""

    async def step_down(self) -> None:
        self.engine.group(self.place).leader = None


class Lingering(Faulty):
    """Leaves its lease behind."""

    async def stop(self) -> None:
        pass


class Nameless(Faulty):
    """Enters everybody as number 1."""

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        return await super().start(place._replace(member=1), ttl_seconds)


class Trimming(Faulty):
    """Loses zeros at the start."""

    async def announce(self, replica: bytes) -> None:
        await super().announce(replica.lstrip(b"\0"))


class Filling(Faulty):
    """Has no empty value."""

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        return await super().claim(state, leader or b"-", version)


class Immortal(Faulty):
    """Its lease outlives what was asked for by far."""

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        return await super().start(place, ttl_seconds * 1000)


class Sanguine(Faulty):
    """Believes that its lease is there."""

    async def renew(self) -> bool:
        await super().renew()
        return True


class Unannounced(Faulty):
    """Says nothing when it cannot announce itself."""

    async def announce(self, replica: bytes) -> None:
        try:
            await super().announce(replica)
        except CoordinationError:
            return


class Unrenewed(Faulty):
    """Only says that the lease was renewed."""

    async def renew(self) -> bool:
        return True


class Continuing(Faulty):
    """Goes on with the lease that it has."""

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        if self.place.member:
            return ttl_seconds
        return await super().start(place, ttl_seconds)


class Deaf(Faulty):
    """Hears of nothing."""

    async def changed(self) -> None:
        await asyncio.Event().wait()


class Late(Faulty):
    """Hears of what comes while it waits."""

    async def changed(self) -> None:
        await self.read()
        await super().changed()


class Offended(Faulty):
    """Hears of nothing once it was cancelled."""

    offended = False

    async def changed(self) -> None:
        try:
            await (asyncio.Event().wait() if self.offended else super().changed())
        except asyncio.CancelledError:
            self.offended = True
            raise


class ForcingAnyVersion(Faulty):
    """Writes whatever version there is."""

    async def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        return await super().force(place, state, (await self.look(place)).version)


class ForcingWithoutLeader(Faulty):
    """Refuses while there is a leader."""

    async def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        return 0 if (await self.look(place)).leader else await super().force(place, state, version)


class OneCluster(Faulty):
    """Takes all clusters for one."""

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        return await super().start(place._replace(cluster=""), ttl_seconds)


class Joining(Faulty):
    """Takes a name with a separator for two."""

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        return await super().start(GroupPlace("", f"{place.cluster}/{place.broker}", 1), ttl_seconds)


class Open(Faulty):
    """Answers though it is closed."""

    async def read(self) -> Snapshot:
        return await self.look(self.place)


FAULTS: dict[str, list[type[Faulty]]] = {
    "test_a_fresh_group_holds_nothing": [Prefilled],
    "test_the_granted_time_is_at_least_what_was_asked_for": [Short, Stingy],
    "test_a_claim_is_seen_by_all": [Miscounting, Leaderless],
    "test_a_claim_is_refused_while_there_is_a_leader": [Usurping, Reclaiming],
    "test_a_claim_with_another_version_is_refused": [ClaimingAnyVersion],
    "test_of_claims_at_once_one_wins": [Racing],
    "test_the_leader_changes_the_state": [Resigning],
    "test_a_change_with_another_version_is_refused": [ChangingAnyVersion],
    "test_a_change_by_who_does_not_lead_is_refused": [ChangingByAnybody],
    "test_stepping_down_frees_at_once": [Clinging, GivingUpAll],
    "test_only_the_leader_steps_down": [Deposing],
    "test_stopping_frees_at_once": [Lingering],
    "test_announcements_are_seen_by_all": [Nameless],
    "test_values_are_bytes_of_any_kind": [Trimming, Filling],
    "test_a_lease_that_is_not_renewed_goes": [Immortal, Sanguine, Unannounced],
    "test_a_lease_that_is_renewed_lives_on": [Unrenewed],
    "test_starting_anew_gives_up_the_former_lease": [Continuing],
    "test_a_change_wakes_who_waits": [Deaf],
    "test_a_change_before_the_waiting_counts": [Late],
    "test_waiting_for_a_change_can_be_cancelled": [Offended],
    "test_an_operator_writes_the_state_without_leading": [ForcingAnyVersion, ForcingWithoutLeader],
    "test_groups_do_not_see_each_other": [OneCluster, Joining],
    "test_what_is_not_started_or_stopped_says_so": [Open],
}
CHECKS = [name for name in vars(CoordinationConformance) if name.startswith("test_")]


class TestFaultyCoordination(Suite):
    """Every check of the suite is to fail here."""

    def is_caught_by(self, check: str) -> None:
        for self.made in FAULTS[check]:
            self.new_engine()
            with pytest.raises((AssertionError, pytest.fail.Exception)):
                getattr(CoordinationConformance, check)(self)


def _caught(check: str) -> Any:
    return lambda self: self.is_caught_by(check)


for _check in CHECKS:
    setattr(TestFaultyCoordination, _check, _caught(_check))


def test_every_check_has_a_fault_to_catch() -> None:
    assert set(FAULTS) == set(CHECKS)
