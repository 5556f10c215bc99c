"""A story by a seed: what happens to brokers, the network between them and their machines, step by step."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

from mqframe_testing.simulation import Simulation
from silence import logs_kept_to
from stories.machines import name_server
from trust.checks import Broken
from trust.disk import Disk
from trust.seam import Seam

from mqframe.net.client import Client

STEPS: Final = 40
DRIFT: Final = 0.001
"""By what share clocks of hosts may go too fast or too slow."""
CLOCK_JUMPS: Final = (-3600, -2, 2, 3600, 90 * 86_400)
KINDS: Final = ("time", "block", "heal", "slow", "lossy", "cut", "cut later", "pause", "jump", "kill", "stop")
"""Kinds of steps that happen alike in all stories, beside "send" and "start"."""


class Brokers(Protocol):
    """Those that a story is of, each on a host that has its name."""

    def names(self) -> Sequence[str]:
        """All of them, in the order in which they start."""

    def runs(self, name: str) -> bool: ...

    async def start(self, name: str) -> None: ...

    async def stop(self, name: str, *, kill: bool) -> None: ...

    def send(self, client: Client) -> Collection[asyncio.Task[Any]]:
        """Send a message; what is answered is looked at the moment it comes."""

    def check(self) -> None:
        """Raise `AssertionError` for what does not hold now."""

    def are_alike(self) -> bool:
        """Whether all that run have the same, and know that they do."""

    def promised(self) -> object:
        """What was acknowledged, to be compared with that of another run."""


class Plot(Protocol):
    """What may happen in a story, to whom, and what has to hold in the end."""

    kinds: Mapping[str, int]
    """Kinds of steps, and how often each comes: `KINDS`, "send", "start", and the plot's own."""
    pauses: Sequence[float]
    """Seconds that a host may stand still."""
    calm_seconds: int
    """After the last trouble everything has to be well again within it."""

    async def begin(self) -> None:
        """Before the first step, when all brokers were started."""

    def whom(self) -> str:
        """Whom the next step happens to."""

    def line(self, name: str) -> tuple[str, str]:
        """Both ends of a line of `name`, in any order."""

    async def happen(self, what: str, name: str) -> None:
        """A step of a kind of its own, if it can be now."""

    async def calm(self) -> None:
        """Nothing fails any more, and all run: make well what does not get well by itself."""

    async def end(self) -> None:
        """Raise `AssertionError` for what does not hold in the end."""


class Story:
    """Chance, time and what is under way. `brokers` and `plot` are set before it runs.

    `disk`: what brokers below `folder` write is recorded there, so that power can fail; so in a third of all.
    """

    brokers: Brokers
    plot: Plot
    client: Client

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = Random(f"story {seed}")
        self.simulation = Simulation(seed, drift=DRIFT)
        self.network, self.clock = self.simulation.network, self.simulation.clock
        self.disk = Disk() if seed % 3 == 2 else None
        self.sent: list[asyncio.Task[Any]] = []

    def run(self) -> None:
        """Play it. Raises `Broken`, which tells all steps."""
        try:
            with logs_kept_to(logging.NullHandler()), self._watched(), self.simulation:
                self.simulation.run(self._whole(), limit=float("inf"))
        except AssertionError as broken:
            raise Broken("a story", f"{broken}\n  {self.simulation.told()}") from broken

    def _watched(self) -> AbstractContextManager[object]:
        return nullcontext() if self.disk is None else Seam(self.folder, self.disk.take).in_force()

    async def _whole(self) -> None:
        names = await name_server(self.folder, self.simulation)
        self.client = Client(self.clock)
        await self.start_all()
        await self.plot.begin()
        for _ in range(STEPS):
            await self._step()
            await self.clock.sleep(0)
            await self._look()
        self.step("calm")
        self.network.heal()
        for name in self.brokers.names():
            self.simulation.host(name).resume()
        await self.start_all()
        await self.plot.calm()
        await self.plot.end()
        await self.client.close()
        for name in reversed(self.brokers.names()):
            await self.brokers.stop(name, kill=False)
        await names.stop()
        await self.clock.sleep(0)

    # What plots tell by

    def step(self, what: str) -> None:
        self.simulation.step(what)

    def send(self, count: int) -> None:
        self.step(f"{count} sends")
        for _ in range(count):
            self.sent += self.brokers.send(self.client)

    async def start_all(self) -> None:
        for name in self.brokers.names():
            if not self.brokers.runs(name):
                self.step(f"start {name}")
                await self.brokers.start(name)

    async def until_alike(self) -> bool:
        """Let time pass until all brokers are alike, or have had time enough for it; whether they are."""
        for _ in range(self.plot.calm_seconds // 5):
            await self.clock.sleep(5)
            await self._look()
            if self.brokers.are_alike():
                return True
        return False

    async def _look(self) -> None:
        """Raise what does not hold, and what sends that are over have found."""
        self.brokers.check()
        for task in self.sent:
            if task.done():
                await task
        self.sent = [task for task in self.sent if not task.done()]

    # Steps

    async def _step(self) -> None:
        chance, name = self.chance, self.plot.whom()
        what = chance.choices(list(self.plot.kinds), list(self.plot.kinds.values()))[0]
        match what:
            case "send":
                self.send(chance.choice((1, 1, 3, 20)))
            case "time":
                await self.clock.sleep(chance.choice((0.01, 0.3, 1, 1, 3, 6, 25)))
            case "pause":
                self.simulation.host(name).pause(chance.choice(self.plot.pauses))
            case "jump":
                seconds = chance.choice(CLOCK_JUMPS)
                self.step(f"the clock of {name} is set by {seconds} s")
                self.simulation.host(name).clock.jump(seconds)
            case "kill" | "stop":
                if self.brokers.runs(name):
                    self.step(f"{what} {name}")
                    await self.brokers.stop(name, kill=what == "kill")
            case "start":
                await self.start_all()
            case _ if what in KINDS:
                self._to_a_line(what, *self.plot.line(name))
            case _:
                await self.plot.happen(what, name)

    def _to_a_line(self, what: str, source: str, target: str) -> None:
        chance, network = self.chance, self.network
        one_way = chance.random() < 0.6
        match what:
            case "block":
                network.block(source, target, one_way=one_way)
            case "heal":
                network.heal()
            case "slow":
                network.delay(source, target, chance.choice((0.05, 0.5, 4)), one_way=one_way)
            case "lossy":
                network.lose(source, target, chance.choice((0.05, 0.5)), one_way=one_way)
            case "cut":
                network.cut(source, target)
            case "cut later":
                network.cut_after(source, target, chance.choice((0, 5, chance.randrange(20_000))))
