"""Runs of many sequences of steps at a door, with a look after each."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from fuzz.campaign import Campaign
from fuzz.steps import Step
from strangers.world import DoorWorld
from weight import weight

SEQUENCE_STEPS: Final = 30
_GONE_EACH, _RESTART_EACH = 5, 20


class DoorCampaign(Campaign):
    """A `Campaign` whose strangers are at the door."""

    make_world = DoorWorld

    def run(self, seed: int, batches: int) -> None:
        """`batches` sequences of random steps that follow from `seed`."""

        async def whole(world: Any) -> None:
            for number in range(batches):
                chance = Random(f"door {seed}/{number}")
                for data in world.maker.ordinary(world.clock.now_ms()):
                    await self._play(world, Step("frame", data=data))
                for _ in range(SEQUENCE_STEPS):
                    await self._play(world, world.next_step(chance))
                await self._look(world, world.check_answers)
                await self._look(world, world.check_left)
                if number % _RESTART_EACH == _RESTART_EACH - 1:
                    await self._play(world, Step(chance.choice(("stop", "kill"))))
                    await self._look(world, world.sentinel.check_all)
                if number % _GONE_EACH == _GONE_EACH - 1:
                    await self._look(world, world.check_gone)
                    await self._look(world, world.guest.check_later)
                await self._look(world, world.sentinel.check)
                await self._look(world, world.guest.check)
                self.weights.append(weight())
            await self._look_at_all(world)

        self._in_world(whole)

    async def _look_at_all(self, world: Any) -> None:
        await self._look(world, world.check_answers)
        await self._look(world, world.check_gone)
        await self._look(world, world.sentinel.check)
        await self._look(world, world.sentinel.check_all)
        await self._look(world, world.guest.check)
        await self._look(world, world.guest.check_later)
        await self._look(world, world.guest.check_end)
