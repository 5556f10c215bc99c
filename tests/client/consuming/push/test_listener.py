"""What applications hand in to have messages handled."""

from __future__ import annotations

import functools

import pytest
from mqframe_testing.consuming import received

from mqframe.client.consuming.push.listener import BATCH_MAX, DELAY_LEVEL_MAX, ListenerContext, subscription
from mqframe.client.consuming.push.typed_handler import BodyType
from mqframe.core.consuming.consume_result import ACKNOWLEDGE_ALL, ConsumeResult
from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.codecs import Codecs
from mqframe.hooks.manager import PluginManager

QUEUE = MessageQueue("orders", "broker-a", 0)


def plain(messages, context):
    return None


async def waiting(messages, context):
    return None


class Callable:
    async def __call__(self, messages, context):
        return None


@pytest.mark.parametrize(
    ("function", "is_async"),
    [(plain, False), (waiting, True), (Callable(), True), (functools.partial(waiting), True)],
)
def test_functions_that_wait_run_on_the_loop(function, is_async) -> None:
    found = subscription("orders", "a || b", function, 7, 5)
    assert (found.topic, found.batch_max, found.version, found.is_async) == ("orders", 7, 5, is_async)
    assert found.filter.expression == "a || b"


@pytest.mark.parametrize(
    ("function", "batch_max", "words"),
    [
        ("no function", 1, "is a str"),
        (plain, 0, "batch_max 0"),
        (plain, BATCH_MAX + 1, f"within 1 and {BATCH_MAX}"),
        (lambda message: None, 2, "takes one message, and batch_max is 2"),
        (lambda a, b, c: None, 1, "needs 3 arguments"),
    ],
)
def test_what_cannot_be_is_named_with_its_topic(function, batch_max, words) -> None:
    with pytest.raises(FixError, match="topic orders") as caught:
        subscription("orders", "*", function, batch_max, 5)
    assert words in str(caught.value)


def test_a_handler_takes_one_message_whatever_is_usual() -> None:
    for given in (None, 1):
        found = subscription("orders", "*", lambda message: None, given, 5, usual_max=32)
        assert (found.batch_max, found.takes_one) == (1, True)
    found = subscription("orders", "*", plain, None, 5, usual_max=32)
    assert (found.batch_max, found.takes_one) == (32, False)


def test_only_a_plain_handler_of_messages_alone_is_called_with_nothing_else() -> None:
    def handle(message):
        """Is done."""

    async def handle_async(message):
        """Is done."""

    def with_context(message: ReceivedMessage, context):
        """Is done."""

    assert subscription("orders", "*", handle, None, 5).single is handle
    body = BodyType(dict, Codecs(PluginManager()))
    others = [subscription("orders", "*", each, None, 5) for each in (handle_async, with_context, plain)]
    others.append(subscription("orders", "*", handle, None, 5, body=body))
    assert [each.single for each in others] == [None] * 4


def test_a_batch_listener_is_called_as_it_is() -> None:
    assert subscription("orders", "*", plain, 1, 5).function is plain
    assert subscription("orders", "*", waiting, 1, 5).function is waiting


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (None, ConsumeResult.SUCCESS),
        (ConsumeResult.RECONSUME_LATER, ConsumeResult.RECONSUME_LATER),
        (True, True),
    ],
)
async def test_a_handler_that_returns_nothing_has_succeeded(answer, result) -> None:
    seen = []

    def one(message):
        seen.append(message)
        return answer

    def with_context(message: ReceivedMessage, context):
        seen.append((message, context))
        return answer

    async def one_async(message):
        seen.append(message)
        return answer

    async def with_context_async(message: ReceivedMessage, context):
        seen.append((message, context))
        return answer

    message, context = received(0), ListenerContext(QUEUE, "g")
    results = []
    for function in (one, with_context, one_async, with_context_async):
        found = subscription("orders", "*", function, None, 5)
        came = found.function([message], context)
        results.append(await came if found.is_async else came)
    assert results == [result] * 4
    assert seen == [message, (message, context)] * 2


def test_a_context_acknowledges_all_and_leaves_the_wait_to_the_broker() -> None:
    context = ListenerContext(QUEUE, "g")
    assert (context.queue, context.group, context.ack_index) == (QUEUE, "g", ACKNOWLEDGE_ALL)
    assert context.delay_level_when_next_consume == 0
    assert context.suspend_current_queue_time_millis is None


@pytest.mark.parametrize("level", [-1, 0, 3, DELAY_LEVEL_MAX])
def test_a_level_is_kept(level: int) -> None:
    context = ListenerContext(QUEUE, "g")
    context.delay_level_when_next_consume = level
    assert context.delay_level_when_next_consume == level


@pytest.mark.parametrize("level", ["3", 1.5, None, DELAY_LEVEL_MAX + 1])
def test_what_is_no_level_is_refused_at_once(level) -> None:
    context = ListenerContext(QUEUE, "g")
    with pytest.raises(FixError, match="delay level"):
        context.delay_level_when_next_consume = level
    assert context.delay_level_when_next_consume == 0
