"""Answers to brokers that ask how a transaction ended: to whom, by whom and with which word."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from mqframe_testing.consuming import ClientScene
from mqframe_testing.scripted_broker import HOST
from mqframe_transactions.client.checks import CheckAnswers
from mqframe_transactions.client.local_states import LocalTransactionStates

from mqframe.core.errors import ConnectionLost
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.messages import CheckTransactionState, EndTransaction
from mqframe.core.requests.serving import Call
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.storage.record import encode_record
from mqframe.core.wire.frame import Frame

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN


class AskingBroker:
    """A peer that asks `instance` about transactions and notes what it is answered."""

    def __init__(self, scene: Any) -> None:
        self.handlers = scene.broker.handlers
        self.answers: list[EndTransaction] = []
        self.failure: Exception | None = None

    def oneway(self, request: EndTransaction, body: bytes = b"") -> None:
        if self.failure is not None:
            raise self.failure
        self.answers.append(request)

    def ask(self, name: str, group: str = "shop", fields: CheckTransactionState | None = None) -> None:
        properties = f"UNIQ_KEY\x01{name}\x02PGROUP\x01{group}\x02".encode()
        record = encode_record(
            topic="orders", queue_id=1, queue_offset=9, physical_offset=900, body=b"paid",
            properties=properties, born_timestamp=1, born_host=HOST, store_timestamp=2, store_host=HOST,
        )  # fmt: skip
        self.ask_with(record, fields)

    def ask_with(self, body: bytes, fields: CheckTransactionState | None = None) -> None:
        request = fields or CheckTransactionState(tran_state_table_offset=4, commit_log_offset=700)
        frame = Frame(request.CODE, ext=encode_fields(request), body=body)
        self.handlers[frame.code](Call(frame, self, 0.0))  # type: ignore[arg-type]

    def outcomes(self) -> list[tuple[str, TransactionOutcome]]:
        return [(each.msg_id, TransactionOutcome(each.commit_or_rollback)) for each in self.answers]


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Asked:
    """A check that returns `outcome`, or raises it, and notes what it was asked."""

    def __init__(self, outcome: Any = COMMIT) -> None:
        self.outcome = outcome
        self.messages: list[ReceivedMessage] = []

    async def check(self, message: ReceivedMessage) -> Any:
        self.messages.append(message)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


async def test_an_answer_names_all_that_the_question_did() -> None:
    async with ClientScene() as scene:
        asked, broker = Asked(ROLLBACK), AskingBroker(scene)
        answers = CheckAnswers("shop", asked.check, LocalTransactionStates())
        answers.start(scene.instance)
        fields = CheckTransactionState(
            tran_state_table_offset=4, commit_log_offset=700, topic="half", msg_id="M", transaction_id="T",
            offset_msg_id="O", bname="broker-b",
        )  # fmt: skip
        broker.ask("U1", fields=fields)
        await turns()
        assert broker.answers == [
            EndTransaction(
                producer_group="shop", tran_state_table_offset=4, commit_log_offset=700,
                commit_or_rollback=int(ROLLBACK), msg_id="U1", topic="half", from_transaction_check=True,
                transaction_id="T", bname="broker-b",
            )
        ]  # fmt: skip
        [message] = asked.messages
        assert (message.topic, message.body, message.transaction_id) == ("orders", b"paid", "U1")
        await answers.stop(scene.instance)


async def test_what_is_known_is_answered_without_the_listener() -> None:
    async with ClientScene() as scene:
        asked, broker, known = Asked(COMMIT), AskingBroker(scene), LocalTransactionStates()
        answers = CheckAnswers("shop", asked.check, known)
        answers.start(scene.instance)
        known.begin("under way")
        known.begin("over")
        known.end("over", ROLLBACK)
        for name in ("under way", "over", "another's"):
            broker.ask(name)
        await turns()
        assert sorted(broker.outcomes()) == [
            ("another's", COMMIT),
            ("over", ROLLBACK),
            ("under way", UNKNOWN),
        ]
        assert [message.transaction_id for message in asked.messages] == ["another's"]
        await answers.stop(scene.instance)


@pytest.mark.parametrize("wrong", [ValueError("no record"), "commit", None])
async def test_whatever_else_a_listener_says_leaves_it_open(wrong: Any) -> None:
    async with ClientScene() as scene:
        asked, broker = Asked(wrong), AskingBroker(scene)
        answers = CheckAnswers("shop", asked.check, LocalTransactionStates(), workers=1)
        answers.start(scene.instance)
        broker.ask("U1")
        await turns()
        asked.outcome = COMMIT
        broker.ask("U2")
        await turns()
        assert broker.outcomes() == [("U1", UNKNOWN), ("U2", COMMIT)]
        await answers.stop(scene.instance)


async def test_without_a_listener_a_stranger_s_transaction_stays_open() -> None:
    async with ClientScene() as scene:
        broker = AskingBroker(scene)
        answers = CheckAnswers("shop", None, LocalTransactionStates())
        answers.start(scene.instance)
        broker.ask("U1")
        await turns()
        assert broker.outcomes() == [("U1", UNKNOWN)]
        await answers.stop(scene.instance)


async def test_each_group_is_asked_about_its_own_and_nobody_about_others() -> None:
    async with ClientScene() as scene:
        broker, shop, bank = AskingBroker(scene), Asked(COMMIT), Asked(ROLLBACK)
        both = [
            CheckAnswers(group, asked.check, LocalTransactionStates())
            for group, asked in (("shop", shop), ("bank", bank))
        ]
        for answers in both:
            answers.start(scene.instance)
        broker.ask("U1", "bank")
        broker.ask("U2", "shop")
        broker.ask("U3", "nobody")
        broker.ask_with(b"no record")
        await turns()
        assert sorted(broker.outcomes()) == [("U1", ROLLBACK), ("U2", COMMIT)]
        assert [each.producer_group for each in broker.answers if each.msg_id == "U1"] == ["bank"]
        await both[0].stop(scene.instance)
        assert list(scene.instance.transaction_checks) == ["bank"]
        broker.ask("U4", "shop")
        broker.ask("U5", "bank")
        await turns()
        assert broker.outcomes()[2:] == [("U5", ROLLBACK)]
        await both[1].stop(scene.instance)


async def test_so_many_at_once_and_no_more_than_may_wait() -> None:
    async with ClientScene() as scene:
        broker, gate, begun = AskingBroker(scene), asyncio.Event(), []

        async def check(message: ReceivedMessage) -> TransactionOutcome:
            begun.append(message.transaction_id)
            await gate.wait()
            return COMMIT

        answers = CheckAnswers("shop", check, LocalTransactionStates(), workers=2, waiting_max=3)
        answers.start(scene.instance)
        answers.start(scene.instance)  # makes no more workers
        for name in ("1", "2"):
            broker.ask(name)
            await turns()
        for name in ("3", "4", "5", "dropped"):
            broker.ask(name)
        await turns()
        assert begun == ["1", "2"]
        gate.set()
        await turns()
        assert sorted(broker.outcomes()) == [(name, COMMIT) for name in "12345"]
        await answers.stop(scene.instance)


async def test_a_connection_that_went_holds_nobody_up() -> None:
    async with ClientScene() as scene:
        gone, there, asked = AskingBroker(scene), AskingBroker(scene), Asked(COMMIT)
        gone.failure = ConnectionLost("connection went")
        answers = CheckAnswers("shop", asked.check, LocalTransactionStates(), workers=1)
        answers.start(scene.instance)
        gone.ask("U1")
        there.ask("U2")
        await turns()
        assert (gone.answers, there.outcomes()) == ([], [("U2", COMMIT)])
        await answers.stop(scene.instance)


async def test_a_plain_listener_is_called_in_threads_that_end_with_the_producer() -> None:
    async with ClientScene() as scene:
        broker, threads, answered = AskingBroker(scene), [], asyncio.Event()

        def check(message: ReceivedMessage) -> TransactionOutcome:
            threads.append(threading.current_thread())
            return COMMIT

        def oneway(request: EndTransaction, body: bytes = b"") -> None:
            broker.answers.append(request)
            answered.set()

        broker.oneway = oneway  # type: ignore[method-assign]
        answers = CheckAnswers("shop", check, LocalTransactionStates())
        answers.start(scene.instance)
        broker.ask("U1")
        await asyncio.wait_for(answered.wait(), 20)
        assert broker.outcomes() == [("U1", COMMIT)]
        [thread] = threads
        assert thread.name.startswith("mqframe-transactions-shop")
        await answers.stop(scene.instance)
        thread.join(20)
        assert not thread.is_alive()


async def test_what_waits_is_forgotten_by_a_producer_that_stops() -> None:
    async with ClientScene() as scene:
        broker, gate, asked = AskingBroker(scene), asyncio.Event(), []

        async def check(message: ReceivedMessage) -> TransactionOutcome:
            asked.append(message.transaction_id)
            await gate.wait()
            return COMMIT

        answers = CheckAnswers("shop", check, LocalTransactionStates(), workers=1)
        answers.start(scene.instance)
        for name in ("under way", "waits"):
            broker.ask(name)
        await turns()
        await answers.stop(scene.instance)
        gate.set()
        await turns()
        assert (asked, broker.answers) == (["under way"], [])
