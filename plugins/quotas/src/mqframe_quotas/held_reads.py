"""Reads over their quota, which wait for it: a broker's loop holds them, and answers each in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import attrs

from mqframe.core.clock import TimerClock
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Answer, Call, Reply, as_reply
from mqframe.hooks.failed_requests import failure_reply


@attrs.frozen
class HeldRead:
    """One that waits.

    `seconds`: how long it is to wait, and `most` the most that it may. `wait`: how long it is to wait still,
    0.0 for not at all; `serve`: serves it then; `empty`: what it is told when its time is over; `gave_up`:
    called where nobody wants the answer any more.
    """

    call: Call
    seconds: float
    most: float
    wait: Callable[[], float]
    serve: Callable[[], Answer | Awaitable[Answer] | None]
    empty: Callable[[], Reply]
    gave_up: Callable[[], object]


class HeldReads:
    """Those that wait. All in the broker's loop."""

    def __init__(self, clock: TimerClock) -> None:
        self._clock = clock
        self._tasks: dict[asyncio.Task[None], HeldRead] = {}
        self._sleeping: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def hold(self, held: HeldRead) -> None:
        """Have it wait, and answer it."""
        held.call.waited = True
        task = asyncio.get_running_loop().create_task(self._answer(held))
        self._tasks[task] = held
        held.call.on_cancel = task.cancel
        task.add_done_callback(self._over)

    def look(self) -> None:
        """Have all that wait look whether they may go on: quotas changed."""
        for future in tuple(self._sleeping):
            _wake(future)

    def forget(self, peer: Peer) -> None:
        """Nobody waits at that connection any more."""
        for task, held in tuple(self._tasks.items()):
            if held.call.peer is peer:
                task.cancel()

    def answer_all(self) -> None:
        """Answer those that wait for their quota: the broker is about to close its ports."""
        for task, held in tuple(self._tasks.items()):
            task.cancel()
            if not held.call.answered:
                held.call.reply(held.empty())

    def cancel(self) -> None:
        """Let go of all, without a word."""
        for task in tuple(self._tasks):
            task.cancel()

    def _over(self, task: asyncio.Task[None]) -> None:
        held = self._tasks.pop(task)
        if task.cancelled():
            held.gave_up()

    async def _answer(self, held: HeldRead) -> None:
        call, left = held.call, held.seconds
        until = self._clock.monotonic() + held.most
        try:
            while left > 0.0:
                rest = until - self._clock.monotonic()
                if rest <= 0.0:
                    call.reply(held.empty())
                    return
                await self._sleep(min(left, rest))
                left = held.wait()
            found = held.serve()
            if isinstance(found, Awaitable):
                found = await found
            if found is not None and not call.answered:
                call.reply(as_reply(found))
        except Exception as problem:  # isolation boundary: as of a handler, it is its request's
            if not call.answered:
                call.reply(failure_reply(problem, call))

    async def _sleep(self, seconds: float) -> None:
        over = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(seconds, lambda: _wake(over))
        self._sleeping.add(over)
        try:
            await over
        finally:
            self._sleeping.discard(over)
            timer.cancel()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
