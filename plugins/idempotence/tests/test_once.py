import asyncio
import inspect
from typing import Any

import pytest
from mqframe_idempotence import InProgress, MemoryStore, Once, OnceInTransaction, SqlStore, WrongUse
from stores_to_try import message

from mqframe import AsyncPushConsumer, ConsumeResult, ListenerContext, PushConsumer, ReceivedMessage
from mqframe.core.errors import FixError


def sql_once() -> Any:
    return OnceInTransaction(SqlStore(lambda: None), "s")


def test_a_wrapper_looks_like_what_it_wraps() -> None:
    @Once(MemoryStore(), "s").handler
    def charge(message: ReceivedMessage) -> None:
        """Charge."""

    assert (charge.__name__, charge.__doc__) == ("charge", "Charge.")
    assert list(inspect.signature(charge).parameters) == ["message"]
    assert inspect.get_annotations(charge) == {"message": ReceivedMessage, "return": None}


def test_the_session_is_not_seen_from_outside() -> None:
    @sql_once().handler
    def charge(message: ReceivedMessage, session: object) -> None: ...

    @sql_once().listener(ordered=True)
    def listen(messages: Any, context: ListenerContext, session: object) -> ConsumeResult:
        return ConsumeResult.SUCCESS

    assert list(inspect.signature(charge).parameters) == ["message"]
    assert inspect.get_annotations(charge) == {"message": ReceivedMessage, "return": None}
    assert list(inspect.signature(listen).parameters) == ["messages", "context"]


async def test_async_functions_stay_such() -> None:
    once = Once(MemoryStore(), "s")

    @once.handler
    async def charge(message: ReceivedMessage) -> str:
        await asyncio.sleep(0)
        return message.message_id

    @once.listener
    async def listen(messages: Any, context: Any) -> ConsumeResult:
        return ConsumeResult.SUCCESS

    assert inspect.iscoroutinefunction(charge)
    assert inspect.iscoroutinefunction(listen)
    assert await charge(message("a")) == "a"
    assert await charge(message("a")) is None


def test_consumers_take_wrapped_listeners() -> None:
    once = Once(MemoryStore(), "s")
    PushConsumer(group="g", nameserver="127.0.0.1:1").subscribe("t", "*", once.listener(lambda m, c: None))

    async def listen(messages: Any, context: Any) -> ConsumeResult:
        return ConsumeResult.SUCCESS

    consumer = AsyncPushConsumer(group="g", nameserver="127.0.0.1:1")
    consumer.subscribe("t", "*", once.listener(listen))

    async def handle(message: ReceivedMessage) -> None: ...

    consumer.subscribe("t", "*", once.handler(handle))
    with pytest.raises(FixError, match="is annotated to return None"):
        consumer.subscribe("t", "*", once.listener(returns_nothing))


def returns_nothing(messages: Any, context: Any) -> None: ...


class Shop:
    def __init__(self) -> None:
        self.charged: list[str] = []

    def charge(self, message: ReceivedMessage) -> None:
        self.charged.append(message.message_id)

    def __call__(self, message: ReceivedMessage) -> None:
        self.charge(message)


def test_bound_methods_and_callable_objects_are_wrapped() -> None:
    shop, once = Shop(), Once(MemoryStore(), "s")
    for wrapped in (once.handler(shop.charge), once.handler(shop)):
        wrapped(message("a"))
        wrapped(message("b"))
    assert shop.charged == ["a", "b"]


def test_more_arguments_go_through() -> None:
    @Once(MemoryStore(), "s").handler
    def charge(message: ReceivedMessage, currency: str, *, cents: int) -> str:
        return f"{cents} {currency}"

    assert charge(message("a"), "EUR", cents=5) == "5 EUR"


@pytest.mark.parametrize(
    ("wrap", "says"),
    [
        (lambda: sql_once().handler(lambda message: None), r"called as .*\(message, session\)"),
        (lambda: sql_once().listener(lambda m, c: None), r"called as .*\(messages, context, session\)"),
        (lambda: Once(MemoryStore(), "s").listener(lambda m: None), r"\(messages, context\)"),
        (lambda: Once(MemoryStore(), "s").handler(Shop.charge), "bound method"),
        (lambda: Once(MemoryStore(), "s").handler(17), "int is no function"),  # type: ignore[call-overload]
        (lambda: Once(SqlStore(lambda: None), "s"), "SqlStore belongs to OnceInTransaction, not to Once"),
        (lambda: OnceInTransaction(MemoryStore(), "s"), "MemoryStore belongs to Once, not"),
        (lambda: Once(MemoryStore(), ""), "scope"),
        (lambda: OnceInTransaction(SqlStore(lambda: None), "s", when_away="process"), "nothing to do the"),
        (lambda: Once(MemoryStore(), "s", when_away="open"), "when_away='open'"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_refused_at_once(wrap: Any, says: str) -> None:
    with pytest.raises(WrongUse, match=says) as caught:
        wrap()
    assert isinstance(caught.value, FixError)


def test_plain_stores_are_for_plain_functions() -> None:
    async def charge(message: Any, session: Any) -> None: ...

    with pytest.raises(WrongUse, match="charge is async def, but SqlStore is for plain functions"):
        sql_once().handler(charge)


def test_a_block_says_whether_the_effect_is_to_be_done() -> None:
    once = Once(MemoryStore(), "s")
    with once.processing(message("a")) as work:
        assert work.fresh
        with pytest.raises(InProgress), once.processing(message("a")):
            pytest.fail("entered")
    with once.processing(message("a")) as work:
        assert not work.fresh
    counted = once.counts.snapshot()
    assert (counted.effects, counted.duplicates, counted.in_progress) == (1, 1, 1)


def test_a_block_that_fails_gives_the_key_up() -> None:
    once = Once(MemoryStore(), "s")
    with pytest.raises(ValueError, match="no"), once.processing(message("a")):
        raise ValueError("no")
    with once.processing(message("a")) as work:
        assert work.fresh


async def test_blocks_for_asynchronous_code() -> None:
    once = Once(MemoryStore(), "s")

    found = []
    for _ in range(2):
        async with once.processing(message("a")) as work:
            found.append(work.fresh)
    assert found == [True, False]


async def test_a_plain_store_s_block_is_plain() -> None:
    with pytest.raises(WrongUse, match="plain `with`"):
        async with sql_once().processing(message("a")):
            pytest.fail("entered")


async def test_a_cancelled_handler_gives_its_key_up() -> None:
    once = Once(MemoryStore(), "s")
    waiting: list[bool] = [True]

    @once.handler
    async def charge(message: ReceivedMessage) -> None:
        if waiting.pop():
            await asyncio.sleep(3600)

    task = asyncio.ensure_future(charge(message("a")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    waiting.append(False)
    await charge(message("a"))
    assert once.counts.snapshot().effects == 1
