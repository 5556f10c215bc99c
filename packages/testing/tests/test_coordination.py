"""The engine in memory: what becomes of calls while it is away, and chance against a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from mqframe_testing import ManualClock
from mqframe_testing.coordination import Fate, MemoryCoordination, MemoryEngine

from mqframe.core.errors import CoordinationError
from mqframe.hooks.interfaces import GroupPlace, Snapshot

T = TypeVar("T")
TTL = 5.0
LIMIT = 1.0


def place(member: int) -> GroupPlace:
    return GroupPlace("cluster", "broker-a", member)


class Group:
    """Members of one group on a clock."""

    def __init__(self, count: int) -> None:
        self.clock = ManualClock()
        self.engine = MemoryEngine(self.clock, limit_seconds=LIMIT)
        self.members = [MemoryCoordination(self.engine, self.clock) for _ in range(count)]

    async def start(self) -> list[MemoryCoordination]:
        for number, member in enumerate(self.members, 1):
            assert await member.start(place(number), TTL) == TTL
        return self.members

    async def unanswered(self, call: Coroutine[Any, Any, object]) -> CoordinationError:
        """What `call` fails with, once the time limit is over and not before."""
        task = asyncio.ensure_future(call)
        await self.clock.aadvance(LIMIT - 0.1)
        assert not task.done()
        await self.clock.aadvance(0.1)
        problem = task.exception()
        assert isinstance(problem, CoordinationError)
        return problem


async def lost_calls() -> None:
    group = Group(2)
    first, second = await group.start()
    await first.announce(b"replica 1")
    version = await first.claim(b"state 1", b"leader 1", 0)
    before = await second.read()
    group.engine.go_away(1)
    calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
        first.read,
        first.renew,
        first.step_down,
        lambda: first.announce(b"x"),
        lambda: first.change(b"x", version),
        lambda: first.look(place(1)),
        lambda: first.force(place(1), b"x", version),
    ]
    for call in calls:
        assert (await group.unanswered(call())).maybe_stored
        group.engine.come_back(1)
        assert await first.renew()
        assert await second.renew()
        group.engine.go_away(1)
    assert await second.read() == before
    group.engine.come_back(1)
    assert await first.read() == before


async def test_who_is_cut_off_is_told_so_after_the_time_limit_and_changes_nothing() -> None:
    await lost_calls()


async def done_calls() -> None:
    group = Group(2)
    first, second = await group.start()
    group.engine.go_away(1, Fate.DONE)
    assert (await group.unanswered(first.claim(b"state 1", b"leader 1", 0))).maybe_stored
    seen = await second.read()
    assert seen._replace(version=0) == Snapshot(b"state 1", 0, b"leader 1", {})
    group.engine.come_back(1)
    assert await first.read() == seen
    assert await first.change(b"state 2", seen.version) > seen.version


async def test_a_claim_whose_answer_was_lost_is_one() -> None:
    await done_calls()


async def late_calls() -> None:
    group = Group(2)
    first, second = await group.start()
    version = await second.force(place(0), b"state 0", 0)
    group.engine.go_away(1, Fate.LATE)
    await group.unanswered(first.announce(b"replica 1"))
    await group.unanswered(first.claim(b"state 1", b"leader 1", version))
    await group.unanswered(first.step_down())
    await group.unanswered(first.claim(b"state 2", b"leader 1", version))
    assert await second.read() == Snapshot(b"state 0", version, None, {})
    group.engine.come_back(2)
    assert await second.read() == Snapshot(b"state 0", version, None, {})
    group.engine.come_back(1)
    seen = await second.read()
    # The second claim had an old version by then.
    assert seen._replace(version=0) == Snapshot(b"state 1", 0, None, {1: b"replica 1"})
    assert seen.version > version


async def test_what_is_late_takes_effect_in_order_and_under_its_guards() -> None:
    await late_calls()


async def late_after_the_lease() -> None:
    group = Group(2)
    first, second = await group.start()
    group.engine.go_away(1, Fate.LATE)
    await group.unanswered(first.claim(b"state 1", b"leader 1", 0))
    await group.unanswered(first.announce(b"replica 1"))
    await group.unanswered(first.renew())
    await group.clock.aadvance(TTL)
    group.engine.come_back()
    assert await second.read() == Snapshot(None, 0, None, {})
    assert not await first.renew()


async def test_what_is_late_after_the_lease_has_no_effect() -> None:
    await late_after_the_lease()


async def all_away() -> None:
    group = Group(2)
    first, second = await group.start()
    await first.read()
    waiting = asyncio.ensure_future(first.changed())
    group.engine.go_away()
    problem = await group.unanswered(second.read())
    assert "member 2 within 1.0 s" in str(problem)
    assert isinstance(waiting.exception(), CoordinationError)
    group.engine.come_back(2)  # nobody is answered yet
    await group.unanswered(second.read())
    waiting = asyncio.ensure_future(first.changed())
    await group.clock.aadvance(LIMIT / 2)
    assert not waiting.done()
    group.engine.come_back()
    await group.clock.aadvance(LIMIT)
    assert waiting.exception() is None
    assert await second.renew()


async def test_nobody_is_answered_by_an_engine_that_is_away() -> None:
    await all_away()


async def unstoppable() -> None:
    group = Group(2)
    first, second = await group.start()
    await first.announce(b"replica 1")
    await first.claim(b"state 1", b"leader 1", 0)
    group.engine.go_away(1)
    stopping = asyncio.ensure_future(first.stop())
    await group.clock.aadvance(LIMIT)
    assert stopping.exception() is None
    assert (await second.read()).leader == b"leader 1"
    await group.clock.aadvance(TTL - LIMIT)
    seen = await second.read()
    assert (seen.state, seen.leader, seen.replicas) == (b"state 1", None, {})


async def test_who_stops_while_it_is_cut_off_leaves_with_its_lease() -> None:
    await unstoppable()


async def unstarted() -> None:
    group = Group(1)
    (member,) = group.members
    group.engine.go_away(fate=Fate.DONE)
    await group.unanswered(member.start(place(1), TTL))
    group.engine.come_back()
    assert not await member.renew()  # of the lease that was opened it knows nothing
    assert await member.start(place(1), TTL) == TTL
    assert await member.renew()


async def test_a_start_that_was_not_answered_is_tried_again() -> None:
    await unstarted()


async def woken_to_the_moment() -> None:
    group = Group(2)
    first, second = await group.start()
    await group.clock.aadvance(1)
    await second.renew()
    await second.read()
    waiting = asyncio.ensure_future(second.changed())
    await group.clock.aadvance(TTL - 1.01)
    assert not waiting.done()
    await group.clock.aadvance(0.01)
    assert waiting.done()
    assert not await first.renew()


async def test_who_waits_is_woken_when_a_lease_ends() -> None:
    await woken_to_the_moment()


@attrs.define
class Believed:
    """What a member is to be told, by a model that has one line a rule."""

    lease_until: float = -1.0
    announced: bytes | None = None


class Claims(RuleBasedStateMachine):
    """Two or three members, whose calls overlap, against a model that knows no leases but their ends."""

    versions: Bundle[int] = Bundle("versions")

    @initialize(count=st.integers(2, 3), target=versions)
    def begin(self, count: int) -> int:
        self.loop = asyncio.new_event_loop()
        self.group = Group(count)
        self.loop.run_until_complete(self.group.start())
        self.believed = [Believed(TTL) for _ in range(count)]
        self.state: bytes | None = None
        self.version = 0
        self.leader: tuple[int, bytes] | None = None
        self.serial = 0
        return 0

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(call)

    def fresh(self) -> bytes:
        self.serial += 1
        return b"%d" % self.serial

    def member(self, number: int) -> int:
        return number % len(self.believed)

    def lives(self, number: int) -> bool:
        return self.believed[number].lease_until > self.group.clock.monotonic()

    def wrote(self, version: int, state: bytes) -> None:
        assert version > self.version
        self.version, self.state = version, state

    @rule(target=versions, version=versions, number=st.integers(0, 5))
    def change(self, version: int, number: int) -> Any:
        number, state = self.member(number), self.fresh()
        got = self.run(self.group.members[number].change(state, version))
        if self.leader is None or self.leader[0] != number or version != self.version:
            assert got == 0
            return multiple()
        self.wrote(got, state)
        return got

    @rule(target=versions, versions=st.lists(versions, min_size=3, max_size=3))
    def claim_at_once(self, versions: list[int]) -> Any:
        state, leader = self.fresh(), self.fresh()

        async def all_claim() -> list[int]:
            calls = [
                each.claim(state + b" of %d" % number, leader + b" of %d" % number, version)
                for number, (each, version) in enumerate(zip(self.group.members, versions, strict=False))
            ]
            return await asyncio.gather(*calls)

        told = self.run(all_claim())
        may = [
            number
            for number in range(len(told))
            if self.leader is None and versions[number] == self.version and self.lives(number)
        ]
        won = [number for number, got in enumerate(told) if got]
        assert len(won) == bool(may)
        assert set(won) <= set(may)
        for number in won:
            self.wrote(told[number], state + b" of %d" % number)
            self.leader = (number, leader + b" of %d" % number)
        return multiple(*(got for got in told if got))

    @rule(target=versions, version=versions)
    def force(self, version: int) -> Any:
        state = self.fresh()
        got = self.run(self.group.members[0].force(place(0), state, version))
        if version != self.version:
            assert got == 0
            return multiple()
        self.wrote(got, state)
        return got

    @rule(number=st.integers(0, 5))
    def announce(self, number: int) -> None:
        number, replica = self.member(number), self.fresh()
        call = self.group.members[number].announce(replica)
        if self.lives(number):
            self.run(call)
            self.believed[number].announced = replica
        else:
            with pytest.raises(CoordinationError):
                self.run(call)

    @rule(number=st.integers(0, 5))
    def renew(self, number: int) -> None:
        number = self.member(number)
        assert self.run(self.group.members[number].renew()) == self.lives(number)
        if self.lives(number):
            self.believed[number].lease_until = self.group.clock.monotonic() + TTL

    @rule(number=st.integers(0, 5))
    def step_down(self, number: int) -> None:
        number = self.member(number)
        self.run(self.group.members[number].step_down())
        if self.leader is not None and self.leader[0] == number:
            self.leader = None

    @rule(number=st.integers(0, 5), stop=st.booleans())
    def start_anew(self, number: int, stop: bool) -> None:
        number = self.member(number)
        member = self.group.members[number]
        if stop:
            self.run(member.stop())
        assert self.run(member.start(place(number + 1), TTL)) == TTL
        self.lost(number)
        self.believed[number].lease_until = self.group.clock.monotonic() + TTL

    @rule(seconds=st.sampled_from([0.5, 2.0, 4.0, 5.0]))
    def pass_time(self, seconds: float) -> None:
        self.group.clock.advance(seconds)
        for number in range(len(self.believed)):
            if not self.lives(number):
                self.lost(number)

    def lost(self, number: int) -> None:
        self.believed[number].announced = None
        if self.leader is not None and self.leader[0] == number:
            self.leader = None

    @invariant()
    def all_see_the_same(self) -> None:
        if not hasattr(self, "group"):
            return
        replicas = {n: e.announced for n, e in enumerate(self.believed, 1) if e.announced is not None}
        leader = None if self.leader is None else self.leader[1]
        for member in self.group.members:
            seen = self.run(member.read())
            assert seen == Snapshot(self.state, self.version, leader, replicas)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.loop.close()


Claims.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestClaims = Claims.TestCase
