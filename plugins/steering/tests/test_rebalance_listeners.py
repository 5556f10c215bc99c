"""Listeners hear of queues before these are read, before they go, and when they are lost; each once."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_steering.rebalance_listeners import RebalanceListeners
from mqframe_testing.consuming import AllQueues, ClientScene, CollectingListener
from mqframe_testing.manual_clock import ManualClock
from steered_scenes import GROUP, SteeredScene

from mqframe import AsyncPushConsumer, ConsumerSettings, FixError, ReceivedMessage
from mqframe.core.messages.message import MessageQueue


@pytest.mark.parametrize("ordered", [False, True], ids=["concurrent", "ordered"])
async def test_what_a_member_gathered_is_written_out_before_its_queues_go(ordered: bool) -> None:
    """What was handled is flushed, then committed, and only then another member reads on: nothing is lost."""
    async with SteeredScene() as scene:
        gathered: dict[int, list[bytes]] = defaultdict(list)
        written: dict[int, list[bytes]] = defaultdict(list)
        got_elsewhere: dict[int, list[bytes]] = defaultdict(list)
        stored_at_flush: dict[int, int | None] = {}

        async def gather(message: ReceivedMessage) -> None:
            gathered[message.queue_id].append(message.body)

        async def flush(topic: str, queues: list[MessageQueue]) -> None:
            for queue in queues if topic == "orders" else ():
                stored_at_flush[queue.queue_id] = scene.stored_offset(queue.queue_id)
                await scene.clock.sleep(1.0)
                written[queue.queue_id] += gathered.pop(queue.queue_id, [])

        first = scene.make("m1", ordered=ordered, on_revoked=flush, settings={"rebalance_seconds": 5.0})
        first.subscribe("orders", "*", gather)
        await scene.open(first)
        await scene.until(lambda: scene.owns(first, 4))
        for number in range(4):
            await scene.send("orders", b"a", b"b", queue_id=number)
        await scene.until(lambda: sum(map(len, gathered.values())) == 8)

        async def other(message: ReceivedMessage) -> None:
            got_elsewhere[message.queue_id].append(message.body)

        second = scene.make("m2", ordered=ordered, settings={"rebalance_seconds": 5.0})
        second.subscribe("orders", "*", other)
        await scene.open(second)
        await scene.until(lambda: scene.owns(first, 2) and scene.owns(second, 2))
        gone = sorted(queue.queue_id for queue in second.queues)
        assert sorted(written) == gone
        assert [written[number] for number in gone] == [[b"a", b"b"]] * 2
        for number in gone:
            await scene.send("orders", b"c", queue_id=number)
        await scene.until(lambda: all(b"c" in got_elsewhere[number] for number in gone))
        if ordered:  # nobody reads where another member has the lock still
            assert [got_elsewhere[number] for number in gone] == [[b"c"]] * 2
        await scene.close(first)
        assert sorted(written) == [0, 1, 2, 3]
        assert [scene.stored_offset(number) for number in set(range(4)).difference(gone)] == [2, 2]


async def test_handlers_have_ended_before_queues_are_told_of_and_none_begins_after() -> None:
    async with SteeredScene(topics={"orders": 2}) as scene:
        release = asyncio.Event()

        async def handle(message: ReceivedMessage) -> None:
            scene.events.append(("begins", message.queue_id, message.body))
            if message.body == b"slow":
                await release.wait()
            scene.events.append(("ends", message.queue_id, message.body))

        async def revoked(topic: str, queues: list[MessageQueue]) -> None:
            if topic == "orders":
                scene.events.append(("revoked", [each.queue_id for each in queues]))

        settings = {"rebalance_seconds": 5.0, "consume_tasks": 1}
        first = scene.make("m1", on_revoked=revoked, settings=settings)
        first.subscribe("orders", "*", handle)
        await scene.open(first)
        await scene.until(lambda: scene.owns(first, 2))
        for number in range(2):
            await scene.send("orders", b"slow", b"next", queue_id=number)
        await scene.until(lambda: scene.events)
        [(_, number, _)] = scene.events
        second = scene.make("m2", settings=settings, allocate="averagely")
        got: list[bytes] = []
        second.subscribe("orders", "*", lambda message: got.append(message.body))
        await scene.open(second)
        await scene.until(lambda: scene.owns(second, 1))
        await scene.pass_time(5.0)
        [gone] = [queue.queue_id for queue in second.queues]
        assert scene.owns(first, 2) is (gone == number), "it waits for its handler where that is at the queue"
        release.set()
        await scene.until(lambda: scene.owns(first, 1))
        at = scene.events.index(("revoked", [gone]))
        assert all(event[:2] != ("begins", gone) for event in scene.events[at:])
        begun = [event for event in scene.events[:at] if event[:2] == ("begins", gone)]
        ended = [event for event in scene.events[:at] if event[:2] == ("ends", gone)]
        assert len(begun) == len(ended)
        await scene.until(lambda: b"next" in got)


async def test_queues_are_read_once_the_application_is_ready_for_them() -> None:
    async with SteeredScene() as scene:
        for number in range(4):
            await scene.send("orders", b"x", queue_id=number)
        ready = asyncio.Event()
        loaded: list[int] = []
        got: list[int] = []

        async def load(topic: str, queues: list[MessageQueue]) -> None:
            if topic == "orders":
                await ready.wait()
                loaded.extend(each.queue_id for each in queues)

        async def handle(message: ReceivedMessage) -> None:
            assert message.queue_id in loaded
            got.append(message.queue_id)

        consumer = scene.make(on_assigned=load)
        consumer.subscribe("orders", "*", handle)
        await scene.open(consumer)
        await scene.pass_time(3.0)
        assert (got, consumer.queues) == ([], [])
        ready.set()
        await scene.until(lambda: sorted(got) == [0, 1, 2, 3])
        assert sorted(loaded) == [0, 1, 2, 3]


async def test_plain_functions_run_in_a_thread_and_all_is_told_in_order() -> None:
    async with SteeredScene() as scene:
        threads: set[int] = set()

        def note(what: str):
            noting = scene.noting("m1", what)

            def noted(topic, queues):
                threads.add(threading.get_ident())
                noting(topic, queues)

            return noted

        first = scene.make(on_assigned=note("assigned"), on_revoked=note("revoked"), on_lost=note("lost"))
        first.subscribe("orders", "*", lambda message: None)
        await scene.open(first)
        await scene.until(lambda: scene.owns(first, 4))
        second = scene.make("m2")
        second.subscribe("orders", "*", lambda message: None)
        await scene.open(second)
        await scene.until(lambda: scene.owns(first, 2) and scene.owns(second, 2))
        gone, kept = ([each.queue_id for each in one.queues] for one in (second, first))
        await scene.close(second)
        await scene.until(lambda: scene.owns(first, 4))
        await scene.close(first)
        assert scene.events == [
            ("m1", "assigned", [0, 1, 2, 3]),
            ("m1", "revoked", gone),
            ("m1", "assigned", gone),
            ("m1", "revoked", sorted(gone + kept)),
        ]
        assert threading.get_ident() not in threads


@pytest.mark.parametrize("told", ["lost", "revoked"])
async def test_queues_whose_locks_another_member_has_are_lost_and_nothing_is_saved(told: str) -> None:
    """As where a process stood still for longer than its locks last."""
    events: list[tuple[str, list[int]]] = []

    def noting(what: str):
        async def note(topic, queues):
            if topic == "orders":
                events.append((what, [each.queue_id for each in queues]))

        return note

    async with ClientScene({"orders": 2, f"%RETRY%{GROUP}": 1}) as scene:
        listeners = {"on_assigned": noting("assigned"), "on_revoked": noting("revoked")}
        if told == "lost":
            listeners["on_lost"] = noting("lost")
        consumer = AsyncPushConsumer(
            GROUP,
            instance=scene.instance,
            clock=scene.clock,
            allocate=AllQueues(),
            consume_from="first",
            ordered=True,
            **listeners,
        )
        consumer.subscribe("orders", "*", CollectingListener())
        await scene.finish(consumer.start())
        await came(scene, lambda: len(consumer.queues) == 2)
        scene.broker.put("orders", 0, b"a")
        await scene.pass_time(0.5)
        scene.broker.locks[GROUP, scene.broker.queue("orders", 0)] = "somebody"
        await came(scene, lambda: len(consumer.queues) == 1)
        await came(scene, lambda: len(events) == 2)
        await scene.finish(consumer.stop())
        assert events == [("assigned", [0, 1]), (told, [0]), ("revoked", [1])]


async def came(scene: ClientScene, condition) -> None:
    end = scene.clock.monotonic() + 120.0
    while not condition():
        assert scene.clock.monotonic() < end
        await scene.pass_time(0.5)


async def test_a_listener_that_fails_or_is_never_done_does_not_keep_queues() -> None:
    async with SteeredScene() as scene:
        asked: list[str] = []

        async def never(topic, queues):
            asked.append(topic)
            await scene.clock.sleep(3600.0)

        def fails(topic, queues):
            raise RuntimeError("not today")

        settings = {"stop_seconds": 4.0, "rebalance_seconds": 5.0}
        first = scene.make(on_assigned=fails, on_revoked=never, settings=settings)
        first.subscribe("orders", "*", lambda message: None)
        await scene.open(first)
        await scene.until(lambda: scene.owns(first, 4))
        second = scene.make("m2", settings=settings)
        second.subscribe("orders", "*", lambda message: None)
        await scene.open(second)
        await scene.until(lambda: "orders" in asked)
        began = scene.clock.monotonic()
        await scene.until(lambda: scene.owns(first, 2))
        assert scene.clock.monotonic() - began < 15.0
        await scene.close(first)
        assert asked.count("orders") == 2


async def test_what_makes_no_sense_is_refused() -> None:
    async with SteeredScene() as scene:
        with pytest.raises(FixError, match="on_lost is a str, not a function"):
            scene.make(on_lost="flush")
        with pytest.raises(FixError, match='makes no sense with mode "pop": members have no queues'):
            scene.make(mode="pop", on_revoked=lambda topic, queues: None)


async def test_in_broadcasting_all_queues_come_and_go_with_the_member(tmp_path) -> None:
    async with SteeredScene() as scene:
        consumer = scene.make(
            broadcasting=True,
            on_assigned=scene.noting("m1", "assigned"),
            on_revoked=scene.noting("m1", "revoked"),
            settings={"offset_directory": tmp_path},
        )
        consumer.subscribe("orders", "*", lambda message: None)
        await scene.open(consumer)
        await scene.until(lambda: scene.owns(consumer, 4))
        await scene.close(consumer)
        assert scene.events == [("m1", "assigned", [0, 1, 2, 3]), ("m1", "revoked", [0, 1, 2, 3])]


QUEUES = [MessageQueue(topic, "broker-a", number) for topic in ("orders", "bills") for number in range(2)]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["assigned", "revoked", "lost", "broken off"]), st.sets(st.sampled_from(QUEUES))
    ),
    max_size=20,
)


@given(STEPS)
async def test_each_queue_that_comes_goes_once_whatever_is_broken_off(steps) -> None:
    told: list[tuple[str, str, list[MessageQueue]]] = []

    def noting(what: str):
        async def note(topic, queues):
            await asyncio.sleep(0)
            told.append((what, topic, list(queues)))

        return note

    plan: Any = SimpleNamespace(group="g", clock=ManualClock(), settings=ConsumerSettings())
    listeners = RebalanceListeners(plan, *map(noting, ("assigned", "revoked", "lost")))
    for what, some in steps:
        queues = sorted(some)
        if what == "lost":
            listeners.lost(queues)
        elif what == "broken off":  # by a stop, which leaves the queues where they were
            taking = asyncio.ensure_future(listeners.assigned(queues))
            await asyncio.sleep(0)
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)
        else:
            await getattr(listeners, what)(queues)
    await listeners.revoked(QUEUES)
    for queue in QUEUES:
        mine = [what for what, _, queues in told if queue in queues]
        assert mine[::2] == ["assigned"] * (len(mine) // 2)
        assert "assigned" not in mine[1::2]
    assert all(queues and {queue.topic for queue in queues} == {topic} for _, topic, queues in told)
