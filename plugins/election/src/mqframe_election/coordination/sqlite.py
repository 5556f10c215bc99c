"""The engine `sqlite`: a file that the brokers of a group share, on one machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from mqframe.core.config.settings import setting, settings, within
from mqframe.core.errors import ClosedError, CoordinationError
from mqframe.hooks.interfaces import CALLS_IN_A_LEASE, Coordination, GroupPlace, Snapshot, WaitingClock
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe.net.clock import boot_id
from mqframe_election.coordination.group_file import GroupFile

T = TypeVar("T")
_BUSY_SHARE: Final = 0.5
"""Of the time limit, how long to wait for other processes: after that it is known that nothing was done."""
log = get_logger("replication")


class _Started(NamedTuple):
    """What a member has from `start` to `stop`."""

    place: GroupPlace
    lease: int


class SqliteCoordination(Coordination):
    """Coordination by SQLite, for brokers of one machine, with which all of them end at once.

    `clock`: its monotonic time is that of the system, which all processes read alike; waits for changes are
    on it as well. Files are read and written in a thread, whose time limit is real time.
    """

    @settings("plugins.sqlite")
    class Options:
        """Where the file lies, and how it is used."""

        file: Path = setting(doc="the file, one for all brokers of a group; on a disk of this machine")
        timeout_seconds: float = setting(
            1.0,
            doc="how long a call may take, seconds; never more than a quarter of the lease",
            check=within(0.01, 60),
        )
        poll_seconds: float = setting(
            0.2, doc="how often the file is looked at for changes, seconds", check=within(0.001, 60)
        )

    def __init__(self, clock: WaitingClock, options: Options) -> None:
        self._clock = clock
        self._options = options
        self._limit_seconds = options.timeout_seconds
        self._file = GroupFile(options.file.expanduser(), clock.monotonic, boot_id())
        self._thread: ThreadPoolExecutor | None = None
        self._started: _Started | None = None
        self._changes = -1

    async def look(self, place: GroupPlace) -> Snapshot:
        """As `Coordination.look`. `stop` closes the file."""
        return (await self._run(lambda: self._file.read(place)))[0]

    async def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        """As `Coordination.force`. `stop` closes the file."""
        return await self._run(lambda: self._file.force(place, state, version))

    async def start(self, place: GroupPlace, ttl_seconds: float) -> float:
        """As `Coordination.start`; grants what is asked for."""
        former = self._started
        if former is not None:
            await self._run(lambda: self._file.revoke(*former))
        self._limit_seconds = min(self._options.timeout_seconds, ttl_seconds / CALLS_IN_A_LEASE)
        self._started = _Started(place, await self._run(lambda: self._file.grant(place, ttl_seconds)))
        self._changes = -1
        return ttl_seconds

    async def read(self) -> Snapshot:
        """As `Coordination.read`."""
        place = self._here().place
        snapshot, self._changes = await self._run(lambda: self._file.read(place))
        return snapshot

    async def announce(self, replica: bytes) -> None:
        """As `Coordination.announce`."""
        here = self._here()
        if not await self._run(lambda: self._file.announce(*here, replica)):
            raise CoordinationError(
                f"the lease of member {here.place.member} is gone: start anew", maybe_stored=False
            )

    async def claim(self, state: bytes, leader: bytes, version: int) -> int:
        """As `Coordination.claim`."""
        here = self._here()
        return await self._run(lambda: self._file.claim(*here, state, leader, version))

    async def change(self, state: bytes, version: int) -> int:
        """As `Coordination.change`."""
        here = self._here()
        return await self._run(lambda: self._file.change(*here, state, version))

    async def renew(self) -> bool:
        """As `Coordination.renew`."""
        here = self._here()
        return await self._run(lambda: self._file.renew(*here))

    async def step_down(self) -> None:
        """As `Coordination.step_down`."""
        here = self._here()
        await self._run(lambda: self._file.step_down(*here))

    async def changed(self) -> None:
        """As `Coordination.changed`; looks every `poll_seconds`."""
        place = self._here().place
        while self._changes >= 0:
            if not await self._run(partial(self._file.is_as_read, place, self._changes)):
                return
            await self._clock.sleep(self._options.poll_seconds)

    async def stop(self) -> None:
        """As `Coordination.stop`."""
        started, self._started = self._started, None
        try:
            if started is not None:
                await self._run(lambda: self._file.revoke(*started))
            if self._thread is not None:
                await self._run(self._file.close)
        except CoordinationError as problem:
            log.warning("a lease is not given up, and runs out", problem=str(problem))
        finally:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="mqframe-coordination")
        self._file.busy_seconds = self._limit_seconds * _BUSY_SHARE
        try:
            async with asyncio.timeout(self._limit_seconds):
                return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except TimeoutError:
            raise CoordinationError(
                f"coordination file {self._file.path}: the disk does not answer"
            ) from None

    def _here(self) -> _Started:
        if self._started is None:
            raise ClosedError("coordination by sqlite is not started: call start first, and not after stop")
        return self._started


@hookimpl
def register_coordinations() -> Factories:
    """`sqlite`."""
    return {"sqlite": SqliteCoordination}
