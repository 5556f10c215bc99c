"""What consumers pause and resume: queues, topics, and what functions listen to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mqframe.client.consuming.group.consumer import Pausable
from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.client.consuming.group.subscriptions import SubscriptionTable
from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue


def set_paused(
    table: SubscriptionTable[Any],
    runtime: ConsumerRuntime | None,
    what: Collection[Pausable],
    *,
    paused: bool,
) -> None:
    """Pause `what` or resume it: all or, where a `FixError` says what is not read here, nothing.

    `runtime`: `None` while the consumer does not run, when it has no queues.
    """
    if isinstance(what, str | MessageQueue) or callable(what):
        raise FixError(f"{what!r} alone: give a list of queues, topics or functions")
    queues = [each for each in what if isinstance(each, MessageQueue)]
    others = [each for each in what if not isinstance(each, MessageQueue)]
    for queue in queues:
        if runtime is None or runtime.queues.get(queue) is None:
            raise FixError(f"{queue} is not assigned to this consumer; perhaps another member has it now")
    for each in others:
        if paused and not _is_read(table, each):
            raise FixError(
                f"{_named(each)} cannot be paused: it is no topic here, nor the function that gets all of"
                " one's messages; where several share a topic, pause the topic"
            )
    for queue in queues:
        assert runtime is not None
        (runtime.queues.pause if paused else runtime.queues.resume)(queue)
    for each in others:
        if paused and each not in table.paused:
            table.paused.append(each)
        elif not paused and each in table.paused:
            table.paused.remove(each)
    if others and not paused and runtime is not None:
        runtime.queues.look_again()


def _is_read(table: SubscriptionTable[Any], each: object) -> bool:
    return any(each in (topic, getattr(found, "listener", topic)) for topic, found in table.by_topic.items())


def _named(each: Any) -> str:
    return getattr(each, "__qualname__", None) or repr(each)
