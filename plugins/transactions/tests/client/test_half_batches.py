"""Batches as half messages, on brokers with and without half batches, and what is known of their ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest
from mqframe_transactions.requests import SendHalfBatch
from transaction_scenes import BatchScene, batch

from mqframe import (
    AnswerError,
    ClosedError,
    ConnectError,
    EndStatus,
    EndsUnfinished,
    FixError,
    MessageError,
    MessageQueue,
    PreparedHalf,
    RouteError,
    SendContext,
    SendHook,
    SendOperation,
    TransactionOutcome,
)
from mqframe.client.settings import ProducerSettings
from mqframe.core.errors import Refusal
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import EndTransaction, SendMessageV2
from mqframe.core.requests.serving import Call, Reply

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
DONE = EndStatus.DONE


class TestHalves:
    async def test_one_half_for_a_batch(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            queue = MessageQueue("orders", "broker-a", 1)
            [half] = await producer.prepare(
                "orders", batch(b"1", b"2", b"3"), 3, properties={"job": "7"}, queue=queue
            )
            [stored] = scene.stored(HALF_TOPIC)
            assert half == PreparedHalf(
                "broker-a", "orders", 1, 0, stored.commit_log_offset, stored.transaction_id, 3, True
            )
            assert stored.properties["job"] == "7"
            assert scene.bodies() == []
            travelled = msgspec.json.decode(msgspec.json.encode(half), type=PreparedHalf)
            other = await scene.producer()  # another process ends it
            assert await other.end([travelled], COMMIT) == [DONE]
            assert [(m.body, m.queue_id, m.tag, m.flag) for m in scene.stored()] == [
                (b"1", 1, "a", 7), (b"2", 1, "a", 7), (b"3", 1, "a", 7),
            ]  # fmt: skip
            assert all("job" not in message.properties for message in scene.stored())
            assert await other.end([half], COMMIT) == [EndStatus.ENDED_BEFORE]
            assert await producer.end([half], ROLLBACK) == [EndStatus.ENDED_BEFORE]
            assert len(scene.bodies()) == 3

    async def test_many_in_flight(self) -> None:
        async with BatchScene(store={"commit_log_file_bytes": 64 << 20}) as scene:
            producer = await scene.producer()
            # More bytes than a connection takes unsent: they wait for their turn.
            body = b"x" * 100_000
            prepared = await asyncio.gather(
                *[producer.prepare("orders", batch(body, b"%d" % number), 2) for number in range(120)]
            )
            halves = [half for each in prepared for half in each]
            assert len({half.commit_log_offset for half in halves}) == 120
            assert {half.queue_id for half in halves} == {0, 1}
            assert await producer.end(halves[:100], COMMIT) == [DONE] * 100
            assert await producer.end(halves[100:], ROLLBACK) == [DONE] * 20
            found = scene.bodies()
            assert sorted(found[1::2]) == sorted(b"%d" % number for number in range(100))
            assert await producer.end([], COMMIT) == []

    async def test_not_found_after_all_was_lost(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            [half] = await producer.prepare("orders", batch(b"1"), 1)
            wrong = [
                msgspec.structs.replace(half, commit_log_offset=1 << 40),
                msgspec.structs.replace(half, queue_offset=9),
                half,
            ]
            assert await producer.end(wrong, COMMIT) == [EndStatus.NOT_FOUND, EndStatus.NOT_FOUND, DONE]

    async def test_a_half_that_is_not_durable_is_rolled_back(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            serve = scene.handlers()[SendHalfBatch.CODE]

            def late(call: Call) -> Reply:
                reply: Reply = serve(call)
                reply.code = 10
                return reply

            scene.handlers()[SendHalfBatch.CODE] = late
            with pytest.raises(AnswerError, match="not as durably as configured; it was rolled back"):
                await producer.prepare("orders", batch(b"1"), 1)
            assert (scene.bodies(), scene.bodies(OP_HALF_TOPIC)) == ([], [b"0"])

    @pytest.mark.parametrize("brokers", [1, 2])
    async def test_they_go_round_all_queues(self, brokers: int) -> None:
        async with BatchScene(brokers=brokers) as scene:
            producer = await scene.producer()
            queues = await producer.queues("orders")
            assert len(queues) == 2 * brokers
            found = Counter[MessageQueue]()
            for _ in range(3 * len(queues)):
                [half] = await producer.prepare("orders", batch(b"1"), 1)
                found[MessageQueue("orders", half.broker_name, half.queue_id)] += 1
            assert found == dict.fromkeys(queues, 3)

    async def test_a_broker_that_is_away_is_passed_by(self) -> None:
        async with BatchScene(brokers=2) as scene:
            producer = await scene.producer()
            await producer.queues("orders")
            await scene.cluster.stop_broker(1)
            for _ in range(4):
                [half] = await producer.prepare("orders", batch(b"1"), 1)
                assert half.broker_name == "broker-a"
            # Refused, or gone from the route, which was asked for when it was refused before.
            queue = MessageQueue("orders", "broker-b", 0)
            with pytest.raises((ConnectError, RouteError), match=r"refused|broker-b of topic orders"):
                await scene.clock.finish(producer.prepare("orders", batch(b"1"), 1, queue=queue))
            assert len(scene.bodies(HALF_TOPIC)) == 4

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("orders", b"", 1), "is empty"),
            (("orders", batch(b"1"), 0), "count is 0; a half holds 1 to 32767"),
            (("orders", batch(b"1"), 32768), "count is 32768"),
            (("a b", batch(b"1"), 1), "topic"),
            (("%RETRY%g", batch(b"1"), 1), "cannot go in a batch"),
            (("orders", "text", 1), "is str, not bytes"),
            (("orders", batch(b"x" * 5000), 1), "4096 are allowed"),
        ],
    )
    async def test_bad_arguments(self, arguments: Any, words: str) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer(settings=ProducerSettings(body_bytes_max=4096))
            with pytest.raises(MessageError, match=words):
                await producer.prepare(*arguments)
            with pytest.raises(MessageError, match="property PGROUP belongs to the system"):
                await producer.prepare("orders", batch(b"1"), 1, properties={"PGROUP": "x"})
            with pytest.raises(MessageError, match="is not of topic orders"):
                await producer.prepare("orders", batch(b"1"), 1, queue=MessageQueue("u", "broker-a", 0))
            assert scene.bodies(HALF_TOPIC) == []

    async def test_what_the_broker_refuses(self) -> None:
        async with BatchScene(broker={"auto_create_topics": False}) as scene:
            producer = await scene.producer()
            with pytest.raises(AnswerError, match="holds 1 messages, its HALF_BATCH is 2") as caught:
                await producer.prepare("orders", batch(b"1"), 2)
            assert isinstance(caught.value, FixError)
            with pytest.raises(RouteError):
                await scene.finish(producer.prepare("absent", batch(b"1"), 1))
            with pytest.raises(FixError, match="outcome is UNKNOWN"):
                await producer.end([], UNKNOWN)
            await producer.stop()
            with pytest.raises(ClosedError):
                await producer.prepare("orders", batch(b"1"), 1)
            with pytest.raises(ClosedError):
                await producer.end([PreparedHalf("b", "orders", 0, 0, 0, "U", 1, True)], COMMIT)


class TestUnfinishedEnds:
    async def test_a_passing_fault_says_what_was_told(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            halves = [(await producer.prepare("orders", batch(b"%d" % n), 1))[0] for n in range(4)]
            serve, busy = scene.handlers()[EndTransaction.CODE], True

            def end(call: Call) -> Any:
                offset = decode_fields(call.frame.ext, EndTransaction).tran_state_table_offset
                if busy and offset in (1, 3):
                    raise Refusal(2 if offset == 1 else 1, "busy")
                return serve(call)

            scene.handlers()[EndTransaction.CODE] = end
            with pytest.raises(EndsUnfinished, match=r"2 of 4 halves were ended \(COMMIT\).*busy") as caught:
                await scene.clock.finish(producer.end(halves, COMMIT))
            assert caught.value.statuses == [DONE, None, DONE, EndStatus.UNCERTAIN]
            busy = False
            before, done = EndStatus.ENDED_BEFORE, DONE
            assert await producer.end(halves, COMMIT) == [before, done, before, done]
            assert sorted(scene.bodies()) == [b"0", b"1", b"2", b"3"]

    async def test_a_broker_that_is_away(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            halves = await producer.prepare("orders", batch(b"1", b"2"), 2)
            await scene.cluster.kill_broker()
            with pytest.raises(EndsUnfinished) as caught:
                await scene.clock.finish(producer.end(halves, COMMIT))
            assert caught.value.statuses == [None]
            await scene.cluster.start_broker()
            assert await producer.end(halves, COMMIT) == [DONE]
            assert scene.bodies() == [b"1", b"2"]

    async def test_a_restart_is_no_fault(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            halves = await producer.prepare("orders", batch(b"1", b"2"), 2)
            await scene.cluster.stop_broker()
            ending = asyncio.ensure_future(producer.end(halves, COMMIT))
            more = asyncio.ensure_future(producer.prepare("orders", batch(b"3"), 1))
            await scene.clock.aadvance(1.0)
            assert not ending.done()
            await scene.cluster.start_broker()
            assert await scene.clock.finish(ending) == [DONE]
            assert await producer.end(await scene.clock.finish(more), COMMIT) == [DONE]
            assert sorted(scene.bodies()) == [b"1", b"2", b"3"]

    async def test_a_refusal_for_good_is_no_passing_fault(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            halves = await producer.prepare("orders", batch(b"1"), 1)

            def end(call: Call) -> Any:
                raise Refusal(16, "no permission")

            scene.handlers()[EndTransaction.CODE] = end
            with pytest.raises(AnswerError, match="no permission") as caught:
                await producer.end(halves, COMMIT)
            assert isinstance(caught.value, FixError)


class TestOtherBrokers:
    async def test_single_halves_where_the_code_is_unknown(self) -> None:
        async with BatchScene() as scene:
            scene.forget_half_batches()
            producer = await scene.producer()
            bodies = [b"%d" % number for number in range(600)]
            queue = MessageQueue("orders", "broker-a", 1)
            halves = await producer.prepare(
                "orders", batch(*bodies), 600, properties={"job": "7"}, queue=queue
            )
            assert {(half.count, half.repeatable, half.queue_id) for half in halves} == {(1, False, 1)}
            assert len(halves) == len({half.transaction_id for half in halves}) == 600
            held = scene.stored(HALF_TOPIC)
            assert sorted(message.body for message in held) == sorted(bodies)
            assert {(m.tag, m.flag, m.properties["job"]) for m in held} == {("a", 7, "7")}
            assert await producer.end(halves, COMMIT) == [DONE] * 600
            assert sorted(scene.bodies()) == sorted(bodies)

    async def test_what_hooks_prepared_is_on_each_of_them(self) -> None:
        class Tenant(SendHook):
            def __init__(self) -> None:
                self.seen: list[Any] = []

            def prepare(self, operation: SendOperation) -> None:
                self.seen.append("prepare")
                operation.set_property("tenant", "acme")
                operation.extras["tries"] = 0

            def before(self, context: SendContext) -> None:
                context.extras["tries"] += 1  # type: ignore[operator]

            def after(self, context: SendContext) -> None:
                self.seen.append((context.messages[0].properties["tenant"], context.extras["tries"]))

            def finish(self, operation: SendOperation) -> None:
                self.seen.append(("finish", operation.result is not None, operation.error))

        async with BatchScene() as scene:
            hook = Tenant()
            scene.forget_half_batches()
            producer = await scene.producer(send_hooks=[hook])
            halves = await producer.prepare("orders", batch(b"1", b"2"), 2)
            # The first try is of the whole batch, which the broker does not know.
            assert hook.seen == ["prepare", ("acme", 1), ("acme", 2), ("acme", 2), ("finish", True, None)]
            assert await producer.end(halves, COMMIT) == [DONE, DONE]
            assert [message.properties["tenant"] for message in scene.stored()] == ["acme", "acme"]

    async def test_it_is_remembered_for_each_broker(self) -> None:
        async with BatchScene(brokers=2) as scene:
            scene.forget_half_batches(1)
            asked: list[int] = []
            for broker in range(2):
                serve = scene.handlers(broker)[SendMessageV2.CODE]

                def single(call: Call, broker: int = broker, serve: Any = serve) -> Any:
                    asked.append(broker)
                    return serve(call)

                scene.handlers(broker)[SendMessageV2.CODE] = single
            unknown = 0

            def count(call: Call) -> Any:
                nonlocal unknown
                unknown += 1
                raise Refusal(3, "request type 21320 not supported")

            scene.handlers(1)[SendHalfBatch.CODE] = count
            producer = await scene.producer()
            for _ in range(3):
                for name, wanted in (("broker-a", 1), ("broker-b", 2)):
                    halves = await producer.prepare(
                        "orders", batch(b"1", b"2"), 2, queue=MessageQueue("orders", name, 0)
                    )
                    assert len(halves) == wanted
                    assert await producer.end(halves, COMMIT) == [DONE] * wanted
            assert (asked, unknown) == ([1] * 6, 1)
            assert [m.body for m in scene.stored(broker=0)] == [b"1", b"2"] * 3
            assert sorted(m.body for m in scene.stored(broker=1)) == [b"1"] * 3 + [b"2"] * 3

    async def test_what_was_prepared_is_taken_back_when_one_fails(self) -> None:
        async with BatchScene() as scene:
            scene.forget_half_batches()
            serve = scene.handlers()[SendMessageV2.CODE]

            def single(call: Call) -> Any:
                if bytes(call.frame.body) == b"3":
                    raise Refusal(14, "disk full")
                return serve(call)

            scene.handlers()[SendMessageV2.CODE] = single
            producer = await scene.producer()
            with pytest.raises(AnswerError, match="disk full"):
                await scene.clock.finish(producer.prepare("orders", batch(b"1", b"2", b"3"), 3))
            await scene.happens(lambda: len(scene.bodies(OP_HALF_TOPIC)) == 2)
            assert scene.bodies() == []

    async def test_single_halves_do_not_move_to_another_broker(self) -> None:
        async with BatchScene(brokers=2) as scene:
            scene.forget_half_batches(1)
            producer = await scene.producer()
            for _ in range(4):
                await producer.prepare("orders", batch(b"1"), 1)
            await scene.cluster.stop_broker(1)
            brokers = []
            for _ in range(4):
                try:
                    halves = await scene.clock.finish(producer.prepare("orders", batch(b"1"), 1))
                    brokers += [half.broker_name for half in halves]
                except ConnectError:
                    brokers.append("")
            # A route that was asked for anew meanwhile has no queues of the broker that is gone.
            assert "" in brokers
            assert set(brokers) == {"", "broker-a"}

    @pytest.mark.parametrize(
        ("elements", "count", "words"),
        [
            (batch(b"1"), 2, "count is 2, the batch holds 1 messages"),
            (batch(b"1")[:-1], 1, "message 0 of the batch"),
            (encode_element(b"x", b"a\x01\xff\x02"), 1, "properties of a message of the batch"),
        ],
    )
    async def test_a_bad_batch_is_noticed_here(self, elements: bytes, count: int, words: str) -> None:
        async with BatchScene() as scene:
            scene.forget_half_batches()
            producer = await scene.producer()
            with pytest.raises(MessageError, match=words):
                await producer.prepare("orders", elements, count)
            assert scene.bodies(HALF_TOPIC) == []
