"""Threads that call plain (not `async def`) listeners.

The loop hands over many calls at once and hears of many results at once: calls lie in one deque that all
threads take from, results in another that the loop empties whenever it is notified, at most once a turn. A
thread is woken only when it has something to gain: one for quick listeners, one a call for slow ones.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Final, NamedTuple

from mqframe.client.consuming.push.work import QUICK_SECONDS, Chain, W, Workers
from mqframe.core.errors import CallTimeout
from mqframe.net.clock import LoopClock, within

LOOK_SECONDS: Final = 0.005
"""How often the loop looks after calls under way: for results, and for a quick listener that turned slow.
Real seconds: nothing that a user could count on depends on them."""
LOOK_SECONDS_MAX: Final = 0.32
"""It looks half as often each time that it finds nothing, down to this."""
UNSEEN_MESSAGES_MAX: Final = 256
"""Messages done by a quick listener that the loop is not woken for. It takes them with the next calls, or
when it looks: waking it for every few would cost more than calling the listener."""


class NamedThreads(NamedTuple):
    """How the threads are called, each with a number behind it, and how many there may be."""

    name: str
    count_max: int


class WorkerThreads(Workers[W]):
    """Threads, made when needed. All methods belong to the loop's thread.

    `run`: carries out a call, raises nothing.
    """

    def __init__(
        self,
        run: Callable[[W], None],
        done: Callable[[list[W]], None],
        clock: LoopClock,
        threads: NamedThreads,
        chain: Chain[W] | None = None,
    ) -> None:
        super().__init__(done, clock, chain)
        self._run = run
        self._name, self._threads_max = threads
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finished: deque[W] = deque()
        self._notified = False
        self._unseen = 0
        self._lock = Lock()
        self._wake: SimpleQueue[bool] = SimpleQueue()
        self._idle = 0
        self._threads: list[Thread] = []
        self._look_seconds = LOOK_SECONDS
        self._under_way = 0
        self._all_idle: asyncio.Future[None] | None = None
        self.on_stuck: Callable[[], object] = lambda: None
        """Called on the loop where it has looked for results, and found none of what is under way."""

    @property
    def quick(self) -> bool:
        """Whether listeners have usually ended before another thread would be awake."""
        return self._pace.quick

    def put(self, calls: list[W]) -> None:
        """Have `calls` carried out, begun in their order."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self.collect()
        self._work.extend(calls)
        self._under_way += len(calls)
        busy = len(self._threads) - self._idle
        self._rouse((0 if busy else 1) if self._pace.quick else len(calls))
        if self._look is not None and self._look_seconds > LOOK_SECONDS:
            self._look.cancel()
            self._look = None
        if self._look is None:
            self._look_seconds = LOOK_SECONDS
            self._look = self._loop.call_later(LOOK_SECONDS, self._look_after)

    async def stop(self, seconds: float) -> bool:
        """Forget what has not begun, wait up to `seconds` for what has. Whether all of it ended."""
        self._stopping = True
        self._under_way -= len(self._work)
        self._work.clear()
        if self._look is not None:
            self._look.cancel()
        ended = True
        if self._threads and not self._resting():
            self._all_idle = asyncio.get_running_loop().create_future()
            try:
                await within(self._clock, seconds, self._all_idle)
            except CallTimeout:
                ended = False
        for _ in self._threads:
            self._wake.put(False)
        self.collect()
        return ended

    def _resting(self) -> bool:
        with self._lock:
            return self._idle == len(self._threads)

    def _rouse(self, count: int) -> None:
        for _ in range(min(count, self._threads_max)):
            with self._lock:
                if self._idle:
                    self._idle -= 1
                    self._wake.put(True)
                    continue
            if len(self._threads) >= self._threads_max:
                return
            thread = Thread(target=self._work_off, name=f"{self._name}-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _look_after(self) -> None:
        self._look = None
        before = self._under_way
        self.collect()
        if self._stopping or not self._under_way:
            return
        self._rouse(len(self._work))
        found = self._under_way < before
        self._look_seconds = LOOK_SECONDS if found else min(self._look_seconds * 2, LOOK_SECONDS_MAX)
        if not found:
            self.on_stuck()
        if self._look is None:
            assert self._loop is not None
            self._look = self._loop.call_later(self._look_seconds, self._look_after)

    def _work_off(self) -> None:
        work, finished, run, pace, chain = self._work, self._finished, self._run, self._pace, self._chain
        follower: W | None = None
        while True:
            if follower is not None:
                call = follower
            else:
                try:
                    call = work.popleft()
                except IndexError:
                    if not self._rest():
                        return
                    continue
            run(call)
            elapsed = call.elapsed
            pace.note(elapsed)
            finished.append(call)
            urgent = False
            if chain is not None:
                follower = None if chain.ends(call) else chain.follow(call)
                if follower is not None and chain.ends(follower):
                    finished.append(follower)
                    call, follower = follower, None
                urgent = follower is None and chain.is_urgent(call)
            # Not exact with several threads, which does no harm.
            self._unseen += len(call.messages)
            if not self._notified and (
                elapsed > QUICK_SECONDS or not pace.quick or self._unseen > UNSEEN_MESSAGES_MAX or urgent
            ):
                self._notified = True
                self._notify()

    def _rest(self) -> bool:
        with self._lock:
            if self._work:
                return True  # put in between; whoever put it may have seen this thread busy
            self._idle += 1
        if self._stopping:
            self._notify()
        return self._wake.get()

    def _notify(self) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self.collect)
        except RuntimeError:
            return  # the loop is closed: a listener outlived the stop, and nobody waits for it

    def collect(self) -> None:
        """Hand over the results that are there now."""
        self._notified = False
        self._unseen = 0
        finished = self._finished
        calls = [finished.popleft() for _ in range(len(finished))]
        if calls:
            chain = self._chain
            self._under_way -= len(calls) if chain is None else sum(map(chain.ends, calls))
            self._done(calls)
        if self._all_idle is not None and not self._all_idle.done() and self._resting():
            self._all_idle.set_result(None)
