"""Threads of a store that work when they are told to, so that a run is the same each time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from mqframe_testing.at_once import AtOnce


class SteppedThreads:
    """Stands for `Threads`. `jobs`: what was given and not done; `step` does the next of it."""

    made: list[SteppedThreads] = []

    def __init__(self) -> None:
        self.pool = AtOnce()
        self.jobs: deque[tuple[Callable[[], Any], Callable[[Any, Any], None]]] = deque()
        self._closed = False
        self.made.append(self)

    def attach(self) -> None:
        """There is one thread only."""

    def run(self, work: Callable[[], Any], done: Callable[[Any, Any], None]) -> None:
        if not self._closed:
            self.jobs.append((work, done))

    def step(self) -> None:
        """Do the next job, and say that it is done."""
        work, done = self.jobs.popleft()
        try:
            result, problem = work(), None
        except Exception as raised:
            result, problem = None, raised
        if not self._closed:
            done(result, problem)

    async def run_and_wait(self, work: Callable[[], Any]) -> Any:
        return work()

    def close(self) -> None:
        """Do what is left; nobody is told."""
        self._closed = True
        while self.jobs:
            self.step()


class LoopThreads(SteppedThreads):
    """Stands for `Threads` below a running loop: does one job a turn."""

    def run(self, work: Callable[[], Any], done: Callable[[Any, Any], None]) -> None:
        super().run(work, done)
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        if self.jobs:
            self.step()
