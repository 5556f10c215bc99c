"""Producers that take part in transactions, on a broker in this process and a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mqframe.client.admin import AsyncAdmin
from mqframe.client.transaction_listener import HalfMessage, TransactionListener
from mqframe.client.transaction_producer import AsyncTransactionProducer
from mqframe.core.errors import AnswerError, CallTimeout, ClosedError, FixError, MessageError, RouteError
from mqframe.core.message import Message, ReceivedMessage, SendStatus
from mqframe.core.record import decode_records
from mqframe.core.topics import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.transaction_outcome import TransactionOutcome
from mqframe.hooks.interfaces import Forbidden, ForbiddenHook, SendHook
from mqframe.testing.cluster import AsyncCluster
from mqframe.testing.manual_clock import ManualClock

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
CHECK = 30.0


class Listener(TransactionListener):
    """Does what the test says, and remembers what it was asked."""

    def __init__(self, done: Any = COMMIT, checked: Any = COMMIT) -> None:
        self.done = done
        self.checked = checked
        self.executed: list[tuple[HalfMessage, Any]] = []
        self.asked: list[ReceivedMessage] = []

    async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> Any:
        self.executed.append((message, arg))
        if isinstance(self.done, BaseException):
            raise self.done
        return self.done

    async def check_local_transaction(self, message: ReceivedMessage) -> Any:
        self.asked.append(message)
        if isinstance(self.checked, BaseException):
            raise self.checked
        return self.checked


class PlainListener(TransactionListener):
    """One that is called in threads."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def execute_local_transaction(self, message: HalfMessage, arg: Any) -> TransactionOutcome:
        outcome: TransactionOutcome = arg
        return outcome

    def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.asked.append(message.transaction_id)
        return COMMIT


class Scene:
    """A cluster with topic `orders` of one queue."""

    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.producers: list[AsyncTransactionProducer] = []

    async def producer(
        self, listener: TransactionListener | None = None, **options: Any
    ) -> AsyncTransactionProducer:
        made = AsyncTransactionProducer(
            "shop", listener, nameserver=self.cluster.nameserver, clock=self.clock, **options
        )
        await made.start()
        self.producers.append(made)
        return made

    def bodies(self, topic: str = "orders") -> list[bytes]:
        found = self.cluster.broker.store.get(topic, 0, 0, 100)
        return [message.body for part in found.parts for message in decode_records(part)]

    async def until(self, true: Callable[[], object]) -> None:
        for _ in range(500):
            if true():
                return
            await self.clock.aadvance(0)
            await asyncio.sleep(0.002)
        raise AssertionError("it did not happen in time")

    async def settle(self) -> None:
        for _ in range(5):
            await self.clock.aadvance(0)
            await asyncio.sleep(0.001)


@pytest.fixture
def play() -> Callable[..., None]:
    def run(scenario: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
        async def whole() -> None:
            clock = ManualClock()
            async with AsyncCluster(clock=clock, **options) as cluster:
                await cluster.create_topic("orders", 1)
                scene = Scene(cluster, clock)
                try:
                    await scenario(scene)
                finally:
                    for producer in scene.producers:
                        await producer.stop()

        asyncio.run(whole())

    return run


class TestListeners:
    def test_commit_and_rollback(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener(COMMIT)
            producer = await scene.producer(listener)
            message = Message("orders", b"paid", tag="t", keys=["k"], properties={"a": "b"})
            result = await producer.send_in_transaction(message, {"order": 1})
            assert (result.status, result.outcome, result.error) == (SendStatus.SEND_OK, COMMIT, None)
            [(half, arg)] = listener.executed
            assert (half.body, half.tag, half.properties, arg) == (b"paid", "t", {"a": "b"}, {"order": 1})
            assert half.transaction_id == result.message_id == result.transaction_id
            listener.done = ROLLBACK
            assert (await producer.send_in_transaction(Message("orders", b"not paid"))).outcome is ROLLBACK
            await scene.until(scene.bodies)
            await scene.settle()
            assert scene.bodies() == [b"paid"]
            assert scene.bodies(HALF_TOPIC) == [b"paid", b"not paid"]
            await scene.clock.aadvance(3 * CHECK)
            assert listener.asked == []

        play(scenario)

    @pytest.mark.parametrize("done", [UNKNOWN, ValueError("no such order"), "commit", None])
    def test_whatever_else_it_says_has_it_asked(self, play: Any, done: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener(done, ValueError("database is away"))
            producer = await scene.producer(listener)
            result = await producer.send_in_transaction(Message("orders", b"x"))
            assert result.outcome is UNKNOWN
            assert result.error is (done if isinstance(done, Exception) else None)
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: len(listener.asked) == 1)
            assert scene.bodies() == []
            listener.checked = COMMIT
            await scene.clock.aadvance(CHECK)
            await scene.until(scene.bodies)
            assert [half.transaction_id for half in listener.asked] == [result.transaction_id] * 2
            assert (listener.asked[0].topic, listener.asked[0].body) == ("orders", b"x")
            await scene.clock.aadvance(CHECK)
            assert (scene.bodies(), len(listener.asked)) == ([b"x"], 2)

        play(scenario)

    def test_a_plain_listener_is_called_in_threads(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = PlainListener()
            producer = await scene.producer(listener)
            assert (await producer.send_in_transaction(Message("orders", b"1"), COMMIT)).outcome is COMMIT
            sent = await producer.send_in_transaction(Message("orders", b"2"), UNKNOWN)
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: len(scene.bodies()) == 2)
            assert listener.asked == [sent.message_id]

        play(scenario)

    def test_while_it_is_under_way_nobody_decides_it(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            may_end = asyncio.Event()

            class Slow(Listener):
                async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> Any:
                    await may_end.wait()
                    return COMMIT

            listener = Slow(checked=ROLLBACK)
            producer = await scene.producer(listener)
            sending = asyncio.ensure_future(producer.send_in_transaction(Message("orders", b"x")))
            await scene.until(lambda: scene.bodies(HALF_TOPIC))
            await scene.settle()
            for _ in range(3):
                await scene.clock.aadvance(CHECK)
            assert len(scene.bodies(HALF_TOPIC)) == 4, "it was asked for three times"
            assert listener.asked == []
            may_end.set()
            assert (await sending).outcome is COMMIT
            await scene.until(scene.bodies)

        play(scenario)

    def test_a_cancelled_one_is_left_to_the_listener(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            class Endless(Listener):
                async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> Any:
                    await asyncio.Event().wait()

            listener = Endless(checked=ROLLBACK)
            producer = await scene.producer(listener)
            sending = asyncio.ensure_future(producer.send_in_transaction(Message("orders", b"x")))
            await scene.until(lambda: scene.bodies(HALF_TOPIC))
            await scene.settle()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: listener.asked)

        play(scenario)

    def test_another_producer_of_the_group_answers_for_a_dead_one(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            other = Listener(checked=COMMIT)
            survivor = await scene.producer(other)
            await survivor.queues("orders")
            dead = await scene.producer(Listener(UNKNOWN))
            await dead.send_in_transaction(Message("orders", b"left behind"))
            await scene.settle()
            await dead.stop()
            await scene.clock.aadvance(CHECK)
            await scene.until(scene.bodies)
            assert [half.body for half in other.asked] == [b"left behind"]

        play(scenario)


class TestBlocks:
    def test_the_end_of_the_block_commits_an_exception_rolls_back(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            async with producer.transaction(Message("orders", b"done")) as transaction:
                assert transaction.message.body == b"done"
                assert transaction.transaction_id == transaction.sent.message_id
                assert scene.bodies() == []
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction(Message("orders", b"failed")):
                    1 / 0  # noqa: B018
            async with producer.transaction(Message("orders", b"taken back")) as transaction:
                transaction.rollback()
            async with producer.transaction(Message("orders", b"after all")) as transaction:
                transaction.rollback()
                transaction.commit()
            await scene.until(lambda: len(scene.bodies()) == 2)
            for _ in range(2):
                await scene.clock.aadvance(CHECK)
            assert scene.bodies() == [b"done", b"after all"]
            assert len(scene.bodies(HALF_TOPIC)) == 4, "nobody had to be asked"

        play(scenario)

    def test_unknown_and_in_doubt_leave_it_open(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener(checked=COMMIT)
            producer = await scene.producer(listener)
            async with producer.transaction(Message("orders", b"1")) as transaction:
                transaction.unknown()
            with pytest.raises(OSError, match="away"):  # noqa: PT012 - the block is what is tested
                async with producer.transaction(Message("orders", b"2")) as transaction:
                    transaction.unknown()
                    raise OSError("away")
            with pytest.raises(OSError, match="away"):  # noqa: PT012 - the block is what is tested
                async with producer.transaction(Message("orders", b"3")) as transaction:
                    transaction.in_doubt()
                    raise OSError("away")
            await scene.settle()
            assert scene.bodies() == []
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: len(scene.bodies()) == 3)
            assert sorted(half.body for half in listener.asked) == [b"1", b"2", b"3"]

        play(scenario)

    def test_an_end_that_got_lost_is_given_again_without_a_listener(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            async with producer.transaction(Message("orders", b"x")):
                await scene.cluster.kill_broker()
            assert scene.cluster.running == [False]
            await scene.cluster.start_broker()
            await producer.instance.heartbeat_now()
            await scene.clock.aadvance(CHECK)
            await scene.until(scene.bodies)
            assert scene.bodies() == [b"x"]

        play(scenario)

    def test_without_a_listener_a_strangers_transaction_stays_open(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            producer = await scene.producer()
            async with producer.transaction(Message("orders", b"x")) as transaction:
                transaction.unknown()
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            await scene.clock.aadvance(CHECK)
            assert (scene.bodies(), len(scene.bodies(HALF_TOPIC))) == ([], 3)

        play(scenario)

    def test_a_block_is_for_one_transaction(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            transaction = (await scene.producer()).transaction(Message("orders", b"x"))
            async with transaction:
                pass
            with pytest.raises(ClosedError, match="has begun before"):
                async with transaction:
                    raise AssertionError("the block must not begin")
            await scene.until(scene.bodies)
            assert scene.bodies(HALF_TOPIC) == [b"x"]

        play(scenario)

    def test_a_block_that_did_not_begin_has_nothing_to_tell(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            transaction = (await scene.producer()).transaction(Message("orders", b"x"))
            with pytest.raises(ClosedError, match="has not begun"):
                transaction.transaction_id  # noqa: B018

        play(scenario)


class TestSends:
    def test_a_half_is_sent_once_and_hooks_see_it(self, play: Any) -> None:
        class Watching(SendHook):
            def __init__(self) -> None:
                self.seen: list[tuple[bytes, Any, Any]] = []

            def after(self, context: Any) -> None:
                [half] = context.messages
                self.seen.append((half.body, half.properties["TRAN_MSG"], type(context.error)))

        class Forbids(ForbiddenHook):
            def check(self, context: Any) -> None:
                if context.message.body == b"secret":
                    raise Forbidden("not this one")

        async def scenario(scene: Scene) -> None:
            watching, listener = Watching(), Listener()
            producer = await scene.producer(listener, send_hooks=[watching], forbidden_hooks=[Forbids()])
            with pytest.raises(Forbidden):
                await producer.send_in_transaction(Message("orders", b"secret"))
            with pytest.raises(AnswerError) as caught:
                await producer.send_in_transaction(Message("orders", b"x"))
            assert caught.value.code == 16
            assert watching.seen == [(b"x", "true", type(caught.value))], "16 is tried again for other sends"
            assert listener.executed == []

        play(scenario, broker={"reject_transactions": True})

    def test_stored_but_not_durable_is_a_rollback(self, play: Any, monkeypatch: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener()
            producer = await scene.producer(listener)
            await producer.queues("orders")
            store = scene.cluster.broker.store
            real = store.when_confirmed
            monkeypatch.setattr(store, "when_confirmed", lambda end, callback: callback(False))
            result = await producer.send_in_transaction(Message("orders", b"x"))
            assert (result.status, result.outcome) == (SendStatus.FLUSH_DISK_TIMEOUT, ROLLBACK)
            with pytest.raises(AnswerError, match="it was rolled back"):
                async with producer.transaction(Message("orders", b"y")):
                    raise AssertionError("the block must not begin")
            monkeypatch.setattr(store, "when_confirmed", real)
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            assert (listener.executed, listener.asked, scene.bodies()) == ([], [], [])

        play(scenario, store={"flush": "SYNC_FLUSH"})

    def test_a_half_whose_send_failed_is_rolled_back_when_asked_for(
        self, play: Any, monkeypatch: Any
    ) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener()
            producer = await scene.producer(listener)
            await producer.queues("orders")
            store = scene.cluster.broker.store
            real = store.when_confirmed
            monkeypatch.setattr(store, "when_confirmed", lambda end, callback: None)
            sending = asyncio.ensure_future(
                producer.send_in_transaction(Message("orders", b"x"), timeout=1.0)
            )
            await scene.settle()
            await scene.clock.aadvance(2)
            with pytest.raises(CallTimeout):
                await sending
            monkeypatch.setattr(store, "when_confirmed", real)
            real(store.max_offset, lambda durable: None)
            await scene.until(lambda: scene.bodies(HALF_TOPIC))
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: scene.bodies(OP_HALF_TOPIC))
            assert (listener.executed, listener.asked, scene.bodies()) == ([], [], [])

        play(scenario, store={"flush": "SYNC_FLUSH"})

    def test_check_after_is_for_those_that_take_long(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener(UNKNOWN)
            producer = await scene.producer(listener)
            await producer.send_in_transaction(Message("orders", b"slow"), check_after=75)
            await scene.settle()
            await scene.clock.aadvance(2 * CHECK)
            assert listener.asked == []
            await scene.clock.aadvance(CHECK)
            await scene.until(lambda: listener.asked)
            for wrong in (-1, float("inf"), float("nan")):
                with pytest.raises(MessageError, match="check_after"):
                    await producer.send_in_transaction(Message("orders", b"x"), check_after=wrong)

        play(scenario)

    def test_what_cannot_be_sent_does_nothing(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener()
            producer = await scene.producer(listener)
            with pytest.raises(MessageError):
                await producer.send_in_transaction(Message("orders", b""))
            with pytest.raises(RouteError):
                await producer.send_in_transaction(Message("absent", b"x"))
            assert listener.executed == []
            silent = await scene.producer()
            with pytest.raises(FixError, match="needs a listener"):
                await silent.send_in_transaction(Message("orders", b"x"))
            await silent.stop()
            with pytest.raises(ClosedError):
                silent.transaction(Message("orders", b"x"))

        play(scenario, broker={"auto_create_topics": False})


class TestAdmin:
    def test_what_was_given_up_is_asked_for_again(self, play: Any) -> None:
        async def scenario(scene: Scene) -> None:
            listener = Listener(UNKNOWN, UNKNOWN)
            producer = await scene.producer(listener)
            sent = await producer.send_in_transaction(Message("orders", b"x"))
            await scene.settle()
            for _ in range(3):
                await scene.clock.aadvance(CHECK)
            assert len(listener.asked) == 2
            listener.checked = COMMIT
            store = scene.cluster.broker.store
            [given_up] = [
                message
                for part in store.get(CHECK_MAX_TIME_TOPIC, 0, 0, 9).parts
                for message in decode_records(part)
            ]
            async with AsyncAdmin(nameserver=scene.cluster.nameserver) as admin:
                with pytest.raises(AnswerError, match="has ended"):
                    await admin.resume_transaction(sent.offset_message_id)
                with pytest.raises(FixError, match="32 or 56"):
                    await admin.resume_transaction("x")
                await admin.resume_transaction(given_up.offset_message_id)
            await scene.clock.aadvance(CHECK)
            await scene.until(scene.bodies)
            assert (scene.bodies(), len(listener.asked)) == ([b"x"], 3)

        play(scenario, broker={"transaction_check_max": 2})
