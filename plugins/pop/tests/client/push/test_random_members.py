"""Members that pop, come, leave and die at any time, with handlers that fail: none is lost, the right die."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pop_push_scenes import LATER, OK, PopMember, PopPushScene

RETRIES_MAX = 6

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 12)),
        st.tuples(st.just("fails"), st.integers(1, 3)),
        st.tuples(st.just("doomed"), st.just(1)),
        st.tuples(st.just("join"), st.integers(1, 8)),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("kill"), st.integers(0, 5)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 40)),
    ),
    min_size=4,
    max_size=25,
)


class Story:
    """Bodies say what becomes of them: "ok-N", "fails-N-K" K times, "doomed-N" always."""

    def __init__(self, scene: PopPushScene, *, ordered: bool) -> None:
        self.scene = scene
        self.ordered = ordered
        self.sent: list[bytes] = []
        self.done: Counter[bytes] = Counter()
        self.deaths = 0
        self.forever = asyncio.Event()
        scene.handles = self.handle

    async def handle(self, message, context):
        await self.scene.clock.sleep(0.02)
        kind, _, times = message.body.decode().partition("-")
        if kind == "doomed" or (kind == "fails" and message.reconsume_times < int(times.partition("-")[2])):
            return LATER
        self.done[message.body] += 1
        return OK

    @property
    def alive(self) -> list[PopMember]:
        return [each for each in self.scene.members if each.alive]

    async def step(self, what: str, number: int) -> None:
        scene = self.scene
        if what == "send":
            await self.send("ok", "", number)
        elif what == "fails":
            await self.send("fails", f"-{number}", 1)
        elif what == "doomed":
            await self.send("doomed", "", 1)
        elif what == "join":
            await scene.join_mortal(
                settings={"consume_tasks": number},
                mode_options={"invisible_seconds": 6.0},
                ordered=self.ordered,
            )
        elif what == "leave" and self.alive:
            member = self.alive[number % len(self.alive)]
            await scene.close(member.consumer)
            member.alive = False
        elif what == "kill" and self.alive and self.deaths < 2:
            self.deaths += 1
            await scene.kill(self.alive[number % len(self.alive)])
        elif what == "restart":
            await scene.finish(scene.cluster.restart_broker())
        elif what == "pass":
            await scene.pass_time(number / 10)

    async def send(self, kind: str, tail: str, count: int) -> None:
        bodies = [f"{kind}-{len(self.sent) + n}{tail}".encode() for n in range(count)]
        self.sent += bodies
        await self.scene.put(*bodies)

    async def end(self) -> None:
        """All is calm, and somebody is there."""
        await self.step("join", 4)
        doomed = sorted(body for body in self.sent if body.startswith(b"doomed"))
        good = {body for body in self.sent if not body.startswith(b"doomed")}
        await self.scene.until(lambda: good <= self.done.keys(), 600.0, 0.5)
        await self.scene.until(lambda: len(self.scene.dead) >= len(doomed), 600.0, 0.5)
        await self.scene.until(lambda: self.scene.lag() == 0)
        await self.scene.pass_time(60.0)
        assert sorted(self.scene.dead) == doomed
        assert self.done.keys() == good


@pytest.mark.parametrize("ordered", [False, True], ids=["each on its own", "in order"])
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS)
async def test_nothing_is_lost_and_what_fails_for_ever_is_a_dead_letter(
    ordered: bool, steps: list[tuple[str, int]]
) -> None:
    async with PopPushScene() as scene:
        await scene.set_group(retries_max=RETRIES_MAX, waits=[1_000, 2_000])
        story = Story(scene, ordered=ordered)
        for what, number in steps:
            await story.step(what, number)
        await story.end()
