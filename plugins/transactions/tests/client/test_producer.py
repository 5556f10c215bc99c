"""Producers that take part in transactions, on a broker in this process and a clock that stands still."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_transactions.client.listener import HalfMessage
from mqframe_transactions.settings import TransactionSettings
from transaction_scenes import CHECK, Listener, PlainListener, TransactionScene

from mqframe import AsyncAdmin
from mqframe.core.errors import AnswerError, FixError
from mqframe.core.messages.message import Message, SendStatus
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.storage.record import decode_records

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN


class TestListeners:
    async def test_commit_and_rollback(self) -> None:
        async with TransactionScene() as scene:
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
            await scene.happens(scene.bodies)
            await scene.settle()
            assert scene.bodies() == [b"paid"]
            assert scene.bodies(HALF_TOPIC) == [b"paid", b"not paid"]
            await scene.clock.aadvance(3 * CHECK)
            assert listener.asked == []

    @pytest.mark.parametrize("done", [UNKNOWN, ValueError("no such order"), "commit", None])
    async def test_whatever_else_it_says_has_it_asked(self, done: Any) -> None:
        async with TransactionScene() as scene:
            listener = Listener(done, ValueError("database is away"))
            producer = await scene.producer(listener)
            result = await producer.send_in_transaction(Message("orders", b"x"))
            assert result.outcome is UNKNOWN
            assert result.error is (done if isinstance(done, Exception) else None)
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: len(listener.asked) == 1)
            assert scene.bodies() == []
            listener.checked = COMMIT
            await scene.clock.aadvance(CHECK)
            await scene.happens(scene.bodies)
            assert [half.transaction_id for half in listener.asked] == [result.transaction_id] * 2
            assert (listener.asked[0].topic, listener.asked[0].body) == ("orders", b"x")
            await scene.clock.aadvance(CHECK)
            assert (scene.bodies(), len(listener.asked)) == ([b"x"], 2)

    async def test_a_plain_listener_is_called_in_threads(self) -> None:
        async with TransactionScene() as scene:
            listener = PlainListener()
            producer = await scene.producer(listener)
            assert (await producer.send_in_transaction(Message("orders", b"1"), COMMIT)).outcome is COMMIT
            sent = await producer.send_in_transaction(Message("orders", b"2"), UNKNOWN)
            await scene.settle()
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: len(scene.bodies()) == 2)
            assert listener.asked == [sent.message_id]

    async def test_while_it_is_under_way_nobody_decides_it(self) -> None:
        async with TransactionScene() as scene:
            may_end = asyncio.Event()

            class Slow(Listener):
                async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> Any:
                    await may_end.wait()
                    return COMMIT

            listener = Slow(checked=ROLLBACK)
            producer = await scene.producer(listener)
            sending = asyncio.ensure_future(producer.send_in_transaction(Message("orders", b"x")))
            await scene.happens(lambda: scene.bodies(HALF_TOPIC))
            await scene.settle()
            for _ in range(3):
                await scene.clock.aadvance(CHECK)
            assert len(scene.bodies(HALF_TOPIC)) == 4, "it was asked for three times"
            assert listener.asked == []
            may_end.set()
            assert (await sending).outcome is COMMIT
            await scene.happens(scene.bodies)

    async def test_a_cancelled_one_is_left_to_the_listener(self) -> None:
        async with TransactionScene() as scene:

            class Endless(Listener):
                async def execute_local_transaction(self, message: HalfMessage, arg: Any) -> Any:
                    await asyncio.Event().wait()

            listener = Endless(checked=ROLLBACK)
            producer = await scene.producer(listener)
            sending = asyncio.ensure_future(producer.send_in_transaction(Message("orders", b"x")))
            await scene.happens(lambda: scene.bodies(HALF_TOPIC))
            await scene.settle()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: listener.asked)

    async def test_another_producer_of_the_group_answers_for_a_dead_one(self) -> None:
        async with TransactionScene() as scene:
            other = Listener(checked=COMMIT)
            survivor = await scene.producer(other)
            await survivor.queues("orders")
            dead = await scene.producer(Listener(UNKNOWN))
            await dead.send_in_transaction(Message("orders", b"left behind"))
            await scene.settle()
            await dead.stop()
            await scene.clock.aadvance(CHECK)
            await scene.happens(scene.bodies)
            assert [half.body for half in other.asked] == [b"left behind"]


class TestAdmin:
    async def test_what_was_given_up_is_asked_for_again(self) -> None:
        async with TransactionScene(sections=[TransactionSettings(check_max=2)]) as scene:
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
                for part in store.reads.get(CHECK_MAX_TIME_TOPIC, 0, 0, 9).parts
                for message in decode_records(part)
            ]
            async with AsyncAdmin(nameserver=scene.cluster.nameserver) as admin:
                with pytest.raises(AnswerError, match="has ended"):
                    await admin.messages.resume_transaction(sent.offset_message_id)
                with pytest.raises(FixError, match="32 or 56"):
                    await admin.messages.resume_transaction("x")
                await admin.messages.resume_transaction(given_up.offset_message_id)
            await scene.clock.aadvance(CHECK)
            await scene.happens(scene.bodies)
            assert (scene.bodies(), len(listener.asked)) == ([b"x"], 3)
