"""A coordination whose calls go over a network that fails."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Self

import pytest
from mqframe_testing.conformance import CoordinationConformance
from mqframe_testing.coordination import MemoryCoordination, MemoryEngine
from mqframe_testing.simulation import FailingCoordination, Host, SimulatedLoop, Simulation

from mqframe.core.errors import ClosedError, CoordinationError
from mqframe.hooks.interfaces import Coordination, GroupPlace, Snapshot

TTL = 10.0


class Loops(asyncio.DefaultEventLoopPolicy):
    """`asyncio.run` gets a simulated loop."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return SimulatedLoop()


class TestOnASoundNetworkItIsAnyCoordination(CoordinationConformance):
    @pytest.fixture(autouse=True)
    def _loops(self) -> Iterator[None]:
        self.engine: MemoryEngine | None = None
        before = asyncio.get_event_loop_policy()
        asyncio.set_event_loop_policy(Loops())
        yield
        asyncio.set_event_loop_policy(before)

    def make(self) -> Coordination:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        self.engine = self.engine or MemoryEngine(loop.clock)
        host = Host(loop, "member")
        return FailingCoordination(MemoryCoordination(self.engine, host.clock), loop.network, host)

    async def wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        await loop.clock.advance(seconds)


class Scene:
    """Two members of a group, and the engine itself for a look past the network."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.network = simulation, simulation.network
        self.engine = MemoryEngine(simulation.clock)
        self.hosts = [simulation.host(name) for name in ("one", "two")]
        self.one, self.two = (
            FailingCoordination(MemoryCoordination(self.engine, host.clock), self.network, host)
            for host in self.hosts
        )

    async def __aenter__(self) -> Self:
        for number, member in enumerate((self.one, self.two), 1):
            assert await member.start(GroupPlace("c", "b", number), TTL) == TTL
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Nothing: the simulation ends its tasks."""

    async def held(self) -> Snapshot:
        """What the engine holds."""
        watcher = MemoryCoordination(self.engine, self.simulation.clock)
        return await watcher.look(GroupPlace("c", "b", 0))


def play(scenario: Callable[[Scene], Coroutine[Any, Any, None]], seed: int) -> None:
    """Run `scenario`, one of a series, by `seed`."""

    async def whole(simulation: Simulation) -> None:
        async with Scene(simulation) as scene:
            await scenario(scene)

    with Simulation(seed) as simulation:
        simulation.run(whole(simulation))


async def test_an_answer_that_is_lost_leaves_the_effect(simulation: Simulation) -> None:
    async with Scene(simulation) as scene:
        scene.network.block("coordination", "one", one_way=True)
        before = scene.simulation.clock.monotonic()
        with pytest.raises(CoordinationError, match="did not answer host one within 1 s"):
            await scene.one.claim(b"state", b"leader 1", 0)
        assert scene.simulation.clock.monotonic() - before == 1
        assert await scene.two.claim(b"state 2", b"leader 2", 0) == 0
        scene.network.heal()
        found = await scene.one.read()
        assert (found.state, found.leader) == (b"state", b"leader 1")


def test_a_request_that_is_lost_has_no_effect_now_and_may_have_one_once_the_way_is_healed() -> None:
    async def scenario(scene: Scene) -> None:
        scene.network.block("one", "coordination", one_way=True)
        with pytest.raises(CoordinationError):
            await scene.one.claim(b"state", b"leader 1", 0)
        assert await scene.held() == Snapshot(None, 0, None, {})
        scene.network.heal()
        await scene.simulation.clock.sleep(0)
        outcomes[(await scene.held()).leader] += 1

    outcomes: Counter[bytes | None] = Counter()
    for seed in range(30):
        play(scenario, seed)
    assert outcomes.keys() == {None, b"leader 1"}


def test_what_is_late_keeps_the_guards_of_its_call() -> None:
    async def scenario(scene: Scene) -> None:
        scene.network.block("one", "coordination")
        with pytest.raises(CoordinationError):
            await scene.one.claim(b"state 1", b"leader 1", 0)
        with pytest.raises(CoordinationError):
            await scene.one.announce(b"replica 1")
        assert await scene.two.claim(b"state 2", b"leader 2", 0) > 0
        scene.network.heal()
        await scene.one.start(GroupPlace("c", "b", 1), TTL)
        await scene.simulation.clock.sleep(0)
        found = await scene.held()
        assert (found.state, found.leader, found.replicas) == (b"state 2", b"leader 2", {})

    for seed in range(10):
        play(scenario, seed)


def test_a_call_that_comes_twice_may_be_answered_the_second_time() -> None:
    async def scenario(scene: Scene) -> None:
        scene.network.double("one", "coordination", 1.0)
        answers.add(await scene.one.claim(b"state", b"leader 1", 0) > 0)
        found = await scene.held()
        assert (found.state, found.leader) == (b"state", b"leader 1")

    answers: set[bool] = set()
    for seed in range(20):
        play(scenario, seed)
    assert answers == {True, False}


def test_a_lossy_way_loses_its_share_of_requests_and_answers() -> None:
    async def scenario(scene: Scene) -> None:
        place = GroupPlace("c", "b", 0)
        scene.network.lose("one", "coordination", 0.3)
        for number in range(200):
            version = (await scene.held()).version
            try:
                assert await scene.one.force(place, b"%d" % number, version) > version
                outcomes["answered"] += 1
            except CoordinationError:
                done = (await scene.held()).state == b"%d" % number
                outcomes["answer lost" if done else "request lost"] += 1

    outcomes: Counter[str] = Counter()
    play(scenario, 1)
    assert outcomes["answered"] > 60
    assert outcomes["request lost"] > 30
    assert outcomes["answer lost"] > 20


def test_an_answer_may_come_too_late() -> None:
    async def scenario(scene: Scene) -> None:
        scene.network.delay("coordination", "one", 4, one_way=True)
        try:
            version = await scene.one.claim(b"state", b"leader 1", 0)
            outcomes["in time"] += version > 0
        except CoordinationError:
            outcomes["late"] += 1
        assert (await scene.held()).leader == b"leader 1"

    outcomes: Counter[str] = Counter()
    for seed in range(30):
        play(scenario, seed)
    assert min(outcomes["in time"], outcomes["late"]) > 2


def test_a_request_takes_effect_late_and_after_its_caller_gave_up() -> None:
    async def scenario(scene: Scene) -> None:
        scene.network.way("one", "coordination").delay = 8
        try:
            await scene.one.claim(b"state", b"leader 1", 0)
        except CoordinationError:
            before = (await scene.held()).leader
            await scene.simulation.clock.sleep(7.5)
            seen.add((before, (await scene.held()).leader))

    seen: set[tuple[bytes | None, bytes | None]] = set()
    for seed in range(20):
        play(scenario, seed)
    assert (None, b"leader 1") in seen


async def test_a_lease_that_is_not_renewed_over_a_blocked_way_runs_out(simulation: Simulation) -> None:
    async with Scene(simulation) as scene:
        assert await scene.one.claim(b"state", b"leader 1", 0) > 0
        scene.network.block("one", "coordination", one_way=True)
        for _ in range(12):
            with pytest.raises(CoordinationError):
                await scene.one.renew()
            assert await scene.two.renew()
        assert (await scene.held()).leader is None
        scene.network.heal()
        assert await scene.one.renew() is False


def test_a_host_that_stands_still_sees_the_answer_when_it_goes_on() -> None:
    async def scenario(scene: Scene) -> None:
        host = scene.hosts[0]
        scene.network.way("coordination", "one").delay = 0.9
        claim = host.spawn(scene.one.claim(b"state", b"leader 1", 0))
        await scene.simulation.clock.sleep(0)
        host.pause(2)
        await scene.simulation.clock.sleep(1.9)
        assert not claim.done()
        assert (await scene.held()).leader == b"leader 1"
        await scene.simulation.clock.sleep(1)
        assert claim.exception() is None  # its limit is over, too, and what came meanwhile is read first

    for seed in range(20):
        play(scenario, seed)


async def test_changes_are_told_unless_the_engine_is_out_of_reach(simulation: Simulation) -> None:
    async with Scene(simulation) as scene:
        await scene.one.read()
        hearing = asyncio.ensure_future(scene.one.changed())
        await scene.simulation.clock.sleep(5)
        assert not hearing.done()
        await scene.two.renew()
        await scene.two.announce(b"replica 2")
        await scene.simulation.clock.sleep(0)
        assert hearing.done()
        await hearing
        await scene.one.read()
        await scene.one.renew()
        hearing = asyncio.ensure_future(scene.one.changed())
        scene.network.block("coordination", "one", one_way=True)
        await scene.two.announce(b"replica 3")
        await scene.simulation.clock.sleep(0.5)
        assert not hearing.done()
        await scene.simulation.clock.sleep(3)
        with pytest.raises(CoordinationError):
            await hearing


async def test_a_stop_that_is_not_heard_ends_with_the_lease(simulation: Simulation) -> None:
    async with Scene(simulation) as scene:
        assert await scene.one.claim(b"state", b"leader 1", 0) > 0
        scene.network.block("one", "coordination", one_way=True)
        await scene.one.stop()
        await scene.one.stop()
        with pytest.raises(ClosedError):
            await scene.one.read()
        assert (await scene.held()).leader == b"leader 1"
        await scene.simulation.clock.sleep(TTL)
        assert (await scene.held()).leader is None


async def test_an_operator_asks_over_the_same_ways(simulation: Simulation) -> None:
    async with Scene(simulation) as scene:
        place = GroupPlace("c", "b", 0)
        version = await scene.one.force(place, b"forced", 0)
        assert await scene.one.look(place) == Snapshot(b"forced", version, None, {})
        scene.network.block("one", "coordination")
        with pytest.raises(CoordinationError):
            await scene.one.look(place)


def test_calls_replay_by_the_seed() -> None:
    async def scenario(scene: Scene) -> None:
        scene.network.lose("one", "coordination", 0.3)
        scene.network.double("one", "coordination", 0.3)
        scene.network.delay("one", "coordination", 0.8)
        for number in range(20):
            try:
                await scene.one.announce(b"%d" % number)
                told.append("done")
            except CoordinationError as problem:
                told.append(f"{scene.simulation.clock.monotonic()} {problem}")

    runs = []
    for seed in (1, 1, 2):
        told: list[str] = []
        play(scenario, seed)
        runs.append(told)
    assert runs[0] == runs[1] != runs[2]
