"""Calls to a coordination over a scripted network: requests and answers are lost, late, or come twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Final, TypeVar

from mqframe.core.errors import CallTimeout, ClosedError, CoordinationError
from mqframe.hooks.interfaces import Coordination, GroupPlace, Snapshot
from mqframe.net.clock import within
from mqframe_testing.simulation.host import Host
from mqframe_testing.simulation.network import Network

T = TypeVar("T")
COORDINATION: Final = "coordination"
"""The name by which `Network` knows where the engine is."""
LIMIT_SECONDS: Final = 1.0


class FailingCoordination(Coordination):
    """`inner` as it looks from `host`: a `MemoryCoordination`, or any other without a network of its own.

    What the network does to the ways between `host` and `"coordination"` befalls calls: each request, and
    each answer, is lost where its way is blocked, or by the share that the way loses; it takes as long as the
    way does, and may come too late; requests arrive twice by the share that the way doubles, and the second
    answer may be the one that comes. Of requests that a blocked way stops, some arrive once it is healed, as
    from the buffer of a connection. Which, is chance. Whoever asked sees `CoordinationError` when there is no
    answer after `limit_seconds` by the clock of `host`, whatever became of the request.

    What arrives late has the guards of its call: it is forgotten once `start` or `stop` was called. `start`
    and `stop` themselves come never twice, and never late.
    """

    def __init__(
        self, inner: Coordination, network: Network, host: Host, limit_seconds: float = LIMIT_SECONDS
    ) -> None:
        self._inner = inner
        self._network = network
        self._host = host
        self._limit = limit_seconds
        self._life = 0
        self._started = False

    async def look(self, place: GroupPlace) -> Snapshot:
        """As `Coordination.look`."""
        return await self._ask(lambda: self._inner.look(place))

    async def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        """As `Coordination.force`."""
        return await self._ask(lambda: self._inner.force(place, state, version))

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        """As `Coordination.start`."""
        self._life += 1
        self._started = False
        granted = await self._ask(lambda: self._inner.start(place, ttl_seconds), once=True)
        self._started = True
        return granted

    async def read(self) -> Snapshot:
        """As `Coordination.read`."""
        return await self._ask_started(self._inner.read)

    async def announce(self, replica: bytes) -> None:
        """As `Coordination.announce`."""
        await self._ask_started(lambda: self._inner.announce(replica))

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        """As `Coordination.claim`."""
        return await self._ask_started(lambda: self._inner.claim(state, leader, version))

    async def change(self, state: bytes, version: int) -> int:
        """As `Coordination.change`."""
        return await self._ask_started(lambda: self._inner.change(state, version))

    async def renew(self) -> bool:
        """As `Coordination.renew`."""
        return await self._ask_started(self._inner.renew)

    async def step_down(self) -> None:
        """As `Coordination.step_down`."""
        await self._ask_started(self._inner.step_down)

    async def changed(self) -> None:
        """As `Coordination.changed`."""
        self._check_started()
        watch = self._begin(self._inner.changed)
        try:
            while True:
                over = await self._within_limit(watch)
                if not self._passes():
                    await self._host.clock.sleep(self._limit)
                    if not self._passes():
                        raise self._no_answer()
                if over:
                    return watch.result()
        finally:
            watch.cancel()

    async def stop(self) -> None:
        """As `Coordination.stop`. Where the engine does not hear of it, the lease ends with its time."""
        if not self._started:
            return
        self._life += 1
        self._started = False
        try:
            await self._ask(self._inner.stop, once=True)
        except CoordinationError:
            return

    # The way there and back

    async def _ask_started(self, call: Callable[[], Awaitable[T]]) -> T:
        self._check_started()
        return await self._ask(call)

    def _check_started(self) -> None:
        if not self._started:
            raise ClosedError("this coordination is not started: call start first, and not after stop")

    async def _ask(self, call: Callable[[], Awaitable[T]], *, once: bool = False) -> T:
        """What `call` gives, if the answer comes in time. `once`: it comes neither twice nor late."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        # A task of the network's: a host that stands still or a caller who gives up takes no request back.
        self._begin(lambda: self._carry(call, answer, once))
        try:
            return await within(self._host.clock, self._limit, answer)
        except CallTimeout:
            raise self._no_answer() from None

    async def _carry(self, call: Callable[[], Awaitable[T]], answer: asyncio.Future[T], once: bool) -> None:
        name, life = self._host.name, self._life
        if not await self._arrives(name, COORDINATION, may_be_late=not once) or self._life != life:
            return
        twice = not once and self._happens(self._network.way(name, COORDINATION).doubles)
        problem, result = None, None
        try:
            result = await call()
            if twice:
                second = await call()
                result = second if self._happens(0.5) else result
        except Exception as failure:
            problem = failure

        def hand_over() -> None:
            if answer.done():
                return  # nobody waits for it any more
            if problem is None:
                answer.set_result(result)  # type: ignore[arg-type]
            else:
                answer.set_exception(problem)

        if await self._arrives(COORDINATION, name):
            soon = self._network.loop.call_soon
            self._host.arrive(lambda: soon(hand_over, context=Context()))

    async def _arrives(self, source: str, target: str, *, may_be_late: bool = False) -> bool:
        """Return when something that is sent now has arrived; `False`: it never does."""
        way = self._network.way(source, target)
        if self._happens(way.loss):
            return False
        if way.blocked:
            if not may_be_late or not self._happens(0.5):
                return False
            await self._network.passable(source, target)
        seconds = way.delay * (1.0 if self._network.chance is None else self._network.chance.random())
        if seconds:
            await self._network.clock.sleep(seconds)
        return not self._network.way(source, target).blocked or await self._arrives(
            source, target, may_be_late=may_be_late
        )

    def _happens(self, share: float) -> bool:
        chance = self._network.chance
        return bool(share) and (share >= 1 or (chance is not None and chance.random() < share))

    def _passes(self) -> bool:
        name, way = self._host.name, self._network.way
        return not (way(name, COORDINATION).blocked or way(COORDINATION, name).blocked)

    def _begin(self, work: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        async def do() -> T:
            return await work()

        return asyncio.get_running_loop().create_task(do(), context=Context())

    async def _within_limit(self, task: asyncio.Task[T]) -> bool:
        """Whether `task` is over, after the time limit at the latest."""
        try:
            await within(self._host.clock, self._limit, asyncio.wait({task}))
        except CallTimeout:
            return False
        return True

    def _no_answer(self) -> CoordinationError:
        return CoordinationError(
            f"the coordination did not answer host {self._host.name} within {self._limit:g} s"
        )
