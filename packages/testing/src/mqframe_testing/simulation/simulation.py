"""A world by a seed: hosts, their clocks and the network between them, in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from random import Random
from typing import Any, Final, TypeVar

from mqframe_testing.simulation.chance import numbered_clients, seeded
from mqframe_testing.simulation.clock import SimulatedClock, instead_of_system_clocks
from mqframe_testing.simulation.host import OUTSIDE, Host
from mqframe_testing.simulation.loop import SimulatedLoop
from mqframe_testing.simulation.network import Network
from mqframe_testing.simulation.pools import work_at_once

T = TypeVar("T")
LIMIT_SECONDS: Final = 3600.0
CLEAN_UP_SECONDS: Final = 600.0


class Stuck(AssertionError):
    """Nothing will happen any more, or nothing that ends the run."""


class Simulation:
    """Servers and clients of one process on a scripted network; time passes when nothing else can happen.

        with Simulation(seed=7) as simulation:
            simulation.run(story(simulation))

    All that is left to chance follows from `seed`, so that a run replays: the network's chance, the module
    `random`, and how right the clocks of hosts are. `drift`: by what share their rates may be wrong, in
    either direction, 0.001 for ±0.1 %. Clients without an instance name are named by their number. A failure
    inside carries the seed and the steps (`add_note`).

    Inside, work of thread pools is done at once; other threads and real sockets have no place here, so use
    the asyncio clients, and handlers that are async functions. Whoever was given no clock goes by that of
    the host that it runs on; the test itself goes by `clock`, the right time.
    """

    def __init__(self, seed: int = 0, *, drift: float = 0.0) -> None:
        self.seed = seed
        self._drift = drift
        self._drifts = Random(f"drifts {seed}")
        self._loop = SimulatedLoop(Random(f"network {seed}"))
        self._hosts: dict[str, Host] = {}
        self._stack = ExitStack()

    @property
    def loop(self) -> SimulatedLoop:
        """The loop that everything runs in."""
        return self._loop

    @property
    def clock(self) -> SimulatedClock:
        """The right time; `sleep(0)` returns when nothing more happens without time passing."""
        return self._loop.clock

    @property
    def network(self) -> Network:
        """What all connections go over."""
        return self._loop.network

    @property
    def steps(self) -> list[str]:
        """What was done to network and hosts so far, and what `step` was told, each with its time."""
        return self._loop.told

    def host(self, name: str, *, rate: float | None = None, ahead: float = 0.0) -> Host:
        """The host of this name, which is made when it is first asked for.

        `rate`: that of its clocks, 1.0 is right; by default it follows from seed and `drift`. `ahead`:
        seconds that its wall clock is ahead at first. Raises `ValueError` for the name of the test's own
        place, and for a clock of a host that has one.
        """
        if name == OUTSIDE:
            raise ValueError(f"{OUTSIDE!r} is where the test itself runs: call the host otherwise")
        host = self._hosts.get(name)
        if host is None:
            drawn = 1.0 + self._drifts.uniform(-self._drift, self._drift)
            host = self._hosts[name] = Host(self._loop, name, drawn if rate is None else rate, ahead)
        elif rate is not None or ahead:
            raise ValueError(f"host {name!r} has a clock already: say rate and ahead when it is made")
        return host

    def step(self, what: str) -> None:
        """Put `what` among the steps that a failure is told with."""
        self._loop.note(what)

    def run(self, work: Coroutine[Any, Any, T], *, limit: float = LIMIT_SECONDS) -> T:
        """Do `work` as the test itself and return what it returns.

        Raises what `work` raises, `Stuck` when it is not done after `limit` seconds of simulated time or
        nothing will happen any more, `AssertionError` when a callback or a forgotten task raised something.
        """
        result = self._loop.run_until_complete(self._drive(work, limit))
        if self._loop.problems:
            raise AssertionError("errors in the loop:\n" + "\n".join(self._loop.problems))
        return result

    def told(self) -> str:
        """The seed, the steps, and errors that nobody waited for, as a failure is told with them."""
        problems = [f"error in the loop: {problem}" for problem in self._loop.problems]
        return "\n  ".join([f"Simulation(seed={self.seed}), in which:", *self.steps, *problems])

    def __enter__(self) -> Simulation:
        self._stack.enter_context(work_at_once())
        self._stack.enter_context(seeded(self.seed))
        self._stack.enter_context(numbered_clients())
        self._stack.enter_context(instead_of_system_clocks(self._loop.current_clock))
        self._stack.callback(asyncio.set_event_loop, None)
        asyncio.set_event_loop(self._loop)
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if problem is not None:
            problem.add_note(self.told())
        try:
            self._end_tasks()
        finally:
            self._loop.close()
            self._stack.close()

    def _end_tasks(self) -> None:
        for host in self._hosts.values():
            host.resume()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(self._drive(_ended(tasks), CLEAN_UP_SECONDS))

    async def _drive(self, work: Coroutine[Any, Any, T], limit: float) -> T:
        task = asyncio.ensure_future(work)
        end = self.clock.monotonic() + limit
        self._loop.driven = True
        try:
            while not task.done():
                await self._loop.come_to_rest()
                if not task.done() and not self.clock.fire_next(end):
                    why = (
                        f"not done after {limit:g} s" if self.clock.alarms else "nothing will happen any more"
                    )
                    raise Stuck(f"{why}; it waits at {_whereabouts(task)}")
            return task.result()
        finally:
            self._loop.driven = False
            if not task.done():
                task.cancel()
                await self._loop.come_to_rest()


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def _whereabouts(task: asyncio.Task[Any]) -> str:
    """The functions of the test that wait, and their lines, innermost first."""
    places = [f"{frame.f_code.co_name}:{frame.f_lineno}" for frame in task.get_stack()]
    return " < ".join(reversed(places)) or repr(task)
