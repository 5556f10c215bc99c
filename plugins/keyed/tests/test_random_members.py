"""Members that come, leave and die, and handlers that fail: order within each key holds, nothing is lost."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keyed_scenes import LATER, OK, KeyedScene, PopMember

KEYS = "abcd"

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.text(KEYS, min_size=1, max_size=12), st.integers(0, 4)),
        st.tuples(st.just("join"), st.just(""), st.integers(1, 8)),
        st.tuples(st.just("leave"), st.just(""), st.integers(0, 5)),
        st.tuples(st.just("kill"), st.just(""), st.integers(0, 5)),
        st.tuples(st.just("restart"), st.just(""), st.just(0)),
        st.tuples(st.just("pass"), st.just(""), st.integers(1, 40)),
    ),
    min_size=4,
    max_size=20,
)


class KeyedStory:
    """Bodies are "KEY-NUMBER"; the first of each send fails as often as that says."""

    def __init__(self, scene: KeyedScene) -> None:
        self.scene = scene
        self.sent: dict[str, list[int]] = defaultdict(list)
        self.count = 0
        self.failing: dict[bytes, int] = {}
        self.done: dict[str, list[int]] = defaultdict(list)
        self.at_work: dict[str, PopMember] = {}
        self.deaths = 0
        scene.handles = self.handle

    async def handle(self, message, context):
        key, _, number = message.body.decode().partition("-")
        assert key not in self.at_work, "two handlers at one key"
        self.at_work[key] = message
        try:
            await self.scene.clock.sleep(0.02)
        finally:
            self.at_work.pop(key, None)
        left = self.failing.get(message.body, 0)
        if left:
            self.failing[message.body] = left - 1
            return LATER
        self.done[key].append(int(number))
        return OK

    @property
    def alive(self) -> list[PopMember]:
        return [each for each in self.scene.members if each.alive]

    async def step(self, what: str, keys: str, number: int) -> None:
        scene = self.scene
        if what == "send":
            bodies = []
            for key in keys:
                bodies.append(f"{key}-{self.count}".encode())
                self.sent[key].append(self.count)
                self.count += 1
            self.failing[bodies[0]] = number
            await scene.put(*bodies)
        elif what == "join":
            await scene.join_mortal(
                settings={"consume_tasks": number, "suspend_current_queue_time_millis": 200}
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

    async def end(self) -> None:
        """All is calm, and somebody is there."""
        await self.step("join", "", 4)
        await self.scene.until(
            lambda: all(set(sent) <= set(self.done[key]) for key, sent in self.sent.items()), 600.0, 0.5
        )
        await self.scene.until(lambda: self.scene.lag() == 0, 120.0)
        for key, sent in self.sent.items():
            check_order(sent, self.done[key])


def check_order(sent: list[int], done: list[int]) -> None:
    """Each was done first in its turn; what is repeated is repeated in order, up to where all goes on."""
    reached = -1
    before = -1
    for number in done:
        place = sent.index(number)
        assert place <= reached + 1, f"{number} was done before one that was sent earlier"
        assert place == before + 1 or place <= before, f"{number} left one out"
        reached, before = max(reached, place), place


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS)
async def test_order_within_a_key_holds_and_nothing_is_lost(steps: list[tuple[str, str, int]]) -> None:
    async with KeyedScene(queues=2) as scene:
        story = KeyedStory(scene)
        for what, keys, number in steps:
            await story.step(what, keys, number)
        await story.end()
