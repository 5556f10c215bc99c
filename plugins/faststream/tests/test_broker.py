"""Brokers over a real server: how they connect, publish, ask, and hold messages back."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from fast_depends.msgspec import MsgSpecSerializer
from faststream import AckPolicy, Context, Depends, FastStream, TestApp
from faststream.exceptions import RejectMessage
from mqframe_faststream import MqframeBroker, MqframeMessage, MqframeResponse, OptionError, ReplyTimeout
from pydantic import BaseModel

from mqframe import (
    ClosedError,
    ConsumerSettings,
    DatabaseOutcome,
    FixError,
    MessageError,
    RequestFailed,
    SendStatus,
    TransactionListener,
    TransactionOutcome,
)


class Order(BaseModel):
    number: int
    cups: int = 1


class Cup(msgspec.Struct):
    size: str
    sugar: bool = False


class TestTypes:
    async def test_a_model_goes_through_and_a_dependency_comes_along(
        self, make, running, topic, seen
    ) -> None:
        broker = make()

        def price(order: Order) -> float:
            return order.cups * 2.5

        @broker.subscriber(topic)
        async def bill(order: Order, message: MqframeMessage, total: float = Depends(price)) -> None:
            seen((order, total, message.tag, message.keys, message.headers["origin"]))

        async with running(broker):
            sent = await broker.publish(
                Order(number=7, cups=2), topic, tag="paid", keys=["o-7", "c-1"], headers={"origin": "web"}
            )
            assert (sent.status, sent.queue.topic) == (SendStatus.SEND_OK, topic)
            assert (await seen.take()) == [(Order(number=7, cups=2), 5.0, "paid", ["o-7", "c-1"], "web")]

    async def test_a_msgspec_struct_goes_through(self, make, running, topic, seen) -> None:
        broker = make(serializer=MsgSpecSerializer())

        @broker.subscriber(topic)
        async def drink(cup: Cup) -> None:
            seen(cup)

        async with running(broker):
            await broker.publish(Cup("small", sugar=True), topic)
            assert (await seen.take()) == [Cup("small", sugar=True)]

    @pytest.mark.parametrize("body", [b"\x01\x02", "text", 7, 2.5, True, [1, 2], {"a": None}, "", b"", "ü"])
    async def test_plain_values_come_as_they_left(self, make, running, topic, seen, body) -> None:
        broker = make(apply_types=False)

        @broker.subscriber(topic)
        async def handle(value) -> None:
            seen(value)

        async with running(broker):
            await broker.publish(body, topic)
            [got] = await seen.take()
        assert got == (body if body != "" else "")
        assert type(got) is type(body)


class TestConnection:
    async def test_ping_says_whether_servers_answer(self, make) -> None:
        broker = make()
        before = await broker.ping()
        async with broker:
            assert (before, await broker.ping(timeout=5.0)) == (False, True)

    async def test_ping_of_nobody_is_false(self) -> None:
        async with MqframeBroker("127.0.0.1:1") as broker:
            assert (await broker.ping(timeout=5.0)) is False

    async def test_a_start_without_servers_fails(self, topic) -> None:
        broker = MqframeBroker("127.0.0.1:1", topic_queues=0)

        @broker.subscriber(topic)
        async def handle(value) -> None: ...

        async with broker:
            with pytest.raises(Exception, match=r"127\.0\.0\.1:1"):
                await broker.start()

    async def test_a_stopped_broker_starts_again(self, make, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic)
        async def handle(value: int) -> None:
            seen(value)

        for number in (1, 2):
            await broker.start()
            await broker.publish(number, topic)
            await seen.take()
            await broker.stop()
            assert not broker.running
        assert seen.all == [1, 2]

    async def test_a_stop_waits_for_handlers_and_keeps_what_they_did_not_get(self, make, topic, seen) -> None:
        broker, again = make(group="drain"), make(group="drain")
        go = asyncio.Event()

        @broker.subscriber(topic)
        async def slow(value: int) -> None:
            seen(("began", value))
            await go.wait()
            seen(("ended", value))

        @again.subscriber(topic)
        async def rest(value: int) -> None:
            seen(("again", value))

        await broker.start()
        for number in range(3):
            await broker.publish(number, topic, sharding_key="one queue")
        [(_, first)] = await seen.take()
        stopping = asyncio.ensure_future(broker.stop())
        done, _ = await asyncio.wait({stopping}, timeout=0.2)
        assert not done
        go.set()
        await stopping
        assert seen.all == [("began", first), ("ended", first)]
        async with again:
            await again.start()
            await seen.take(3)
        assert first == 0
        assert seen.all[2:] == [("again", 1), ("again", 2)]

    async def test_it_runs_in_an_application(self, make, topic, seen) -> None:
        broker = make()
        app = FastStream(broker)

        @broker.subscriber(topic)
        async def handle(value: int, who: str = Context("who")) -> None:
            seen((value, who))

        @app.on_startup
        async def begin() -> None:
            app.context.set_global("who", "me")

        async with TestApp(app):
            await broker.publish(1, topic)
            await seen.take()
        assert seen.all == [(1, "me")]


class TestPublishing:
    async def test_tags_and_expressions_choose(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic, group=f"a-{topic}", tags="paid || refunded")
        async def by_tag(value: int) -> None:
            seen(("tag", value))

        @broker.subscriber(topic, group=f"b-{topic}", sql="amount > 100 AND TAGS IS NOT NULL")
        async def by_sql(value: int) -> None:
            seen(("sql", value))

        @broker.subscriber(topic, group=f"c-{topic}", tags=["open"])
        async def by_list(value: int) -> None:
            seen(("list", value))

        async with running(broker):
            await broker.publish(1, topic, tag="paid", headers={"amount": 50})
            await broker.publish(2, topic, tag="open", headers={"amount": 500})
            await broker.publish(3, topic, tag="refunded", headers={"amount": 101})
            await broker.publish(4, topic, headers={"amount": 900})
            await seen.take(5)
        assert sorted(seen.all) == [("list", 2), ("sql", 2), ("sql", 3), ("tag", 1), ("tag", 3)]

    async def test_messages_of_one_sharding_key_come_in_order(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic, ordered=True, max_workers=4)
        async def handle(value: list[int]) -> None:
            await asyncio.sleep(0)
            seen(tuple(value))

        async with running(broker):
            for number in range(20):
                for key in range(3):
                    await broker.publish([key, number], topic, sharding_key=f"customer-{key}")
            await seen.take(60)
        for key in range(3):
            assert [n for k, n in seen.all if k == key] == list(range(20))

    async def test_a_batch_is_stored_at_once_each_message_with_its_tag(
        self, make, running, topic, seen
    ) -> None:
        broker = make()

        @broker.subscriber(topic, consume_from="first")
        async def handle(value: int, message: MqframeMessage) -> None:
            seen((value, message.tag, message.keys, message.headers.get("who"), message.correlation_id))

        async with running(broker):
            sent = await broker.publish_batch(
                1,
                MqframeResponse(2, tag="b", keys="k2", headers={"who": "me"}),
                topic=topic,
                tag="a",
                correlation_id="c",
            )
            await seen.take(2)
            assert len(sent.message_id.split(",")) == 2
        assert seen.all == [(1, "a", [], None, "c"), (2, "b", ["k2"], "me", "c")]

    async def test_delayed_messages_come_later(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic)
        async def handle(value: str) -> None:
            seen(value)

        async with running(broker):
            soon = datetime.now(UTC) + timedelta(milliseconds=300)
            results = [
                await broker.publish("level", topic, delay_level=1),
                await broker.publish("at", topic, deliver_at=soon),
                await broker.publish("delay", topic, delay=timedelta(milliseconds=300)),
                await broker.publish("now", topic),
            ]
            await seen.take(4)
            assert ([result.recall_handle is not None for result in results]) == [False, True, True, False]
        assert seen.all[0] == "now"
        assert sorted(seen.all) == ["at", "delay", "level", "now"]

    async def test_oneway_waits_for_nobody(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic)
        async def handle(value: int) -> None:
            seen(value)

        async with running(broker):
            result = await broker.publish(1, topic, oneway=True)
            assert (result, await seen.take()) == (None, [1])

    async def test_wrong_messages_say_what_is_wrong(self, make, running, topic) -> None:
        broker = make()
        async with running(broker):
            with pytest.raises(MessageError, match="may hold only"):
                await broker.publish(1, "no/topic")
            with pytest.raises(OptionError, match="one of delay, deliver_at and delay_level"):
                await broker.publish(1, topic, delay=1, delay_level=1)
            with pytest.raises(MessageError, match="delay_level is 0"):
                await broker.publish(1, topic, delay_level=0)
            with pytest.raises(OptionError, match="a batch cannot be delayed"):
                await broker.publish_batch(1, topic=topic, delay=1)
            with pytest.raises(MessageError, match="RETRY_TOPIC belongs to the system"):
                await broker.publish(1, topic, headers={"RETRY_TOPIC": "x"})
            with pytest.raises(OptionError, match="give sharding_key or queue to publish_batch itself"):
                await broker.publish_batch(MqframeResponse(1, sharding_key="x"), topic=topic)

    async def test_before_the_start_nothing_is_published(self, make, topic) -> None:
        from faststream.exceptions import IncorrectState

        with pytest.raises(IncorrectState, match="not connected"):
            await make().publish(1, topic)


class TestRequests:
    async def test_the_reply_is_what_the_handler_returns(self, make, running, topic) -> None:
        broker = make()

        @broker.subscriber(topic)
        async def price(order: Order) -> MqframeResponse:
            return MqframeResponse({"price": order.cups * 2}, tag="answer", headers={"by": "me"})

        async with running(broker):
            replies = await asyncio.gather(
                *[broker.request(Order(number=n, cups=n), topic, timeout=10) for n in range(1, 6)]
            )
            assert [(r.tag, r.headers["by"]) for r in replies] == [("answer", "me")] * 5
            assert ([await reply.decode() for reply in replies]) == [{"price": 2 * n} for n in range(1, 6)]

    async def test_no_reply_in_time_is_a_timeout(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic, no_reply=True)
        async def silent(value: str) -> str:
            seen(value)
            return "unheard"

        async with running(broker):
            with pytest.raises(ReplyTimeout) as caught:
                await broker.request("anybody?", topic, timeout=1)
            assert isinstance(caught.value, TimeoutError)
            await seen.take()

    async def test_a_request_that_nobody_waits_for_any_more_is_not_handled(self, make, topic, seen) -> None:
        asking, broker = make(), make()

        @broker.subscriber(topic, consume_from="first")
        async def handle(value: str) -> str:
            seen(value)
            return "answer"

        async with asking:
            with pytest.raises(ReplyTimeout):
                await asking.request("too late", topic, timeout=0.2, sharding_key="one")
            await asking.publish("in time", topic, sharding_key="one")
        try:
            await broker.start()
            assert await seen.take() == ["in time"]
        finally:
            await broker.stop()

    @pytest.mark.parametrize("policy", list(AckPolicy))
    async def test_who_asks_hears_why_the_handler_failed_and_it_does_not_run_again(
        self, policy, make, running, topic, seen
    ) -> None:
        broker = make()

        @broker.subscriber(topic, ack_policy=policy)
        async def handle(value: str, message: MqframeMessage) -> str:
            seen(value)
            if policy is AckPolicy.MANUAL:
                await message.ack()
            if value == "tea?":
                raise KeyError("tea")
            return "here"

        async with running(broker):
            with pytest.raises(RequestFailed, match="KeyError: 'tea'"):
                await broker.request("tea?", topic, timeout=30)
            reply = await broker.request("coffee?", topic, timeout=30)
            assert (await reply.decode()) == "here"
        assert seen.all == ["tea?", "coffee?"]

    async def test_who_asks_hears_that_the_request_was_rejected(self, make, running, topic) -> None:
        broker = make()

        @broker.subscriber(topic)
        async def handle(value: str, message: MqframeMessage) -> str:
            if value == "tea?":
                raise RejectMessage
            await message.reject()
            return "answered all the same"

        async with running(broker):
            with pytest.raises(RequestFailed, match="RequestRejected: its handler rejected it"):
                await broker.request("tea?", topic, timeout=30)
            reply = await broker.request("coffee?", topic, timeout=30)
            assert await reply.decode() == "answered all the same"

    @pytest.mark.parametrize("policy", [AckPolicy.NACK_ON_ERROR, AckPolicy.ACK])
    async def test_who_only_looks_at_requests_tells_nobody_that_it_failed(
        self, policy, make, running, topic, seen
    ) -> None:
        broker, watching = make(), make(consumer=ConsumerSettings(answers_requests=False))

        @broker.subscriber(topic, group=f"answering-{topic}")
        async def handle(value: str) -> str:
            await looked.wait()
            return "here"

        looked = asyncio.Event()

        @watching.subscriber(topic, group=f"watching-{topic}", ack_policy=policy, no_reply=True)
        async def look(value: str) -> None:
            seen(value)
            looked.set()
            raise RuntimeError("no")

        async with running(broker), running(watching):
            reply = await broker.request("tea?", topic, timeout=30)
            assert await reply.decode() == "here"
            assert seen.all[0] == "tea?"

    @pytest.mark.parametrize("policy", [each for each in AckPolicy if each is not AckPolicy.MANUAL])
    async def test_a_request_that_is_not_what_the_handler_takes_fails_where_it_was_asked(
        self, policy, make, running, topic
    ) -> None:
        broker = make()

        @broker.subscriber(topic, ack_policy=policy)
        async def price(order: Order) -> int:
            return order.cups

        async with running(broker):
            with pytest.raises(RequestFailed, match="DecodeError"):
                await broker.request({"number": "none"}, topic, timeout=30)

    async def test_a_reply_topic_gets_the_result(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic)
        async def double(value: int) -> int:
            return 2 * value

        @broker.subscriber(f"{topic}-answers")
        async def answered(value: int, message: MqframeMessage) -> None:
            seen((value, message.correlation_id))

        async with running(broker):
            await broker.publish(21, topic, reply_to=f"{topic}-answers", correlation_id="c-1")
            assert (await seen.take()) == [(42, "c-1")]


class Kitchen(TransactionListener):
    def __init__(self) -> None:
        self.cooked: list[object] = []

    async def execute_local_transaction(self, message, arg):
        self.cooked.append(arg)
        if arg == "burnt":
            return TransactionOutcome.ROLLBACK
        if arg == "fire":
            raise RuntimeError("fire")
        return TransactionOutcome.COMMIT

    async def check_local_transaction(self, message):
        return TransactionOutcome.UNKNOWN


class TestTransactions:
    async def test_a_message_stands_or_falls_with_its_block(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic)
        async def handle(value: int, message: MqframeMessage) -> None:
            seen((value, message.tag))

        async with running(broker):
            with pytest.raises(RuntimeError, match="no"):
                async with broker.transaction(1, topic, tag="a"):
                    raise RuntimeError("no")
            async with broker.transaction(2, topic, tag="a") as transaction:
                assert transaction.transaction_id
                assert seen.all == []
            async with broker.transaction(3, topic) as transaction:
                transaction.rollback()
            block = broker.transaction(4, topic)
            async with block:
                pass
            with pytest.raises(ClosedError, match="begun before"):
                await block.__aenter__()
            await seen.take(2)
        assert sorted(seen.all) == [(2, "a"), (4, None)]

    async def test_a_row_in_the_database_decides(self, make, running, topic, seen, tmp_path) -> None:
        def connect() -> sqlite3.Connection:
            return sqlite3.connect(tmp_path / "shop.db")

        outcome = DatabaseOutcome(connect)
        outcome.create_table()
        broker = make(transaction_listener=outcome, group=f"shop-{topic}")

        @broker.subscriber(topic, group=f"g-{topic}")
        async def handle(value: int) -> None:
            seen(value)

        async with running(broker):
            db = connect()
            async with broker.transaction(5, topic) as transaction:
                outcome.record(db, transaction)
                db.commit()
            db.close()
            assert (await seen.take()) == [5]

    async def test_the_listener_decides(self, make, running, topic, seen) -> None:
        kitchen = Kitchen()
        broker = make(transaction_listener=kitchen, group=f"kitchen-{topic}")

        @broker.subscriber(topic)
        async def handle(value: str) -> None:
            seen(value)

        async with running(broker):
            results = [
                await broker.publish_in_transaction(what, topic, what) for what in ("burnt", "fire", "good")
            ]
            await seen.take()
            assert ([(result.outcome, type(result.error)) for result in results]) == [
                (TransactionOutcome.ROLLBACK, type(None)),
                (TransactionOutcome.UNKNOWN, RuntimeError),
                (TransactionOutcome.COMMIT, type(None)),
            ]
        assert seen.all == ["good"]

    async def test_middlewares_see_transactions(self, make, running, topic, seen) -> None:
        from faststream import BaseMiddleware

        class Signed(BaseMiddleware):
            async def publish_scope(self, call_next, cmd):
                cmd.headers["signed"] = "yes"
                return await call_next(cmd)

        broker = make(middlewares=[Signed])

        @broker.subscriber(topic)
        async def handle(value: int, message: MqframeMessage) -> None:
            seen(message.headers["signed"])

        async with running(broker):
            async with broker.transaction(1, topic):
                pass
            assert (await seen.take()) == ["yes"]

    async def test_without_a_listener_it_says_what_is_missing(self, make, running, topic) -> None:
        broker = make()
        async with running(broker):
            with pytest.raises(FixError, match="listener"):
                await broker.publish_in_transaction(1, topic)
            with pytest.raises(OptionError, match="a transaction cannot be delayed"):
                async with broker.transaction(1, topic, delay=1):
                    pass
