"""What was given back is waited for until a broker has it again, and no longer than makes sense."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_kombu.returning import BACK_SECONDS, Returning

from mqframe.core.errors import ConnectionLost


class Scene:
    """A broker that brings messages back as the story says. `stored`: attempts by topic and id."""

    def __init__(self) -> None:
        self.now = 100.0
        self.stored: dict[tuple[str, str], int] = {}
        self.looks: list[str] = []
        self.then: Callable[[], None] = lambda: None
        self.returning = Returning(self.newest, lambda: self.now)

    async def newest(self, topic: str, message_id: str) -> Any:
        times = self.stored.get((topic, message_id))
        self.looks.append(message_id)
        self.then()
        return None if times is None else SimpleNamespace(reconsume_times=times)

    def give_back(self, message_id: str, times: int = 0, topic: str = "t") -> None:
        message = SimpleNamespace(message_id=message_id, reconsume_times=times)
        self.returning.add(topic, message)  # type: ignore[arg-type]


async def test_what_is_not_there_yet_is_looked_for_until_it_is() -> None:
    scene = Scene()
    for message_id in "ab":
        scene.give_back(message_id)
    scene.stored["t", "b"] = 1

    def then() -> None:
        if len(scene.looks) == 4:
            scene.stored["t", "a"] = 1

    scene.then = then
    assert await scene.returning.until_back("t")
    assert scene.looks == ["a", "b", "a", "a", "a"]
    assert not await scene.returning.until_back("t")
    assert len(scene.looks) == 5


async def test_other_topics_are_not_waited_for() -> None:
    scene = Scene()
    scene.give_back("a", topic="other")
    assert not await scene.returning.until_back("t")
    scene.returning.forget("other")
    scene.returning.forget("other")
    assert not await scene.returning.until_back("other")
    assert scene.looks == []


async def test_a_copy_of_an_earlier_try_is_not_the_one() -> None:
    scene = Scene()
    scene.stored["t", "a"] = 1
    scene.give_back("a", times=0)
    scene.give_back("a", times=1)

    def then() -> None:
        scene.stored["t", "a"] = len(scene.looks)

    scene.then = then
    assert await scene.returning.until_back("t")
    assert scene.looks == ["a"] * 3


async def test_one_that_is_given_back_while_it_is_looked_for_is_waited_for_anew() -> None:
    scene = Scene()
    scene.give_back("a")
    scene.stored["t", "a"] = 1

    def then() -> None:
        if len(scene.looks) == 1:
            scene.give_back("a", times=1)
        elif len(scene.looks) == 2:
            scene.stored["t", "a"] = 2

    scene.then = then
    assert await scene.returning.until_back("t")
    assert scene.looks == ["a"] * 3


async def test_what_never_comes_is_given_up_in_the_order_in_which_it_went() -> None:
    scene = Scene()
    scene.give_back("dead letter")
    scene.now += BACK_SECONDS / 2
    scene.give_back("late")

    def then() -> None:
        if len(scene.looks) == 2:
            scene.now += BACK_SECONDS / 2
        elif len(scene.looks) == 3:
            scene.stored["t", "late"] = 1

    scene.then = then
    assert await scene.returning.until_back("t")
    assert scene.looks == ["dead letter", "late", "late", "late"]
    scene.give_back("another")
    scene.now += BACK_SECONDS
    assert not await scene.returning.until_back("t")


async def test_what_becomes_of_a_broker_that_does_not_answer_is_told() -> None:
    scene = Scene()
    scene.give_back("a")

    def then() -> None:
        raise ConnectionLost("gone")

    scene.then = then
    with pytest.raises(ConnectionLost):
        await scene.returning.until_back("t")


async def test_many_are_looked_for_some_at_a_time() -> None:
    scene = Scene()
    for n in range(100):
        scene.give_back(str(n))
        scene.stored["t", str(n)] = 1
    assert await scene.returning.until_back("t")
    assert scene.looks == [str(n) for n in range(100)]
