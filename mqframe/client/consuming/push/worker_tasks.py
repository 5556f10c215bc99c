"""Tasks that call `async def` listeners, a bounded number at once, all on the consumer's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from mqframe.client.consuming.push.work import Chain, W, Workers
from mqframe.client.consuming.push.worker_threads import LOOK_SECONDS
from mqframe.core.errors import CallTimeout
from mqframe.net.clock import LoopClock, within

CALLS_IN_ONE_GO: Final = 64
"""A task whose listener never waits lets the rest of the loop have its turn after so many calls."""


class WorkerTasks(Workers[W]):
    """At most `tasks_max` tasks, made when needed, each calling one listener after the other.

    `run`: carries out a call; `done` is called once a turn of the loop.
    """

    def __init__(
        self,
        run: Callable[[W], Awaitable[None]],
        done: Callable[[list[W]], None],
        clock: LoopClock,
        tasks_max: int,
        chain: Chain[W] | None = None,
    ) -> None:
        super().__init__(done, clock, chain)
        self._run = run
        self._tasks_max = tasks_max
        self._finished: list[W] = []
        self._idle: list[asyncio.Future[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, calls: list[W]) -> None:
        """Have `calls` carried out, begun in their order."""
        self._work.extend(calls)
        self._rouse(1 if self._pace.quick else len(calls))
        if self._look is None and self._work:
            self._look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_after)

    async def stop(self, seconds: float) -> bool:
        """Forget what has not begun, wait up to `seconds` for what has, then cancel it. Whether all ended."""
        self._stopping = True
        self._work.clear()
        if self._look is not None:
            self._look.cancel()
        self._rouse(len(self._idle))
        ended = True
        tasks = set(self._tasks)  # each leaves the original when it is done
        if tasks:
            try:
                await within(self._clock, seconds, asyncio.wait(tasks))
            except CallTimeout:
                ended = False
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        self.collect()
        return ended

    def _rouse(self, count: int) -> None:
        for _ in range(min(count, self._tasks_max)):
            if self._idle:
                self._idle.pop().set_result(None)
            elif len(self._tasks) < self._tasks_max and not self._stopping:
                task = asyncio.ensure_future(self._work_off())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                return

    def _look_after(self) -> None:
        self._look = None
        if self._work and not self._stopping:
            # Whoever is roused works until nothing waits, so there is no need to look again.
            self._rouse(len(self._work))

    async def _work_off(self) -> None:
        loop = asyncio.get_running_loop()
        work, run, pace, chain = self._work, self._run, self._pace, self._chain
        follower: W | None = None
        # A chain ends by itself when the work stops; what it has begun it must end.
        while follower is not None or not self._stopping:
            for _ in range(CALLS_IN_ONE_GO):
                if follower is not None:
                    call = follower
                elif work:
                    call = work.popleft()
                else:
                    break
                await run(call)
                pace.note(call.elapsed)
                if not self._finished:
                    loop.call_soon(self.collect)
                self._finished.append(call)
                if chain is not None:
                    follower = None if chain.ends(call) else chain.follow(call)
                    if follower is not None and chain.ends(follower):
                        self._finished.append(follower)
                        follower = None
            if follower is not None or work:
                await asyncio.sleep(0)
            elif not self._stopping:
                rest = loop.create_future()
                self._idle.append(rest)
                await rest

    def collect(self) -> None:
        """Hand over the results that are there now."""
        calls, self._finished = self._finished, []
        if calls:
            self._done(calls)
