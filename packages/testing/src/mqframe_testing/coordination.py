"""An engine of coordination in memory: for brokers of one process, on a clock, away when a test wants it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

import attrs

from mqframe.core.clock import Timer
from mqframe.core.errors import ClosedError, CoordinationError
from mqframe.hooks.interfaces import Coordination, GroupPlace, Snapshot
from mqframe.net.clock import LoopClock

T = TypeVar("T")


class Fate(Enum):
    """What becomes of a call to an engine that is away; the caller learns none of it."""

    LOST = "lost"
    """It never takes effect."""
    DONE = "done"
    """It takes effect at once; only the answer is lost."""
    LATE = "late"
    """It takes effect when the engine comes back, long after its caller gave up."""


@attrs.define
class _Lease:
    """Of which group, how long it lives after a renewal, and until when (monotonic time of the engine)."""

    group: _Group
    ttl_seconds: float
    deadline: float
    timer: Timer | None = None


@attrs.define(eq=False)
class _Group:
    """Values with the leases that carry them. `changes` counts what happened; `waiting` are woken by it."""

    state: bytes | None = None
    version: int = 0
    leader: tuple[bytes, int] | None = None
    replicas: dict[int, tuple[bytes, int]] = attrs.field(factory=dict)
    changes: int = 0
    waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = attrs.field(factory=set)


class MemoryEngine:
    """One consistent store for all members of all groups.

    `clock`: leases run out by it. `limit_seconds`: after how long, on the member's own clock, a call to an
    engine that is away fails. `go_away` and `come_back` may be called from any thread.
    """

    def __init__(self, clock: LoopClock, *, limit_seconds: float = 1.0) -> None:
        self.limit_seconds = limit_seconds
        self._clock = clock
        self._lock = threading.RLock()
        self._groups: dict[tuple[str, str], _Group] = {}
        self._leases: dict[int, _Lease] = {}
        self._revision = 0
        self._away: dict[int | None, Fate] = {}
        self._late: list[tuple[int, Callable[[], object]]] = []

    def go_away(self, member: int | None = None, fate: Fate = Fate.LOST) -> None:
        """Answer `member` no more, `None`: nobody. `fate`: what becomes of what is asked for meanwhile."""
        with self._lock:
            self._away[member] = fate
            self._wake(*self._groups.values())

    def come_back(self, member: int | None = None) -> None:
        """Answer `member` again, unless nobody is answered; `None`: answer everybody.

        What was asked for with `Fate.LATE` takes effect now, in its order.
        """
        with self._lock:
            if member is None:
                self._away.clear()
            self._away.pop(member, None)
            back = [action for each, action in self._late if not self.is_away(each)]
            self._late = [(each, action) for each, action in self._late if self.is_away(each)]
            for action in back:
                self.act(action)
            self._wake(*self._groups.values())

    def is_away(self, member: int) -> bool:
        """Whether `member` is not answered."""
        return not self._away.keys().isdisjoint((member, None))

    def group(self, place: GroupPlace) -> _Group:
        """The group in `place`."""
        with self._lock:
            return self._groups.setdefault((place.cluster, place.broker), _Group())

    def act(self, action: Callable[[], T]) -> T:
        """The result of `action`, which nothing interrupts, and which sees no lease whose time is over."""
        with self._lock:
            now = self._clock.monotonic()
            for lease in [number for number, each in self._leases.items() if each.deadline <= now]:
                self.end(lease)
            return action()

    async def reach(self, member: int, clock: LoopClock, action: Callable[[], T]) -> T:
        """The result of `action`, asked for by `member`. Raises `CoordinationError` while it is away."""
        await asyncio.sleep(0)  # as a network: others come in between
        with self._lock:
            fate = self._away.get(member) or self._away.get(None)
            if fate is Fate.LATE:
                self._late.append((member, action))
            elif fate is not Fate.LOST:
                result = self.act(action)
        if fate is None:
            await asyncio.sleep(0)
            return result
        await clock.sleep(self.limit_seconds)
        raise self.no_answer(member)

    def no_answer(self, member: int) -> CoordinationError:
        """What a call of `member` fails with."""
        return CoordinationError(
            f"the engine in memory did not answer member {member} within {self.limit_seconds} s"
        )

    def grant(self, group: _Group, ttl_seconds: float) -> int:
        """Open a lease; its number."""
        self._revision += 1
        number = self._revision
        self._leases[number] = _Lease(group, ttl_seconds, 0.0)
        self.renew(number)
        return number

    def lives(self, lease: int) -> bool:
        """Whether `lease` is there."""
        return lease in self._leases

    def renew(self, lease: int) -> bool:
        """Have `lease` live for its time from now on; `False` when it is gone."""
        found = self._leases.get(lease)
        if found is None:
            return False
        if found.timer is not None:
            found.timer.cancel()
        found.deadline = self._clock.monotonic() + found.ttl_seconds
        found.timer = self._clock.call_later(found.ttl_seconds, lambda: self.act(lambda: None))
        return True

    def end(self, lease: int) -> None:
        """Take `lease` away, with what it carries."""
        found = self._leases.pop(lease, None)
        if found is None:
            return
        if found.timer is not None:
            found.timer.cancel()
        group = found.group
        if group.leader is not None and group.leader[1] == lease:
            group.leader = None
        group.replicas = {number: each for number, each in group.replicas.items() if each[1] != lease}
        self.touched(group)

    def write(self, group: _Group, state: bytes) -> int:
        """Replace the state; its new version."""
        self._revision += 1
        group.state, group.version = state, self._revision
        self.touched(group)
        return group.version

    def touched(self, group: _Group) -> None:
        """Something of `group` changed: wake who waits for that."""
        group.changes += 1
        self._wake(group)

    def _wake(self, *groups: _Group) -> None:
        for group in groups:
            for loop, event in group.waiting:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(event.set)


class MemoryCoordination(Coordination):
    """A member's connection to `engine`; `clock` is the member's own, by which it waits for answers."""

    def __init__(self, engine: MemoryEngine, clock: LoopClock) -> None:
        self._engine = engine
        self._clock = clock
        self._place: GroupPlace | None = None
        self._lease = 0
        self._seen = -1

    async def look(self, place: GroupPlace) -> Snapshot:
        """As `Coordination.look`."""
        group = self._engine.group(place)
        return await self._reach(place.member, lambda: _snapshot(group))

    async def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        """As `Coordination.force`."""
        engine, group = self._engine, self._engine.group(place)
        return await self._reach(
            place.member, lambda: engine.write(group, state) if group.version == version else 0
        )

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        """As `Coordination.start`; grants what is asked for."""
        engine, former, group = self._engine, self._lease, self._engine.group(place)
        self._place, self._lease, self._seen = place, 0, -1

        def begin() -> int:
            engine.end(former)
            return engine.grant(group, ttl_seconds)

        self._lease = await self._reach(place.member, begin)
        return ttl_seconds

    async def read(self) -> Snapshot:
        """As `Coordination.read`."""
        place, group = self._here()
        snapshot, self._seen = await self._reach(place.member, lambda: (_snapshot(group), group.changes))
        return snapshot

    async def announce(self, replica: bytes) -> None:
        """As `Coordination.announce`."""
        place, group = self._here()
        engine, lease = self._engine, self._lease

        def enter() -> bool:
            if engine.lives(lease):
                group.replicas = {**group.replicas, place.member: (replica, lease)}
                engine.touched(group)
            return engine.lives(lease)

        if not await self._reach(place.member, enter):
            raise CoordinationError(
                f"the lease of member {place.member} is gone: start anew", maybe_stored=False
            )

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        """As `Coordination.claim`."""
        place, group = self._here()
        engine, lease = self._engine, self._lease

        def lead() -> int:
            if group.leader is not None or group.version != version or not engine.lives(lease):
                return 0
            group.leader = (leader, lease)
            return engine.write(group, state)

        return await self._reach(place.member, lead)

    async def change(self, state: bytes, version: int) -> int:
        """As `Coordination.change`."""
        place, group = self._here()
        engine, lease = self._engine, self._lease

        def write() -> int:
            leads = group.leader is not None and group.leader[1] == lease
            return engine.write(group, state) if leads and group.version == version else 0

        return await self._reach(place.member, write)

    async def renew(self) -> bool:
        """As `Coordination.renew`."""
        place, _ = self._here()
        engine, lease = self._engine, self._lease
        return await self._reach(place.member, lambda: engine.renew(lease))

    async def step_down(self) -> None:
        """As `Coordination.step_down`."""
        place, group = self._here()
        engine, lease = self._engine, self._lease

        def leave() -> None:
            if group.leader is not None and group.leader[1] == lease:
                group.leader = None
                engine.touched(group)

        await self._reach(place.member, leave)

    async def changed(self) -> None:
        """As `Coordination.changed`."""
        place, group = self._here()
        await asyncio.sleep(0)
        event = asyncio.Event()
        entry = (asyncio.get_running_loop(), event)
        group.waiting.add(entry)
        try:
            while group.changes == self._seen:
                if self._engine.is_away(place.member):
                    await self._clock.sleep(self._engine.limit_seconds)
                    if self._engine.is_away(place.member):
                        raise self._engine.no_answer(place.member)
                    return
                await event.wait()
                event.clear()
        finally:
            group.waiting.discard(entry)

    async def stop(self) -> None:
        """As `Coordination.stop`."""
        if self._place is None:
            return
        engine, lease, member = self._engine, self._lease, self._place.member
        self._place, self._lease = None, 0
        try:
            await self._reach(member, lambda: engine.end(lease))
        except CoordinationError:
            return  # it goes when its time is over

    async def _reach(self, member: int, action: Callable[[], T]) -> T:
        return await self._engine.reach(member, self._clock, action)

    def _here(self) -> tuple[GroupPlace, _Group]:
        if self._place is None:
            raise ClosedError("this coordination is not started: call start first, and not after stop")
        return self._place, self._engine.group(self._place)


def _snapshot(group: _Group) -> Snapshot:
    leader = group.leader[0] if group.leader else None
    replicas = {number: value for number, (value, _) in group.replicas.items()}
    return Snapshot(group.state, group.version, leader, replicas)
