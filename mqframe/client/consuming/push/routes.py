"""Several handlers of one topic: it is subscribed for what all want, and each message goes to its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import attrs

from mqframe.client.consuming.push.listener import ListenedTopic, ListenerContext
from mqframe.client.consuming.push.signature import function_name
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import FixError
from mqframe.core.filtering.filter_expression import filter_of
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.message import ReceivedMessage


@attrs.frozen
class RoutedSubscription(ListenedTopic):
    """A topic with several handlers, each for tags of its own. `routes`: the handlers' subscriptions by tag.

    `function` calls the handler of its only message, for those who take whatever comes; in a thread, where
    one of the handlers is no `async def`.
    """

    routes: dict[str, ListenedTopic] = attrs.field(kw_only=True)

    def of(self, message: ReceivedMessage) -> ListenedTopic:
        """The subscription of the handler that `message` is for; this one, where there is none (any more)."""
        return self.routes.get(message.tag or "", self)


def routed(
    before: ListenedTopic, added: ListenedTopic, loop: Callable[[], asyncio.AbstractEventLoop]
) -> ListenedTopic:
    """`before`, that of a topic by now, with one more handler. `loop`: that of a consumer that runs.

    Messages are told apart by their tags. Raises `FixError`, naming both handlers, for what cannot be: a tag
    that both want, all messages, an expression.
    """
    routes = _by_tag(before, added)
    for tag, new in _by_tag(added, before).items():
        if tag in routes:
            raise _alike(routes[tag], new, f"both want the tag {tag!r}")
        routes[tag] = new
    is_async = all(each.is_async for each in routes.values())

    def call(messages: list[ReceivedMessage], context: ListenerContext) -> Any:
        meant = routes.get(messages[0].tag or "")
        if meant is None:
            return ConsumeResult.RECONSUME_LATER  # another member may have a handler for it
        if is_async or not meant.is_async:
            return meant.function(messages, context)
        work: Coroutine[Any, Any, Any] = meant.function(messages, context)
        return asyncio.run_coroutine_threadsafe(work, loop()).result()

    async def call_async(messages: list[ReceivedMessage], context: ListenerContext) -> Any:
        result = call(messages, context)
        return result if isinstance(result, ConsumeResult) else await result

    return RoutedSubscription(
        added.topic,
        filter_of(" || ".join(routes)),
        added.version,
        call_async if is_async else call,
        1,
        is_async,
        call,
        takes_one=True,
        routes=routes,
    )


def _by_tag(one: ListenedTopic, other: ListenedTopic) -> dict[str, ListenedTopic]:
    """`one` under each of its tags. Raises `FixError` beside `other` where it is not for tags."""
    if isinstance(one, RoutedSubscription):
        return dict(one.routes)
    wanted = one.filter
    if not isinstance(wanted, TagFilter) or not wanted.tags:
        raise _alike(one, other, f"{function_name(one.listener)} wants {wanted.expression!r}")
    return dict.fromkeys(wanted.tags, one)


def _alike(one: ListenedTopic, other: ListenedTopic, why: str) -> FixError:
    return FixError(
        f"two handlers of topic {one.topic} cannot be told apart: {function_name(one.listener)} and"
        f" {function_name(other.listener)}: {why}. Give each tags of its own, use one handler, or another"
        " group; `subscribe` replaces a handler"
    )
