"""Listeners: what applications hand in to have messages handled."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.consuming.consume_result import ACKNOWLEDGE_ALL
from mqframe.core.errors import FixError
from mqframe.core.filtering.filter_expression import Sql, filter_of
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

BATCH_MAX: Final = 1024
DELAY_LEVEL_MAX: Final = 1_000_000
"""Far beyond every broker's last level, which counts for all above it."""


class ListenerContext:
    """What a listener gets besides the messages, and where it may answer more than its result says.

    `queue`: where the messages come from; `group`: whom they were consumed for; `ack_index`: set it to the
    index of the last message that succeeded when only the front of a batch did, together with SUCCESS; not
    heeded in order. `delay_level_when_next_consume`: when messages that failed come again: 0 leaves that to
    the broker, a level names the wait, -1 makes them dead letters at once; in order only -1 is heeded.
    `suspend_current_queue_time_millis`: in order, for how long the queue pauses after a failure.
    """

    __slots__ = (
        "_delay_level",
        "ack_index",
        "group",
        "queue",
        "suspend_current_queue_time_millis",
    )

    def __init__(self, queue: MessageQueue, group: str) -> None:
        self.queue = queue
        self.group = group
        self.ack_index = ACKNOWLEDGE_ALL
        self.suspend_current_queue_time_millis: float | None = None
        self._delay_level = 0

    @property
    def delay_level_when_next_consume(self) -> int:
        """The delay level that failed messages are sent back with."""
        return self._delay_level

    @delay_level_when_next_consume.setter
    def delay_level_when_next_consume(self, level: int) -> None:
        if not isinstance(level, int) or not -DELAY_LEVEL_MAX <= level <= DELAY_LEVEL_MAX:
            raise FixError(f"delay level {level!r} is no whole number within ±{DELAY_LEVEL_MAX}")
        self._delay_level = level


ListenerFunction = Callable[[Sequence[ReceivedMessage], ListenerContext], Any]
"""Returns a `ConsumeResult`, or an awaitable of one when it is an `async def`."""


@attrs.frozen
class Subscription(TopicSubscription):
    """One topic that a consumer listens to."""

    function: ListenerFunction
    batch_max: int
    is_async: bool


def subscription(
    topic: str, expression: str | Sql, function: ListenerFunction, batch_max: int, version: int
) -> Subscription:
    """Checks what an application hands in. Raises `FixError` saying what is wrong."""
    if not callable(function):
        raise FixError(f"listener of topic {topic} is a {type(function).__qualname__}, not a function")
    if not 1 <= batch_max <= BATCH_MAX:
        raise FixError(f"listener of topic {topic}: batch_max {batch_max} is not within 1 and {BATCH_MAX}")
    call = getattr(type(function), "__call__", None)  # noqa: B004 - its kind is asked, not its presence
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    return Subscription(topic, filter_of(expression), version, function, batch_max, is_async)
