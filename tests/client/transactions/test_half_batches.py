"""Producers of batches that wait for their transaction, on brokers with and without half batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from mqframe import (
    AnswerError,
    AsyncBatchTransactionProducer,
    BatchTransactionProducer,
    ClosedError,
    ConnectError,
    EndStatus,
    EndsUnfinished,
    FixError,
    MessageError,
    MessageQueue,
    PreparedHalf,
    ReceivedMessage,
    RouteError,
    TransactionOutcome,
)
from mqframe.client.settings import ProducerSettings
from mqframe.core.batch import decode_batch, encode_element
from mqframe.core.errors import Refusal
from mqframe.core.record import decode_records
from mqframe.core.requests.messages import EndTransaction, SendHalfBatch
from mqframe.core.topics import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.net.call import Call, Reply
from mqframe.testing import Cluster
from mqframe.testing.cluster import AsyncCluster
from mqframe.testing.manual_clock import ManualClock

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
DONE = EndStatus.DONE
CHECK = 30.0


def batch(*bodies: bytes, tag: str = "a") -> bytes:
    return b"".join(encode_element(body, f"TAGS\x01{tag}\x02".encode(), 7) for body in bodies)


class Checks:
    """Says what the test says of each job, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ReceivedMessage] = []
        self.outcomes: dict[str, Any] = {}

    async def __call__(self, half: ReceivedMessage) -> Any:
        self.asked.append(half)
        return self.outcomes.get(half.properties.get("job", ""), UNKNOWN)

    async def say(self, half: ReceivedMessage) -> Any:
        return await self(half)

    def plainly(self, half: ReceivedMessage) -> Any:
        self.asked.append(half)
        outcome = self.outcomes.get(half.properties.get("job", ""), UNKNOWN)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class Scene:
    """A cluster with topic `orders` of two queues."""

    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.checks = Checks()
        self.producers: list[AsyncBatchTransactionProducer] = []

    async def producer(self, **options: Any) -> AsyncBatchTransactionProducer:
        options = {"check": self.checks.say, **options}
        made = AsyncBatchTransactionProducer(
            "load", nameserver=self.cluster.nameserver, clock=self.clock, **options
        )
        await made.start()
        self.producers.append(made)
        return made

    def handlers(self, broker: int = 0) -> dict[int, Any]:
        """The request handlers of a broker, to be changed."""
        found: dict[int, Any] = self.cluster.brokers[broker]._server._endpoint.handlers
        return found

    def forget_half_batches(self, broker: int = 0) -> None:
        """Have the broker answer 3 from now on, as Apache's does."""
        del self.handlers(broker)[SendHalfBatch.CODE]

    def stored(self, topic: str = "orders", broker: int = 0) -> list[ReceivedMessage]:
        store = self.cluster.brokers[broker].store
        return [
            message
            for queue_id in range(2)
            for part in store.get(topic, queue_id, 0, 1000, bytes_max=1 << 30).parts
            for message in decode_records(part)
        ]

    def bodies(self, topic: str = "orders") -> list[bytes]:
        return [message.body for message in self.stored(topic)]

    async def until(self, true: Callable[[], object]) -> None:
        for _ in range(500):
            if true():
                return
            await self.clock.aadvance(0)
            await asyncio.sleep(0.002)
        raise AssertionError("it did not happen in time")


@pytest.fixture
def play() -> Callable[..., None]:
    def run(scenario: Callable[[Scene], Awaitable[None]], brokers: int = 1, **options: Any) -> None:
        async def whole() -> None:
            clock = ManualClock()
            async with AsyncCluster(brokers, clock=clock, **options) as cluster:
                await cluster.create_topic("orders", 2)
                scene = Scene(cluster, clock)
                try:
                    await scenario(scene)
                finally:
                    for producer in scene.producers:
                        await producer.stop()

        asyncio.run(whole())

    return run


class TestHalves:
    def test_one_half_for_a_batch(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
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

        play(scenario)

    def test_many_in_flight(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
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

        play(scenario, store={"commit_log_file_bytes": 64 << 20})

    def test_not_found_after_all_was_lost(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            [half] = await producer.prepare("orders", batch(b"1"), 1)
            wrong = [
                msgspec.structs.replace(half, commit_log_offset=1 << 40),
                msgspec.structs.replace(half, queue_offset=9),
                half,
            ]
            assert await producer.end(wrong, COMMIT) == [EndStatus.NOT_FOUND, EndStatus.NOT_FOUND, DONE]

        play(scenario)

    def test_a_half_that_is_not_durable_is_rolled_back(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
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

        play(scenario)

    def test_a_broker_that_is_away_is_passed_by(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            await producer.queues("orders")
            await scene.cluster.stop_broker(1)
            for _ in range(4):
                [half] = await producer.prepare("orders", batch(b"1"), 1)
                assert half.broker_name == "broker-a"
            with pytest.raises(ConnectError):
                await producer.prepare("orders", batch(b"1"), 1, queue=MessageQueue("orders", "broker-b", 0))
            assert len(scene.bodies(HALF_TOPIC)) == 4

        play(scenario, brokers=2)

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
    def test_bad_arguments(self, play: Any, arguments: Any, words: str) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer(settings=ProducerSettings(body_bytes_max=4096))
            with pytest.raises(MessageError, match=words):
                await producer.prepare(*arguments)
            with pytest.raises(MessageError, match="property PGROUP belongs to the system"):
                await producer.prepare("orders", batch(b"1"), 1, properties={"PGROUP": "x"})
            with pytest.raises(MessageError, match="is not of topic orders"):
                await producer.prepare("orders", batch(b"1"), 1, queue=MessageQueue("u", "broker-a", 0))
            assert scene.bodies(HALF_TOPIC) == []

        play(scenario)

    def test_what_the_broker_refuses(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            with pytest.raises(AnswerError, match="holds 1 messages, its HALF_BATCH is 2") as caught:
                await producer.prepare("orders", batch(b"1"), 2)
            assert isinstance(caught.value, FixError)
            with pytest.raises(RouteError):
                await producer.prepare("absent", batch(b"1"), 1)
            with pytest.raises(FixError, match="outcome is UNKNOWN"):
                await producer.end([], UNKNOWN)
            await producer.stop()
            with pytest.raises(ClosedError):
                await producer.prepare("orders", batch(b"1"), 1)
            with pytest.raises(ClosedError):
                await producer.end([PreparedHalf("b", "orders", 0, 0, 0, "U", 1, True)], COMMIT)

        play(scenario, broker={"auto_create_topics": False})


class TestUnfinishedEnds:
    def test_a_passing_fault_says_what_was_told(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            halves = [(await producer.prepare("orders", batch(b"%d" % n), 1))[0] for n in range(4)]
            serve, busy = scene.handlers()[EndTransaction.CODE], True

            def end(call: Call) -> Any:
                if busy and call.fields(EndTransaction).tran_state_table_offset in (1, 3):
                    raise Refusal(
                        2 if call.fields(EndTransaction).tran_state_table_offset == 1 else 1, "busy"
                    )
                return serve(call)

            scene.handlers()[EndTransaction.CODE] = end
            with pytest.raises(EndsUnfinished, match=r"2 of 4 halves were ended \(COMMIT\).*busy") as caught:
                await producer.end(halves, COMMIT)
            assert caught.value.statuses == [DONE, None, DONE, EndStatus.UNCERTAIN]
            busy = False
            before, done = EndStatus.ENDED_BEFORE, DONE
            assert await producer.end(halves, COMMIT) == [before, done, before, done]
            assert sorted(scene.bodies()) == [b"0", b"1", b"2", b"3"]

        play(scenario)

    def test_a_broker_that_is_away(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            halves = await producer.prepare("orders", batch(b"1", b"2"), 2)
            await scene.cluster.kill_broker()
            with pytest.raises(EndsUnfinished) as caught:
                await producer.end(halves, COMMIT)
            assert caught.value.statuses == [None]
            await scene.cluster.start_broker()
            assert await producer.end(halves, COMMIT) == [DONE]
            assert scene.bodies() == [b"1", b"2"]

        play(scenario)

    def test_a_refusal_for_good_is_no_passing_fault(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            halves = await producer.prepare("orders", batch(b"1"), 1)

            def end(call: Call) -> Any:
                raise Refusal(16, "no permission")

            scene.handlers()[EndTransaction.CODE] = end
            with pytest.raises(AnswerError, match="no permission") as caught:
                await producer.end(halves, COMMIT)
            assert isinstance(caught.value, FixError)

        play(scenario)


class TestChecks:
    @pytest.mark.parametrize("face", ["say", "plainly"])
    def test_check_decides_also_for_what_this_producer_prepared(self, play: Any, face: str) -> None:
        async def scenario(scene: Scene) -> None:
            checks = scene.checks
            producer = await scene.producer(check=getattr(checks, face))
            for job in ("kept", "dropped", "open"):
                await producer.prepare("orders", batch(job.encode()), 1, properties={"job": job})
            checks.outcomes = {"kept": COMMIT, "dropped": ROLLBACK}
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: len(checks.asked) == 3 and scene.bodies())
            assert scene.bodies() == [b"kept"]
            assert sorted(half.properties["job"] for half in checks.asked) == ["dropped", "kept", "open"]
            assert [half.topic for half in checks.asked] == ["orders"] * 3
            assert [bytes(body) for _, body, _ in decode_batch(checks.asked[0].body)] == [b"kept"]
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: len(checks.asked) == 4)
            assert checks.asked[3].properties["job"] == "open"

        play(scenario)

    @pytest.mark.parametrize("wrong", [ValueError("no record"), "commit", None])
    def test_a_check_that_fails_is_asked_again(self, play: Any, wrong: Any) -> None:
        async def scenario(scene: Scene) -> None:
            checks = scene.checks
            producer = await scene.producer(check=checks.plainly)
            await producer.prepare("orders", batch(b"1"), 1, properties={"job": "j"})
            checks.outcomes = {"j": wrong}
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: len(checks.asked) == 1)
            assert scene.bodies() == []
            checks.outcomes = {"j": COMMIT}
            await scene.clock.aadvance(CHECK)
            await scene.until(scene.bodies)
            assert len(checks.asked) == 2

        play(scenario)

    def test_a_long_transaction_is_left_alone(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            [late] = await producer.prepare("orders", batch(b"late"), 1, check_after=75)
            await producer.prepare("orders", batch(b"open"), 1, check_after=75, properties={"job": "open"})
            await scene.clock.aadvance(2 * CHECK)
            await scene.clock.aadvance(16)
            assert scene.checks.asked == []
            assert len(scene.bodies(HALF_TOPIC)) == 2, "nothing was put back meanwhile"
            assert await producer.end([late], COMMIT) == [DONE], "also when its time is over"
            assert scene.bodies() == [b"late"]
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: scene.checks.asked)
            assert [half.properties["job"] for half in scene.checks.asked] == ["open"]
            with pytest.raises(MessageError, match="check_after is -1"):
                await producer.prepare("orders", batch(b"1"), 1, check_after=-1)

        play(scenario)

    def test_single_halves_end_at_any_time_too(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            scene.forget_half_batches()
            producer = await scene.producer()
            halves = await producer.prepare("orders", batch(b"1"), 1, check_after=1)
            await scene.clock.aadvance(8)
            assert await producer.end(halves, COMMIT) == [DONE]

        play(scenario)

    def test_a_process_that_only_answers(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            dead = await scene.producer()
            await dead.prepare("orders", batch(b"1", b"2"), 2, properties={"job": "j"})
            await dead.stop()
            checks = Checks()
            checks.outcomes = {"j": COMMIT}
            living = await scene.producer(check=checks.say)
            await living.queues("orders")
            await scene.until(lambda: scene.cluster.broker._state.clients.producers.get("load"))
            await scene.clock.aadvance(CHECK)
            await scene.until(scene.bodies)
            assert scene.bodies() == [b"1", b"2"]
            assert scene.checks.asked == []

        play(scenario)


class TestOtherBrokers:
    def test_single_halves_where_the_code_is_unknown(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
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

        play(scenario)

    def test_it_is_remembered_for_each_broker(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            scene.forget_half_batches(1)
            asked: list[int] = []
            for broker in range(2):
                serve = scene.handlers(broker)[310]

                def single(call: Call, broker: int = broker, serve: Any = serve) -> Any:
                    asked.append(broker)
                    return serve(call)

                scene.handlers(broker)[310] = single
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

        play(scenario, brokers=2)

    def test_what_was_prepared_is_taken_back_when_one_fails(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            scene.forget_half_batches()
            serve = scene.handlers()[310]

            def single(call: Call) -> Any:
                if bytes(call.frame.body) == b"3":
                    raise Refusal(14, "disk full")
                return serve(call)

            scene.handlers()[310] = single
            producer = await scene.producer()
            with pytest.raises(AnswerError, match="disk full"):
                await producer.prepare("orders", batch(b"1", b"2", b"3"), 3)
            await scene.until(lambda: len(scene.bodies(OP_HALF_TOPIC)) == 2)
            assert scene.bodies() == []

        play(scenario)

    def test_single_halves_do_not_move_to_another_broker(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            scene.forget_half_batches(1)
            producer = await scene.producer()
            for _ in range(4):
                await producer.prepare("orders", batch(b"1"), 1)
            await scene.cluster.stop_broker(1)
            brokers = []
            for _ in range(4):
                try:
                    brokers += [half.broker_name for half in await producer.prepare("orders", batch(b"1"), 1)]
                except ConnectError:
                    brokers.append("")
            assert sorted(brokers) == ["", "", "broker-a", "broker-a"]

        play(scenario, brokers=2)

    @pytest.mark.parametrize(
        ("elements", "count", "words"),
        [
            (batch(b"1"), 2, "count is 2, the batch holds 1 messages"),
            (batch(b"1")[:-1], 1, "message 0 of the batch"),
            (encode_element(b"x", b"a\x01\xff\x02"), 1, "properties of a message of the batch"),
        ],
    )
    def test_a_bad_batch_is_noticed_here(self, play: Any, elements: bytes, count: int, words: str) -> None:
        async def scenario(scene: Scene) -> None:
            scene.forget_half_batches()
            producer = await scene.producer()
            with pytest.raises(MessageError, match=words):
                await producer.prepare("orders", elements, count)
            assert scene.bodies(HALF_TOPIC) == []

        play(scenario)


class TestBlockingFace:
    def test_threads_share_it(self) -> None:
        outcomes = {"kept": COMMIT}
        with Cluster(broker={"transaction_timeout_ms": 100, "transaction_check_interval_ms": 50}) as cluster:
            cluster.create_topic("orders", 2)
            asked = threading.Event()

            def check(half: ReceivedMessage) -> TransactionOutcome:
                asked.set()
                return outcomes.get(half.properties.get("job", ""), UNKNOWN)

            producer = BatchTransactionProducer("load", nameserver=cluster.nameserver, check=check)
            with pytest.raises(ClosedError, match="is not running"):
                producer.prepare("orders", batch(b"1"), 1)
            with producer:
                assert producer.group == "load"
                assert producer.client_id
                assert len(producer.queues("orders")) == 2
                waiting = [producer.submit("orders", batch(b"%d" % n, b"x"), 2) for n in range(20)]
                halves = [half for future in waiting for half in future.result(20)]
                assert producer.end(halves, COMMIT) == [DONE] * 20
                assert producer.end(iter(halves), COMMIT) == [EndStatus.ENDED_BEFORE] * 20
                producer.prepare("orders", batch(b"kept"), 1, properties={"job": "kept"})
                assert asked.wait(20)
                with pytest.raises(MessageError):
                    producer.prepare("orders", b"", 1)

                async def kept() -> bool:
                    store = cluster.broker.store
                    parts = [part for queue in (0, 1) for part in store.get("orders", queue, 0, 100).parts]
                    found = [message.body for part in parts for message in decode_records(part)]
                    return sorted(found) == sorted([b"kept", *[b"%d" % n for n in range(20)], *[b"x"] * 20])

                for _ in range(500):
                    if cluster.run(kept()):
                        break
                    threading.Event().wait(0.02)
                else:
                    pytest.fail("the check's answer was not heard")
            producer.stop()
            with pytest.raises(ClosedError):
                producer.end([], COMMIT)
            with pytest.raises(ClosedError, match="was stopped"):
                producer.start()
