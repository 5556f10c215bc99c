"""Real processes of a few lines, supervised on a clock that the tests move."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mqframe_cli.processes.restarts import RestartVerdict, ServerRestarts, WorkerRestarts
from mqframe_cli.processes.supervisor import Supervisor, how_it_ended
from mqframe_testing.manual_clock import ManualClock

REAL_SECONDS_MAX = 60.0
PROGRAM = """
import os, signal, sys, time
folder, number, kind = sys.argv[1:]
if kind == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    def end(*_):
        open(f"{folder}/ended.{os.getpid()}", "w").close()
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
open(f"{folder}/{number}.{os.getpid()}", "w").close()
if kind.startswith("code"):
    sys.exit(int(kind[4:]))
if kind == "talks":
    os.write(0, b"one\\ntwo: gr\\xc3\\xb6\\xc3\\x9fer\\nhalf a li")
    if os.fork() == 0:
        time.sleep(5)  # what it started itself holds its standard input for longer
    os.write(0, b"ne\\n")
    sys.exit(3)
while True:
    time.sleep(60)
"""


class Program:
    """One of the processes of a scene; `restarts`: its rule, that of a worker by default."""

    kind = "worker"

    def __init__(self, scene: Scene, number: int, restarts: Any = None, watched: bool = False) -> None:
        self.name = str(number)
        self._scene = scene
        self._restarts = restarts or WorkerRestarts(watched=watched)

    def command(self) -> list[str]:
        self._scene.commands += 1
        return [self._scene.interpreter, "-c", PROGRAM, str(self._scene.folder), self.name, self._scene.kind]

    def heard(self, line: str) -> None:
        self._scene.heard.append((self.name, line))

    def ended(self, code: int, lived_seconds: float) -> RestartVerdict:
        return self._restarts.ended(code, lived_seconds)

    def stopped(self, code: int) -> None:
        self._scene.stopped[self.name] = code

    def how(self, code: int) -> str:
        return how_it_ended(code)


class Scene:
    def __init__(self, folder: Path, count: int, kind: str, **options: Any) -> None:
        self.folder = folder
        self.kind = kind
        self.interpreter = sys.executable
        self.commands = 0
        self.clock = ManualClock()
        programs = [Program(self, number + 1, **options) for number in range(count)]
        self.supervisor = Supervisor(programs, self.clock, stop_seconds=40.0)
        self.stopped: dict[str, int] = {}
        self.heard: list[tuple[str, str]] = []
        self.running: asyncio.Task[int] = asyncio.ensure_future(self.supervisor.run())

    def seen(self, number: int) -> list[int]:
        """The process ids of all workers with this number, as they came."""
        found = sorted(self.folder.glob(f"{number}.*"), key=lambda path: path.stat().st_mtime_ns)
        return [int(path.suffix[1:]) for path in found]

    def ended(self) -> set[int]:
        return {int(path.suffix[1:]) for path in self.folder.glob("ended.*")}

    async def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + REAL_SECONDS_MAX
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            await asyncio.sleep(0.005)

    async def up(self, *counts: int) -> None:
        """Wait until so many workers of each number have come, and the last of each runs."""
        await self.until(lambda: tuple(len(self.seen(n + 1)) for n in range(len(counts))) == counts)

    async def stop(self) -> int:
        self.supervisor.stop()
        return await asyncio.wait_for(self.running, REAL_SECONDS_MAX)


@pytest.fixture
def supervised(tmp_path: Path):
    @asynccontextmanager
    async def run(count: int = 1, kind: str = "works", **options: Any) -> AsyncIterator[Any]:
        scene = Scene(tmp_path, count, kind, **options)
        try:
            yield scene
        finally:
            for pid in scene.supervisor.processes.values():
                os.kill(pid, signal.SIGKILL)
            scene.running.cancel()
            await asyncio.gather(scene.running, return_exceptions=True)

    return run


async def test_all_are_started_and_end_in_good_order(supervised) -> None:
    async with supervised(count=3) as scene:
        await scene.up(1, 1, 1)
        await scene.until(lambda: len(scene.supervisor.processes) == 3)
        pids = set(scene.supervisor.processes.values())
        assert await scene.stop() == 0
        assert scene.ended() == pids
        assert scene.supervisor.processes == {}


async def test_one_that_dies_is_replaced_and_the_others_go_on(supervised) -> None:
    async with supervised(count=2) as scene:
        await scene.up(1, 1)
        await scene.until(lambda: len(scene.supervisor.processes) == 2)
        first, other = scene.supervisor.processes.values()
        os.kill(first, signal.SIGKILL)
        await scene.until(lambda: "1" not in scene.supervisor.processes)
        await scene.clock.aadvance(0.4)
        assert len(scene.seen(1)) == 1
        await scene.clock.aadvance(0.1)
        await scene.up(2, 1)
        assert scene.supervisor.processes["2"] == other
        assert await scene.stop() == 0
        assert scene.stopped == {"1": 0, "2": 0}


async def test_one_that_the_system_does_not_start_is_tried_again_and_the_others_go_on(supervised) -> None:
    async with supervised(count=2) as scene:
        await scene.up(1, 1)
        await scene.until(lambda: len(scene.supervisor.processes) == 2)
        first, other = scene.supervisor.processes.values()
        scene.interpreter = str(scene.folder / "missing")
        os.kill(first, signal.SIGKILL)
        await scene.until(lambda: "1" not in scene.supervisor.processes)
        await scene.clock.aadvance(0.5)
        await scene.until(lambda: scene.commands == 3)
        scene.interpreter = sys.executable
        await scene.clock.aadvance(1)
        await scene.up(2, 1)
        assert scene.supervisor.processes["2"] == other
        assert await scene.stop() == 0


async def test_one_that_finished_stays_away_and_the_last_one_ends_it(supervised) -> None:
    async with supervised(count=2, kind="code0") as scene:
        assert await asyncio.wait_for(scene.running, REAL_SECONDS_MAX) == 0
        assert (len(scene.seen(1)), len(scene.seen(2))) == (1, 1)


async def test_what_cannot_run_is_given_up_with_its_exit_code(supervised) -> None:
    async with supervised(count=2, kind="code2") as scene:
        assert await asyncio.wait_for(scene.running, REAL_SECONDS_MAX) == 2


async def test_a_change_starts_all_anew_after_they_ended(supervised) -> None:
    async with supervised(count=2, watched=True) as scene:
        await scene.up(1, 1)
        await scene.until(lambda: len(scene.supervisor.processes) == 2)
        before = set(scene.supervisor.processes.values())
        scene.supervisor.reload()
        await scene.up(2, 2)
        assert scene.ended() == before
        assert await scene.stop() == 0


async def test_a_change_wakes_those_that_wait_for_one(supervised) -> None:
    async with supervised(kind="code2", watched=True) as scene:
        await scene.up(1)
        await scene.until(lambda: not scene.supervisor.processes)
        await scene.clock.aadvance(3600)
        assert len(scene.seen(1)) == 1
        scene.kind = "works"
        scene.supervisor.reload()
        await scene.up(2)
        assert await scene.stop() == 0


async def test_one_that_does_not_end_is_killed_when_its_time_is_over(supervised) -> None:
    async with supervised(kind="deaf") as scene:
        await scene.up(1)
        scene.supervisor.stop()
        await scene.clock.aadvance(39.9)
        assert not scene.running.done()
        await scene.clock.aadvance(0.2)
        assert await asyncio.wait_for(scene.running, REAL_SECONDS_MAX) == 0
        assert scene.stopped == {"1": -signal.SIGKILL}


async def test_what_one_tells_is_heard_to_its_last_word_before_its_end_is_judged(supervised) -> None:
    class Rule(ServerRestarts):
        def ended(self, code: int, lived_seconds: float) -> RestartVerdict:
            told.append(code)
            return super().ended(code, lived_seconds)

    told: list[object] = []
    async with supervised(kind="talks", restarts=Rule()) as scene:
        scene.heard = told
        assert await asyncio.wait_for(scene.running, REAL_SECONDS_MAX) == 3
        assert told == [("1", "one"), ("1", "two: größer"), ("1", "half a line"), 3]


@pytest.mark.parametrize(
    ("code", "said"), [(3, "exit code 3"), (-9, "killed by SIGKILL"), (-63, "killed by signal 63")]
)
def test_how_one_ended_is_said_in_words(code: int, said: str) -> None:
    assert how_it_ended(code) == said
