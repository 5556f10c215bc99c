"""Batches that wait their turn at a busy broker."""

import asyncio

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.sending.busy_gates import BusyGates
from mqframe.core.errors import AnswerError, ConnectError, answer_error

BUSY = answer_error(2, "busy", "b:1")


class Scene:
    def __init__(self):
        self.clock = ManualClock()
        self.gates = BusyGates(self.clock.monotonic)
        self.inside = []
        self.waited = {}

    async def send(self, name, broker="b"):
        self.waited[name] = await self.gates.enter(broker)
        outcome = asyncio.get_running_loop().create_future()
        self.inside.append((name, outcome))
        await self.gates.watched(broker, outcome)

    def start(self, *names, broker="b"):
        return [asyncio.ensure_future(self.send(name, broker)) for name in names]

    async def end(self, count=1, problem=None):
        """End the first `count` tries that are under way."""
        for _ in range(count):
            _, outcome = self.inside.pop(0)
            if problem is None:
                outcome.set_result(None)
            else:
                outcome.set_exception(problem)
        await self.turns()

    @staticmethod
    async def turns():
        for _ in range(5):
            await asyncio.sleep(0)

    @property
    def names(self):
        return "".join(name for name, _ in self.inside)


async def test_all_pass_while_nobody_is_busy_whatever_fails():
    scene = Scene()
    tasks = scene.start(*"abcdef")
    await scene.turns()
    assert scene.names == "abcdef"
    await scene.end(6, ConnectError("x"))
    more = scene.start(*"ghijkl")
    await scene.turns()
    assert scene.names == "ghijkl"
    await scene.end(6)
    await asyncio.gather(*tasks, *more, return_exceptions=True)


async def test_after_a_refusal_half_as_many_are_let_in_in_their_order_and_more_with_each_success():
    scene = Scene()
    first = scene.start(*"abcd")
    await scene.turns()
    await scene.end(4, BUSY)
    assert all(isinstance(task.exception(), AnswerError) for task in first)
    scene.start(*"efghijkl")
    await scene.turns()
    assert scene.names == "ef"
    scene.clock.advance(2.0)
    await scene.end()
    assert scene.names == "fg"
    await scene.end()
    assert scene.names == "gh"
    await scene.end()
    assert scene.names == "hij"  # two were let in, and three are now
    assert {name: scene.waited[name] for name in "efgh"} == {"e": 0.0, "f": 0.0, "g": 2.0, "h": 2.0}
    await scene.end(3)
    assert scene.names == "kl"
    await scene.end(2)


async def test_brokers_have_gates_of_their_own():
    scene = Scene()
    scene.start(*"ab")
    await scene.turns()
    await scene.end(2, BUSY)
    scene.start(*"cd")
    scene.start(*"xyz", broker="other")
    await scene.turns()
    assert sorted(scene.names) == ["c", "x", "y", "z"]
    await scene.end(4)
    assert scene.names == "d"
    await scene.end()


@pytest.mark.parametrize("when", ["waiting", "as its turn comes", "inside"])
async def test_whoever_gives_up_makes_room(when):
    scene = Scene()
    scene.start("a")
    await scene.turns()
    await scene.end(1, BUSY)
    c, d, e = scene.start(*"cde")
    await scene.turns()
    assert scene.names == "c"
    if when == "waiting":
        d.cancel()
        await scene.end()
    elif when == "as its turn comes":
        scene.inside.pop(0)[1].set_result(None)
        await asyncio.sleep(0)
        d.cancel()
    else:
        c.cancel()
        scene.inside.pop(0)
        await scene.turns()
        await scene.end()
    await scene.turns()
    assert scene.names.endswith("e")
    await scene.end(len(scene.inside))
    await asyncio.gather(c, d, e, return_exceptions=True)
    assert scene.gates._windows["b"].under_way == 0
