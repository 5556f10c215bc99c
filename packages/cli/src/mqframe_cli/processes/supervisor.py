"""Keeps processes running: replaces those that die, starts all anew on changes, ends them well."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Protocol

from mqframe.core.errors import CallTimeout
from mqframe.core.os_errors import told
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within
from mqframe_cli.processes.restarts import Next, RestartVerdict

log: Final = get_logger("processes")
NOT_STARTED: Final = 126
"""Stands for the exit code of a process that the system did not start, as in shells."""


class Program(Protocol):
    """What one of the processes is, and what is to become of it when it ends."""

    @property
    def kind(self) -> str:
        """What logs call it: "worker", "broker"."""

    @property
    def name(self) -> str:
        """Which of its kind it is."""

    def command(self) -> Sequence[str]:
        """The words that start it now."""

    def heard(self, line: str) -> None:
        """It told its supervisor `line`."""

    def ended(self, code: int, lived_seconds: float) -> RestartVerdict:
        """It ended without having been asked to, with exit code `code` (negative: by that signal)."""

    def stopped(self, code: int) -> None:
        """It ended, as it was asked to."""

    def how(self, code: int) -> str:
        """In words, why it ended."""


class Supervisor:
    """Runs one process for each of `programs`.

    `stop_seconds`: how long one may take to end after SIGTERM, before it is killed.

    The standard input of a process is a socket: when that ends, its supervisor is gone, and what the process
    writes to it is for the supervisor.
    """

    def __init__(self, programs: Sequence[Program], clock: LoopClock, *, stop_seconds: float) -> None:
        self._programs = programs
        self._clock = clock
        self._stop_seconds = stop_seconds
        self._processes: dict[str, Process] = {}
        self._replaced: set[Process] = set()
        self._asked = asyncio.Event()
        self._changed = asyncio.Event()
        self._killing: set[asyncio.Task[None]] = set()
        self._code = 0

    @property
    def processes(self) -> dict[str, int]:
        """The process id of each that runs, by the name of its program."""
        return {name: process.pid for name, process in sorted(self._processes.items())}

    def stop(self) -> None:
        """Have all end in good order, and `run` return."""
        self._asked.set()
        self._end_all()

    def reload(self) -> None:
        """Have every process end in good order, and start it again from the files as they are now."""
        self._replaced |= set(self._processes.values())
        self._changed.set()
        self._changed = asyncio.Event()
        self._end_all()

    async def run(self) -> int:
        """Start all, and return once all have ended for good: the exit code, not 0 when one was given up."""
        try:
            await asyncio.gather(*map(self._keep, self._programs))
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

    async def _keep(self, program: Program) -> None:
        kind, name = program.kind, program.name
        while not self._asked.is_set():
            changed = self._changed
            began = self._clock.monotonic()
            try:
                process, code = await self._run_once(program)
            except OSError as problem:  # the others are to go on, and this one with them when it can be
                log.error(f"{kind} cannot be started", name=name, problem=told(problem))
                process, code = None, NOT_STARTED
            if self._asked.is_set():
                program.stopped(code)
                return
            if process in self._replaced:
                self._replaced.remove(process)
                continue
            verdict = program.ended(code, self._clock.monotonic() - began)
            if verdict.next is Next.FINISHED:
                log.info(f"{kind} finished", name=name)
                return
            if verdict.next is Next.GIVE_UP:
                self._code = code
                self.stop()
                return
            if verdict.next is Next.WAIT_FOR_CHANGE:
                log.error(f"{kind} cannot run; it waits for a change of its files", name=name)
                await self._wait(changed, None)
            else:
                log.error(f"{kind} died", name=name, how=program.how(code), again_in_seconds=verdict.seconds)
                await self._wait(changed, verdict.seconds)

    async def _run_once(self, program: Program) -> tuple[Process, int]:
        """The process that was started, and the exit code with which it has ended. Raises OSError."""
        with _Hearing(program) as hearing:
            process = self._processes[program.name] = await self._start(program, hearing.theirs)
            hearing.begin()
            if self._asked.is_set():
                self._end(process)
            code = await process.wait()
        del self._processes[program.name]
        return process, code

    async def _start(self, program: Program, stdin: socket.socket) -> Process:
        # In a session of its own: Ctrl-C reaches the supervisor alone, which ends the others in order.
        process = await asyncio.create_subprocess_exec(
            *program.command(), stdin=stdin.fileno(), start_new_session=True
        )
        log.info(f"{program.kind} started", name=program.name, pid=process.pid)
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
            seconds = self._stop_seconds
            log.error("process did not end in time; it is killed", pid=process.pid, seconds=seconds)
            with contextlib.suppress(ProcessLookupError):
                process.kill()


class _Hearing:
    """The supervisor's end of a process's standard input, for as long as that runs.

    Not a pipe that ends with the process: what it started itself may hold the other end for longer.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._ours, self.theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._rest = b""

    def __enter__(self) -> _Hearing:
        return self

    def begin(self) -> None:
        """The process runs and has its end."""
        self.theirs.close()
        self._loop.add_reader(self._ours, self._read)

    def __exit__(self, *problem: object) -> None:
        if self.theirs.fileno() < 0:
            self._read()  # its last words, which may have come together with its end
            self._loop.remove_reader(self._ours)
        self.theirs.close()
        self._ours.close()

    def _read(self) -> None:
        try:
            data = self._ours.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # it ended with something unread
        if not data:
            self._loop.remove_reader(self._ours)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._program.heard(line.decode(errors="replace"))


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
