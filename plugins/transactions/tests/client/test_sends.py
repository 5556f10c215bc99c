"""Half messages and their ends: what is sent once, what a block says, what becomes of failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_transactions.client.sends import end_request, half_properties, not_durable, prepared_half
from mqframe_transactions.rules.half_batch import PreparedHalf
from mqframe_transactions.settings import TransactionSettings
from transaction_scenes import CHECK, Listener, TransactionScene

from mqframe.core.errors import AnswerError, CallTimeout, ClosedError, FixError, MessageError, RouteError
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.requests.messages import EndTransaction
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.storage.outcome import Outcome
from mqframe.hooks.interfaces import Forbidden, ForbiddenHook, SendHook, TransactionEnd

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN


class TestBlocks:
    async def test_the_end_of_the_block_commits_an_exception_rolls_back(self) -> None:
        async with TransactionScene() as scene:
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
            await scene.happens(lambda: len(scene.bodies()) == 2)
            for _ in range(2):
                await scene.clock.aadvance(CHECK)
            assert scene.bodies() == [b"done", b"after all"]
            assert len(scene.bodies(HALF_TOPIC)) == 4, "nobody had to be asked"

    async def test_unknown_and_in_doubt_leave_it_open(self) -> None:
        async with TransactionScene() as scene:
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
            await scene.happens(lambda: len(scene.bodies()) == 3)
            assert sorted(half.body for half in listener.asked) == [b"1", b"2", b"3"]

    async def test_an_end_that_got_lost_is_given_again_without_a_listener(self) -> None:
        async with TransactionScene() as scene:
            producer = await scene.producer()

            async def transaction() -> None:
                async with producer.transaction(Message("orders", b"x")):
                    await scene.cluster.kill_broker()

            await scene.clock.finish(transaction())
            assert scene.cluster.running == [False]
            await scene.cluster.start_broker()
            await scene.clock.aadvance(30.0)  # the next heartbeat
            await scene.clock.aadvance(CHECK)
            await scene.happens(scene.bodies)
            assert scene.bodies() == [b"x"]

    async def test_a_restart_is_no_fault(self) -> None:
        async with TransactionScene() as scene:
            producer = await scene.producer()

            async def transaction(body: bytes) -> None:
                async with producer.transaction(Message("orders", body)):
                    begun.set()
                    await over.wait()

            begun, over = asyncio.Event(), asyncio.Event()
            first = asyncio.ensure_future(transaction(b"x"))
            await begun.wait()
            await scene.cluster.stop_broker()
            second = asyncio.ensure_future(transaction(b"y"))
            over.set()
            await scene.clock.aadvance(1.0)
            assert (first.done(), second.done()) == (False, False)
            await scene.cluster.start_broker()
            await scene.clock.finish(first)
            await scene.clock.finish(second)
            await scene.happens(lambda: len(scene.bodies()) == 2)
            assert sorted(scene.bodies()) == [b"x", b"y"]

    async def test_without_a_listener_a_strangers_transaction_stays_open(self) -> None:
        async with TransactionScene() as scene:
            producer = await scene.producer()
            async with producer.transaction(Message("orders", b"x")) as transaction:
                transaction.unknown()
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            await scene.clock.aadvance(CHECK)
            assert (scene.bodies(), len(scene.bodies(HALF_TOPIC))) == ([], 3)

    async def test_a_block_is_for_one_transaction(self) -> None:
        async with TransactionScene() as scene:
            transaction = (await scene.producer()).transaction(Message("orders", b"x"))
            async with transaction:
                pass
            with pytest.raises(ClosedError, match="has begun before"):
                async with transaction:
                    raise AssertionError("the block must not begin")
            await scene.happens(scene.bodies)
            assert scene.bodies(HALF_TOPIC) == [b"x"]

    async def test_a_block_that_did_not_begin_has_nothing_to_tell(self) -> None:
        async with TransactionScene() as scene:
            transaction = (await scene.producer()).transaction(Message("orders", b"x"))
            with pytest.raises(ClosedError, match="has not begun"):
                transaction.transaction_id  # noqa: B018


class TestSends:
    async def test_a_half_is_sent_once_and_hooks_see_it(self) -> None:
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

        async with TransactionScene(sections=[TransactionSettings(reject=True)]) as scene:
            watching, listener = Watching(), Listener()
            producer = await scene.producer(listener, send_hooks=[watching], forbidden_hooks=[Forbids()])
            with pytest.raises(Forbidden):
                await producer.send_in_transaction(Message("orders", b"secret"))
            with pytest.raises(AnswerError) as caught:
                await producer.send_in_transaction(Message("orders", b"x"))
            assert caught.value.code == 16
            assert watching.seen == [(b"x", "true", type(caught.value))], "16 is tried again for other sends"
            assert listener.executed == []

    async def test_stored_but_not_durable_is_a_rollback(self, monkeypatch: Any) -> None:
        async with TransactionScene(store={"flush": "SYNC_FLUSH"}) as scene:
            listener = Listener()
            producer = await scene.producer(listener)
            await producer.queues("orders")
            store = scene.cluster.broker.store
            real = store.confirming.when_decided
            monkeypatch.setattr(
                store.confirming, "when_decided", lambda end, callback: callback(Outcome.NOT_ON_DISK)
            )
            result = await producer.send_in_transaction(Message("orders", b"x"))
            assert (result.status, result.outcome) == (SendStatus.FLUSH_DISK_TIMEOUT, ROLLBACK)
            with pytest.raises(AnswerError, match="it was rolled back"):
                async with producer.transaction(Message("orders", b"y")):
                    raise AssertionError("the block must not begin")
            monkeypatch.setattr(store.confirming, "when_decided", real)
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            assert (listener.executed, listener.asked, scene.bodies()) == ([], [], [])

    async def test_a_half_whose_send_failed_is_rolled_back_when_asked_for(self, monkeypatch: Any) -> None:
        async with TransactionScene(store={"flush": "SYNC_FLUSH"}) as scene:
            listener = Listener()
            producer = await scene.producer(listener)
            await producer.queues("orders")
            store = scene.cluster.broker.store
            real = store.confirming.when_decided
            monkeypatch.setattr(store.confirming, "when_decided", lambda end, callback: None)
            sending = asyncio.ensure_future(
                producer.send_in_transaction(Message("orders", b"x"), timeout=1.0)
            )
            await scene.settle()
            await scene.clock.aadvance(2)
            with pytest.raises(CallTimeout):
                await sending
            monkeypatch.setattr(store.confirming, "when_decided", real)
            real(store.log.max_offset, lambda durable: None)
            await scene.happens(lambda: scene.bodies(HALF_TOPIC))
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: scene.bodies(OP_HALF_TOPIC))
            assert (listener.executed, listener.asked, scene.bodies()) == ([], [], [])

    async def test_check_after_is_for_those_that_take_long(self) -> None:
        async with TransactionScene() as scene:
            listener = Listener(UNKNOWN)
            producer = await scene.producer(listener)
            await producer.send_in_transaction(Message("orders", b"slow"), check_after=75)
            await scene.settle()
            await scene.clock.aadvance(2 * CHECK)
            assert listener.asked == []
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: listener.asked)
            for wrong in (-1, float("inf"), float("nan")):
                with pytest.raises(MessageError, match="check_after"):
                    await producer.send_in_transaction(Message("orders", b"x"), check_after=wrong)

    async def test_what_cannot_be_sent_does_nothing(self) -> None:
        async with TransactionScene(broker={"auto_create_topics": False}) as scene:
            listener = Listener()
            producer = await scene.producer(listener)
            with pytest.raises(MessageError):
                await producer.send_in_transaction(Message("orders", b""))
            with pytest.raises(RouteError):
                await scene.finish(producer.send_in_transaction(Message("absent", b"x")))
            assert listener.executed == []
            silent = await scene.producer()
            with pytest.raises(FixError, match="needs a listener"):
                await silent.send_in_transaction(Message("orders", b"x"))
            await silent.stop()
            with pytest.raises(ClosedError):
                silent.transaction(Message("orders", b"x"))


def sent(**changes: Any) -> SendResult:
    queue = MessageQueue("orders", "broker-b", 3)
    values = {"offset_message_id": "0A000001000078FC00000000000002BC", "transaction_id": "T"}
    status = changes.pop("status", SendStatus.SEND_OK)
    return SendResult(status, "M", queue, 5, **(values | changes))


class TestRequests:
    def test_a_stored_half_is_named_by_its_offsets(self) -> None:
        assert prepared_half(sent(), "orders", 7, repeatable=True) == PreparedHalf(
            "broker-b", "orders", 3, 5, 700, "T", 7, True
        )
        assert prepared_half(sent(transaction_id=""), "orders", 1).transaction_id == "M"
        with pytest.raises(FixError):
            prepared_half(sent(offset_message_id="no id"), "orders", 1)

    @pytest.mark.parametrize("outcome", [COMMIT, ROLLBACK, UNKNOWN])
    def test_its_end_names_the_same(self, outcome: TransactionOutcome) -> None:
        assert end_request("shop", prepared_half(sent(), "orders", 1), outcome) == EndTransaction(
            producer_group="shop", tran_state_table_offset=5, commit_log_offset=700,
            commit_or_rollback=outcome.value, msg_id="T", topic="orders", from_transaction_check=False,
            transaction_id="T", bname="broker-b",
        )  # fmt: skip

    @pytest.mark.parametrize(("seconds", "text"), [(0, "0"), (7, "7"), (7.2, "8")])
    def test_a_half_says_of_whom_it_is_and_when_to_ask_first(self, seconds: float, text: str) -> None:
        own = {"TRAN_MSG": "true", "PGROUP": "shop"}
        assert half_properties("shop") == own
        wanted = {**own, "CHECK_IMMUNITY_TIME_IN_SECONDS": text}
        assert half_properties("shop", seconds) == wanted

    def test_a_half_that_is_not_durable_is_an_error_of_its_broker(self) -> None:
        problem = not_durable(sent(status=SendStatus.FLUSH_DISK_TIMEOUT))
        assert (problem.code, problem.address) == (SendStatus.FLUSH_DISK_TIMEOUT.value, "broker-b")


class Ends(SendHook):
    """Keeps the ends that it is shown, and fails then."""

    def __init__(self) -> None:
        self.seen: list[TransactionEnd] = []

    def transaction_ended(self, end: TransactionEnd) -> None:
        self.seen.append(end)
        raise OSError("the hook's own fault")


async def test_hooks_are_shown_each_end_and_their_errors_do_no_harm() -> None:
    async with TransactionScene() as scene:
        ends = Ends()
        producer = await scene.producer(Listener(checked=COMMIT), send_hooks=[ends])
        async with producer.transaction(Message("orders", b"1", "paid", ["k"])) as first:
            pass
        async with producer.transaction(Message("orders", b"2", "paid", ["k"])) as second:
            second.unknown()
        await scene.happens(lambda: scene.bodies() == [b"1"])
        for _ in range(2):
            await scene.clock.aadvance(CHECK)
        await scene.happens(lambda: scene.bodies() == [b"1", b"2"])
        names = [first.transaction_id, second.transaction_id, second.transaction_id]
        assert [each.transaction_id for each in ends.seen] == [each.message_id for each in ends.seen] == names
        assert [(each.outcome, each.from_check) for each in ends.seen] == [
            (COMMIT, False), (UNKNOWN, False), (COMMIT, True),
        ]  # fmt: skip
        for each in ends.seen:
            assert (each.group, each.region_id, each.trace_on) == ("shop", "DefaultRegion", True)
            assert (each.message.topic, each.message.tag, each.message.keys) == ("orders", "paid", ["k"])
            assert each.broker_address == scene.cluster.broker.address
