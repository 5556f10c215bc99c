"""A lane copies in order, by batches, and knows what became of a request without an answer."""

from __future__ import annotations

from typing import Any

import pytest
from mirror_scenes import MirrorScene, marks, message
from mqframe_mirror import Mirror
from mqframe_mirror.lane import MirrorLane
from mqframe_mirror.rules.marks import SOURCE
from mqframe_pull.puller.raw_pull import RawPull

from mqframe import AsyncProducer, ConnectionLost, FixError, MessageQueue, PullStatus
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import answer_error

NUMBERS = [b"%d" % each for each in range(10)]


def lane_of(mirror: Mirror) -> MirrorLane:
    [lane] = mirror.topics["orders"].lanes.values()
    return lane


def instead(mirror: Mirror, failing: Any) -> list[int]:
    """Have the first send be `failing(send, topic, elements, queue)`; gives how many there were."""
    send, counts = mirror.target.producer.send_encoded, [0]

    async def encoded(topic: str, elements: bytes, **more: Any) -> Any:
        counts[0] += 1
        if counts[0] == 1:
            return await failing(send, topic, elements, **more)
        return await send(topic, elements, **more)

    mirror.target.producer.send_encoded = encoded  # type: ignore[method-assign]
    return counts


@pytest.mark.parametrize("stored", [True, False])
async def test_a_request_without_an_answer_is_looked_for(stored: bool) -> None:
    async def lost(send: Any, topic: str, elements: bytes, **more: Any) -> Any:
        if stored:
            await send(topic, elements, **more)
        raise ConnectionLost("cut")

    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin(batch_messages=4)
        counts = instead(mirror, lost)
        await scene.tokyo.send("orders", *NUMBERS)
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == NUMBERS
        tally = lane_of(mirror).tally
        assert (tally.settled, tally.copied, tally.position, tally.lag) == (1, 10, 10, 0)
        assert counts[0] >= 3


async def test_what_had_no_room_is_tried_again_and_is_not_looked_for() -> None:
    async def refused(*_: Any, **__: Any) -> Any:
        raise answer_error(ResponseCode.SYSTEM_BUSY, "busy", "there")

    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin()
        counts = instead(mirror, refused)
        await scene.tokyo.send("orders", *NUMBERS)
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == NUMBERS
        assert lane_of(mirror).tally.settled == 0
        assert counts[0] > 1


async def send_large(scene: MirrorScene) -> None:
    producer = await scene.tokyo.open(
        AsyncProducer("shop", nameserver=scene.tokyo.nameserver, clock=scene.clock)
    )
    properties = {"p": "x" * 16_000, "q": "y" * 16_600}
    await scene.finish(producer.send(message(b"large", properties=properties)))


async def test_a_message_that_the_target_cannot_take_holds_its_queue_up() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"1")
        await send_large(scene)
        await scene.tokyo.send("orders", b"2")
        mirror = await scene.begin()
        await scene.until(lambda: mirror.held_up)
        assert isinstance(mirror.held_up, FixError)
        assert "at offset 1" in str(mirror.held_up)
        assert scene.berlin.bodies("orders") == [b"1"]
        assert not mirror.caught_up
        assert lane_of(mirror).position == 1


async def test_it_may_be_left_out_and_counted() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"1")
        await send_large(scene)
        await scene.tokyo.send("orders", b"2")
        mirror = await scene.begin(refused="skip")
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == [b"1", b"2"]
        assert lane_of(mirror).tally.refused == 1


async def test_what_the_target_refuses_is_found_among_others() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin(refused="skip")
        send = mirror.target.producer.send_encoded

        async def picky(topic: str, elements: bytes, **more: Any) -> Any:
            if b"broker-a/0/6/" in elements:
                raise answer_error(ResponseCode.MESSAGE_ILLEGAL, "not this one", "there")
            return await send(topic, elements, **more)

        mirror.target.producer.send_encoded = picky  # type: ignore[method-assign]
        producer = await scene.tokyo.open(
            AsyncProducer("shop", nameserver=scene.tokyo.nameserver, clock=scene.clock)
        )
        await scene.finish(producer.send_batch([message(each) for each in NUMBERS]))
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == NUMBERS[:6] + NUMBERS[7:]
        assert lane_of(mirror).tally.refused == 1


async def test_bodies_that_fit_no_batch_travel_alone_and_packed() -> None:
    large = b"mqframe " * (5 << 17)  # 5 MiB
    async with MirrorScene({"orders": 1}) as scene:
        producer = await scene.tokyo.open(
            AsyncProducer("shop", nameserver=scene.tokyo.nameserver, clock=scene.clock)
        )
        await scene.tokyo.send("orders", b"before")
        await scene.finish(producer.send(message(large, tag="t", keys=["k"], properties={"a": "b"})))
        await scene.tokyo.send("orders", b"after")
        for _ in range(2):  # and are found again
            await scene.copy_once()
        before, copy, after = scene.berlin.stored("orders")
        assert (before.body, copy.body, after.body) == (b"before", large, b"after")
        assert (copy.tag, copy.keys, copy.properties["a"]) == ("t", ["k"], "b")
        assert [mark.offset for mark in marks([before, copy, after])] == [0, 1, 2]


async def test_a_queue_with_another_end_goes_on_where_its_copies_end() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", *NUMBERS)
        await scene.copy_once()
        mirror = await scene.begin()
        lane = lane_of(mirror)
        await scene.copied(mirror)
        lane.tally.position = 25  # as that of a queue that is no more
        await scene.tokyo.send("orders", b"10")
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == [*NUMBERS, b"10"]


async def test_messages_that_expired_before_they_were_copied_are_counted() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin()
        puller = mirror.source.puller
        pull_raw = puller.pull_raw

        async def short(queue: MessageQueue, offset: int, *rest: Any, **more: Any) -> RawPull:
            if offset < 3:
                return RawPull(PullStatus.OFFSET_ILLEGAL, b"", 3, 3, 10)
            return await pull_raw(queue, offset, *rest, **more)

        async def begin(queue: MessageQueue) -> int:
            return 3

        puller.pull_raw, puller.min_offset = short, begin  # type: ignore[method-assign]
        await scene.tokyo.send("orders", *NUMBERS)
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == NUMBERS[3:]
        assert lane_of(mirror).tally.missed == 3


async def test_lag_is_told_while_the_target_is_away() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin()
        await scene.copied(mirror)
        await scene.berlin.cluster.stop_broker()
        await scene.tokyo.send("orders", *NUMBERS)
        await scene.pass_time(20)
        tally = lane_of(mirror).tally
        assert tally.lag == 10
        assert tally.lag_seconds(scene.clock.now_ms()) > 15
        assert tally.problem
        await scene.berlin.cluster.start_broker()
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders") == NUMBERS
        assert (tally.lag, tally.lag_seconds(scene.clock.now_ms()), tally.problem) == (0, 0.0, "")


async def test_a_copy_says_the_place_of_its_message() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"1")
        await scene.copy_once()
        [copy], [original] = scene.berlin.stored("orders"), scene.tokyo.stored("orders")
        assert copy.properties[SOURCE] == f"tokyo/broker-a/0/0/{original.born_timestamp}"
