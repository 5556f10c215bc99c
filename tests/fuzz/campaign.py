"""Runs of many steps: batches with a look after each, findings with the steps that lead to them."""

from __future__ import annotations

import asyncio
import gc
import pickle
import re
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from fuzz.steps import Step, save
from fuzz.world import World
from mqframe_testing.simulation import SimulatedLoop
from silence import logs_kept_to
from weight import weight

T = TypeVar("T")
BATCH_STEPS = 40
HANG_SECONDS = 5.0
"""Processor time of one step after which it is ended."""
STALL_SECONDS = 0.05
STALL_SECONDS_BESIDE_OTHERS = 0.25
"""What counts as a stall where other tests run: processor time, too, grows when caches are shared."""


class Finding(NamedTuple):
    """What went wrong, and the number of the step at which it was seen."""

    what: str
    step: int

    @property
    def kind(self) -> str:
        """`what` without its numbers, so that the same thing is told once."""
        return re.sub(r"\d+", "#", self.what)[:160]


class Hung(BaseException):
    """A step took so long that it was ended."""


class Campaign:
    """Plays steps in a new world below `folder`. `findings`: what was seen, each kind once.

    `make_world`: the world that there is; whoever has another one also says what `run` and `replay` look at.
    """

    make_world: Callable[[Path, SimulatedLoop], World] = World

    def __init__(self, folder: Path, stall_seconds: float) -> None:
        self.folder = folder
        self.stall_seconds = stall_seconds
        self._played = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `__exit__`
        self.count = 0
        self.findings: dict[str, Finding] = {}
        self.weights: list[int] = []

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *problem: object) -> None:
        self._played.close()

    def played(self) -> list[Step]:
        """All steps so far."""
        self._played.seek(0)
        return [pickle.load(self._played) for _ in range(self.count)]

    def run(self, seed: int, batches: int) -> None:
        """`batches` of random steps that follow from `seed`. Ends early when nothing answers any more."""

        async def whole(world: Any) -> None:
            for number in range(batches):
                chance = Random(f"{seed}/{number}")
                for data in world.maker.ordinary(world.clock.now_ms()):
                    await self._play(world, Step("frame", data=data))
                for _ in range(BATCH_STEPS):
                    await self._play(world, world.next_step(chance))
                if number % 10 == 9:
                    await self._play(world, Step(chance.choice(("stop", "kill"))))
                    await self._look(world, world.sentinel.check_all)
                if number % 5 == 4:
                    await self._look(world, world.sentinel.check_later)
                await self._look(world, world.sentinel.check)
                self.weights.append(weight())

        self._in_world(whole)

    def replay(self, steps: Sequence[Step], *, quick: bool = False) -> None:
        """Play these steps, then look at everything, before and after a restart; but not when `quick`."""

        async def whole(world: Any) -> None:
            for step in steps:
                await self._play(world, step)
            if not quick:
                await self._look_at_all(world)

        self._in_world(whole)

    def more_blocks(self) -> float:
        """Blocks of memory that each batch of a long run added, once tables and caches were filled."""
        weights = self.weights
        half = len(weights) // 2
        return (sum(weights[-10:]) - sum(weights[half : half + 10])) / 10 / (half - 10)

    async def _look_at_all(self, world: Any) -> None:
        await self._look(world, world.sentinel.check)
        await self._look(world, world.sentinel.check_later)
        await self._play(world, Step("kill"))
        await self._look(world, world.sentinel.check_all)
        await self._look(world, world.sentinel.check_later)

    def _in_world(self, work: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        loop = SimulatedLoop()
        world = self.make_world(self.folder, loop)

        async def whole() -> None:
            loop.leave_out(asyncio.current_task())
            await world.start()
            loop.stall_seconds = self.stall_seconds
            await work(world)
            await world.stop()
            self._note(world.troubles() + world.strays())

        with frozen_objects(), limited(), logs_kept_to(world.told):
            asyncio.set_event_loop(loop)
            try:
                loop.run_until_complete(whole())
            except Exception as problem:
                where = traceback.extract_tb(problem.__traceback__)[-5:]
                places = " < ".join(
                    f"{Path(at.filename).name}:{at.lineno} {at.name}" for at in reversed(where)
                )
                self._note(
                    [f"the run ended: {type(problem).__name__}: {problem} | {places}", *world.troubles()]
                )
            finally:
                asyncio.set_event_loop(None)
                loop.close()

    async def _play(self, world: World, step: Step) -> None:
        # In a file: what memory holds is looked at.
        pickle.dump(step, self._played)
        self.count += 1
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
        try:
            await world.play(step)
        except AssertionError as problem:
            self._note([str(problem)])
        troubles = world.troubles()
        stalls = [trouble for trouble in troubles if trouble.startswith("stall")]
        if stalls and step.kind == "frame" and not await self._stalls_again(world, step):
            troubles = [trouble for trouble in troubles if trouble not in stalls]
        self._note(troubles)

    async def _stalls_again(self, world: World, step: Step) -> bool:
        """Whether a step is slow each time: once may be the machine's doing."""
        for _ in range(2):
            await world.play(step)
            if not any(trouble.startswith("stall") for trouble in world.troubles()):
                return False
        return True

    async def _look(self, world: World, check: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await check()
        except Exception as problem:
            self._note([f"{type(problem).__name__}: {problem}"])
        self._note(world.troubles() + world.strays() + world.leaks())

    def _note(self, troubles: list[str]) -> None:
        for trouble in troubles:
            finding = Finding(trouble, self.count - 1)
            self.findings.setdefault(finding.kind, finding)


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Keep what is there already out of collections: how long these take says nothing about a handler."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def limited() -> Iterator[None]:
    """End a call that takes too much processor time: the loop tells of it as of any error."""

    def end(number: int, frame: Any) -> None:
        raise Hung(f"over {HANG_SECONDS:g} s in {frame.f_code.co_qualname if frame else '?'}")

    before = signal.signal(signal.SIGVTALRM, end)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def shrink(steps: Sequence[Step], still: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """The fewest of `steps` with which `still` holds, found by leaving out ever smaller parts."""
    kept, size = list(steps), max(1, len(steps) // 2)
    while True:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if still(fewer):
                kept = fewer
            else:
                at += size
        if size == 1:
            return kept
        size = max(1, size // 2)


def told(campaign: Campaign, seed: int, folder: Path) -> str:
    """What was found, with the fewest steps that show the first of it again, kept as a file."""
    lines = [f"--seed {seed}, step {found.step}: {found.what}" for found in campaign.findings.values()]
    first = next(iter(campaign.findings.values()))
    steps = campaign.played()[: first.step + 1]

    def still(some: list[Step]) -> bool:
        with type(campaign)(folder / "again", campaign.stall_seconds) as again:
            again.replay(some)
            return first.kind in again.findings

    if still(steps):
        steps = shrink(steps, still)
    path = Path(f"finding-{seed}.json").absolute()
    save(path, steps, first.what[:200])
    return "\n".join(
        [*lines, f"{len(steps)} steps of the first are in {path}; tests/data/fuzz keeps such files"]
    )
