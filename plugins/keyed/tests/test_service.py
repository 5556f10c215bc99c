"""Keyed consumption as handlers see it: order within a key, many keys at once, one key that waits."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict

import pytest
from keyed_scenes import GROUP, LATER, OK, KeyedScene, letters

from mqframe import ReceivedMessage
from mqframe.core.consuming.queue_locks import LEASE_SECONDS


async def test_many_keys_of_a_queue_are_handled_at_once_and_each_in_order() -> None:
    async with KeyedScene() as scene:
        member = await scene.join()
        go = asyncio.Event()

        async def wait(message, context):
            await go.wait()
            return OK

        scene.handles = wait
        await scene.put(*letters("abcaba"))
        await scene.until(lambda: len(member.got) == 3)
        await scene.pass_time(1.0)
        assert member.bodies == [b"a-0", b"b-1", b"c-2"]
        assert scene.committed() in (None, 0)
        go.set()
        await scene.until(lambda: len(member.got) == 6)
        assert sorted(member.bodies[3:]) == [b"a-3", b"a-5", b"b-4"]
        assert member.bodies.index(b"a-3") < member.bodies.index(b"a-5")
        await scene.until(lambda: scene.committed() == 6)


async def test_a_key_that_fails_waits_by_itself_and_offsets_wait_for_it() -> None:
    async with KeyedScene() as scene:
        member = await scene.join(settings={"suspend_current_queue_time_millis": 20_000})
        fails = True

        async def handle(message, context):
            return LATER if fails and message.body == b"a-1" else OK

        scene.handles = handle
        await scene.put(*letters("bababb"))
        await scene.until(lambda: len(member.got) == 5)
        await scene.pass_time(10.0)
        assert [each for each in member.bodies if each.startswith(b"b")] == [b"b-0", b"b-2", b"b-4", b"b-5"]
        assert [each for each in member.got if each[0].startswith(b"a")] == [(b"a-1", 0)]
        assert scene.committed() == 1, "the smallest that is not done with"
        await scene.put(b"b-6", b"a-7")
        await scene.until(lambda: b"b-6" in member.bodies, 5.0)
        fails = False
        await scene.until(lambda: scene.committed() == 8, 30.0)
        assert [each for each in member.got if each[0].startswith(b"a")] == [
            (b"a-1", 0),
            (b"a-1", 1),
            (b"a-3", 0),
            (b"a-7", 0),
        ]


async def test_a_handler_says_for_how_long_its_key_waits() -> None:
    async with KeyedScene() as scene:
        member = await scene.join()

        async def handle(message, context):
            context.suspend_current_queue_time_millis = 7_000
            return OK if message.reconsume_times else LATER

        scene.handles = handle
        await scene.put(b"a-0")
        await scene.until(lambda: len(member.got) == 2)
        assert member.times[1] - member.times[0] == pytest.approx(7.0, abs=0.5)


async def test_after_its_limit_a_message_is_a_dead_letter_and_its_key_goes_on() -> None:
    async with KeyedScene() as scene:
        member = await scene.join(settings={"max_reconsume_times": 2})

        async def handle(message, context):
            return LATER if message.body == b"a-0" else OK

        scene.handles = handle
        await scene.put(*letters("aba"))
        await scene.until(lambda: scene.dead == [b"a-0"] and scene.committed() == 3)
        assert sorted(member.got) == [(b"a-0", 0), (b"a-0", 1), (b"a-0", 2), (b"a-2", 0), (b"b-1", 0)]
        assert member.got.index((b"a-2", 0)) > member.got.index((b"a-0", 2))


async def test_plain_handlers_run_in_threads_and_quick_ones_in_rows() -> None:
    async with KeyedScene() as scene:
        seen: dict[str, list[int]] = defaultdict(list)
        names: set[str] = set()

        def handle(message: ReceivedMessage) -> None:
            key, _, place = message.body.decode().partition("-")
            seen[key].append(int(place))
            names.add(threading.current_thread().name.rpartition("-")[0])

        consumer = scene.make()
        consumer.subscribe("orders", "*", handle)
        await scene.put(*letters("abcd" * 50))
        await scene.open(consumer)
        await scene.until(lambda: scene.committed() == 200)
        assert seen == {key: list(range(at, 200, 4)) for at, key in enumerate("abcd")}
        assert names == {f"mqframe-keyed-{GROUP}"}


async def test_a_failure_in_a_row_of_quick_ones_holds_back_those_behind_it() -> None:
    async with KeyedScene() as scene:
        seen: list[bytes] = []
        failed = threading.Event()

        def handle(message: ReceivedMessage) -> None:
            if message.body == b"a-150" and not failed.is_set():
                failed.set()
                raise ValueError("not yet")
            seen.append(message.body)

        consumer = scene.make()
        consumer.subscribe("orders", "*", handle)
        await scene.put(*letters("a" * 200))
        await scene.open(consumer)
        await scene.until(lambda: scene.committed() == 200)
        assert failed.is_set()
        assert seen == letters("a" * 200)


async def test_batches_are_of_one_key() -> None:
    async with KeyedScene() as scene:
        batches: list[list[bytes]] = []

        async def listen(messages: list[ReceivedMessage], context):
            batches.append([message.body for message in messages])
            return OK

        consumer = scene.make()
        consumer.subscribe("orders", "*", listen, batch_max=3)
        await scene.put(*letters("abaaab"))
        await scene.open(consumer)
        await scene.until(lambda: scene.committed() == 6)
        assert sorted(batches) == [[b"a-0", b"a-2", b"a-3"], [b"a-4"], [b"b-1", b"b-5"]]


async def test_handlers_of_tags_share_the_order_of_a_key() -> None:
    async with KeyedScene() as scene:
        seen: list[tuple[str, bytes]] = []

        async def paid(message: ReceivedMessage) -> None:
            seen.append(("paid", message.body))

        def refunded(message: ReceivedMessage) -> None:
            seen.append(("refunded", message.body))

        consumer = scene.make(mode_options={"key": lambda message: "one"})
        consumer.on("orders", "paid")(paid)
        consumer.on("orders", "refunded")(refunded)
        for at, tag in enumerate(("paid", "refunded", "paid")):
            await scene.send("orders", b"%d" % at, tag=tag)
        await scene.open(consumer)
        await scene.until(lambda: scene.committed() == 3)
        assert seen == [("paid", b"0"), ("refunded", b"1"), ("paid", b"2")]


async def test_a_key_that_cannot_be_told_makes_a_dead_letter_that_says_why() -> None:
    def key_of(message: ReceivedMessage) -> str:
        return message.properties["customer"]

    async with KeyedScene() as scene:
        member = await scene.join(mode_options={"key": key_of})
        await scene.put(b"a-0")
        await scene.until(lambda: scene.dead == [b"a-0"] and scene.committed() == 1)
        assert member.got == []
        [letter] = scene.stored(f"%DLQ%{GROUP}")
        assert letter.properties["MQFRAME_REASON"] == "its key could not be told: KeyError: 'customer'"


async def test_a_suspended_key_bounds_what_is_held() -> None:
    async with KeyedScene() as scene:
        member = await scene.join(settings={"queue_messages_max": 20, "pull_messages_max": 5})
        fails = True

        async def handle(message, context):
            return LATER if fails and message.body.startswith(b"a") else OK

        scene.handles = handle
        await scene.put(*letters("a" + "b" * 60), *letters("a" * 30), b"c-0")
        await scene.until(lambda: sum(body.startswith(b"b") for body in member.bodies) == 60)
        await scene.pass_time(10.0)
        assert b"c-0" not in member.bodies, "pulls wait for the key whose messages are held"
        fails = False
        await scene.until(lambda: scene.committed() == 92)
        assert member.bodies.count(b"c-0") == 1


async def test_a_queue_moves_once_the_handlers_of_all_its_keys_have_ended() -> None:
    async with KeyedScene() as scene:
        one = await scene.join()
        go = asyncio.Event()

        async def wait(message, context):
            await go.wait()
            return OK

        scene.handles = wait
        await scene.put(*letters("abab"))
        await scene.until(lambda: len(one.got) == 2)
        closing = asyncio.ensure_future(scene.close(one.consumer))
        two = await scene.join()
        await scene.pass_time(5.0)
        assert two.got == [], "the lock is not released before"
        go.set()
        await closing
        await scene.until(lambda: scene.committed() == 4)
        assert sorted(one.bodies) == [b"a-0", b"b-1"]
        assert sorted(two.bodies) == [b"a-2", b"b-3"]


async def test_nothing_is_called_once_the_lock_is_not_trusted_and_all_goes_on_when_it_is_renewed() -> None:
    async with KeyedScene() as scene:
        member = await scene.join()
        await scene.put(*letters("ab"))
        await scene.until(lambda: scene.committed() == 2)
        await scene.finish(scene.cluster.restart_broker())
        await scene.put(*letters("abab"))
        await scene.until(lambda: len(member.got) == 6, 3 * LEASE_SECONDS)
        assert [body for body in member.bodies[2:] if body.startswith(b"a")] == [b"a-0", b"a-2"]
        assert [body for body in member.bodies[2:] if body.startswith(b"b")] == [b"b-1", b"b-3"]


async def test_what_other_modes_sent_back_is_consumed_too() -> None:
    async with KeyedScene() as scene:
        other = await scene.join(mode="pull")

        async def fail(message, context):
            return LATER

        scene.handles = fail
        await scene.put(b"a-0")
        await scene.until(lambda: other.got)
        await scene.pass_time(1.0)
        await scene.close(other.consumer)
        member = await scene.join()
        del scene.handles
        await scene.until(lambda: member.got, 60.0)
        assert member.got == [(b"a-0", 1)]
        await scene.until(lambda: scene.lag(topic=f"%RETRY%{GROUP}") == 0)


async def test_in_broadcasting_every_member_has_every_key_and_drops_what_fails_too_often(tmp_path) -> None:
    async with KeyedScene() as scene:
        options = {
            "broadcasting": True,
            "settings": {"max_reconsume_times": 1, "offset_directory": tmp_path},
        }
        members = [await scene.join(**options) for _ in range(2)]

        async def handle(message, context):
            return LATER if message.body == b"a-0" else OK

        scene.handles = handle
        await scene.put(*letters("aba"))
        for member in members:
            await scene.until(lambda member=member: len(member.got) == 4)
            assert sorted(member.got) == [(b"a-0", 0), (b"a-0", 1), (b"a-2", 0), (b"b-1", 0)]
        assert scene.dead == []
