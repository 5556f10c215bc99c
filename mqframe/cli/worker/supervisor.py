"""Keeps worker processes running: replaces those that die, starts all anew on changes, ends them well."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from mqframe.cli.worker.restarts import Next, Restarts
from mqframe.core.errors import CallTimeout
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within

log: Final = get_logger("worker")


class Supervisor:
    """Runs `count` processes of `command(number)`, numbered from 1.

    `stop_seconds`: how long one may take to end after SIGTERM, before it is killed. `watched`: whether
    `reload` will be called.

    A worker reads its standard input: when that ends, its supervisor is gone.
    """

    def __init__(
        self,
        command: Callable[[int], Sequence[str]],
        count: int,
        clock: LoopClock,
        *,
        stop_seconds: float,
        watched: bool = False,
    ) -> None:
        self._command = command
        self._count = count
        self._clock = clock
        self._stop_seconds = stop_seconds
        self._watched = watched
        self._processes: dict[int, Process] = {}
        self._replaced: set[Process] = set()
        self._asked = asyncio.Event()
        self._changed = asyncio.Event()
        self._killing: set[asyncio.Task[None]] = set()
        self._code = 0

    @property
    def processes(self) -> dict[int, int]:
        """The process id of each worker that runs, by its number."""
        return {number: process.pid for number, process in sorted(self._processes.items())}

    def stop(self) -> None:
        """Have all workers end in good order, and `run` return."""
        self._asked.set()
        self._end_all()

    def reload(self) -> None:
        """Have every worker end in good order, and start it again from the files as they are now."""
        self._replaced |= set(self._processes.values())
        self._changed.set()
        self._changed = asyncio.Event()
        self._end_all()

    async def run(self) -> int:
        """Start all, and return once all have ended for good: the exit code, not 0 when it was given up."""
        try:
            await asyncio.gather(*[self._keep(number) for number in range(1, self._count + 1)])
        finally:
            for process in self._processes.values():
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            for task in self._killing:
                task.cancel()
        return self._code

    async def follow(self, changes: AsyncIterator[object]) -> None:
        """Reload for each of `changes`, for ever."""
        async for change in changes:
            log.info("files changed; workers start again", changed=str(change))
            self.reload()

    async def _keep(self, number: int) -> None:
        restarts = Restarts(watched=self._watched)
        while not self._asked.is_set():
            changed = self._changed
            began = self._clock.monotonic()
            process = self._processes[number] = await self._start(number)
            if self._asked.is_set():
                self._end(process)
            code = await process.wait()
            del self._processes[number]
            if self._asked.is_set():
                return
            if process in self._replaced:
                self._replaced.discard(process)
                continue
            verdict = restarts.ended(code, self._clock.monotonic() - began)
            if verdict.next is Next.FINISHED:
                log.info("worker finished", number=number)
                return
            if verdict.next is Next.GIVE_UP:
                self._code = code
                self.stop()
                return
            if verdict.next is Next.WAIT_FOR_CHANGE:
                log.error("worker cannot run; it waits for a change of its files", number=number)
                await self._wait(changed, None)
            else:
                log.error(
                    "worker died", number=number, how=how_it_ended(code), again_in_seconds=verdict.seconds
                )
                await self._wait(changed, verdict.seconds)

    async def _start(self, number: int) -> Process:
        # In a session of its own: Ctrl-C reaches the supervisor alone, which ends the workers in order.
        process = await asyncio.create_subprocess_exec(
            *self._command(number), stdin=PIPE, start_new_session=True
        )
        log.info("worker started", number=number, pid=process.pid)
        return process

    async def _wait(self, changed: asyncio.Event, seconds: float | None) -> None:
        """Return after `seconds`, on a change, or when all are to end."""
        waiting: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(event.wait()) for event in (changed, self._asked)
        ]
        if seconds is not None:
            waiting.append(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    def _end_all(self) -> None:
        for process in self._processes.values():
            self._end(process)

    def _end(self, process: Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        task = asyncio.ensure_future(self._kill_later(process))
        self._killing.add(task)
        task.add_done_callback(self._killing.discard)

    async def _kill_later(self, process: Process) -> None:
        try:
            await within(self._clock, self._stop_seconds, process.wait())
        except CallTimeout:
            log.error("worker did not end in time; it is killed", pid=process.pid, seconds=self._stop_seconds)
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
