"""The retry topic of a group, where failed messages come back: its subscription and its route."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.listener import ListenedTopic, ListenerContext, subscription
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import retry_topic
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("client")

FIRST_LOOK_SECONDS: Final = 0.1
LOOK_SECONDS_MAX: Final = 1.0
"""A retry topic whose route is missing is looked for so often, after that as often as routes are polled."""
LOOKS_MAX: Final = 30


def retry_subscription(
    group: str, version: int, find: Callable[[str], ListenedTopic | None], loop: asyncio.AbstractEventLoop
) -> ListenedTopic:
    """The subscription of the retry topic of `group`: all of it, for the listeners of the original topics.

    `find`: the subscription of an original topic. The concurrent service sorts messages by topic itself; the
    function here serves the ordered one, in whose threads it runs.
    """

    def listen(messages: list[ReceivedMessage], context: ListenerContext) -> Any:
        meant = find(messages[0].topic)
        if meant is None:
            return ConsumeResult.RECONSUME_LATER
        meant = meant.of(messages[0])
        if meant.is_async:
            work: Coroutine[Any, Any, Any] = meant.function(messages, context)
            return asyncio.run_coroutine_threadsafe(work, loop).result()
        return meant.function(messages, context)

    return subscription(retry_topic(group), "*", listen, 1, version)


class RetryTopicSubscription:
    """Looks for the route of the retry topic of `group` until it names every broker of the topics in use.

    Brokers make the topic at the first heartbeat of the group. Whoever only polled routes would miss the
    first retries for as long as that takes.
    """

    def __init__(self, group: str, instance: ClientInstance, clock: LoopClock) -> None:
        self._group = group
        self._topic = retry_topic(group)
        self._instance = instance
        self._clock = clock
        self._looking: asyncio.Task[None] | None = None

    def look(self, topics: Sequence[str]) -> None:
        """Look until the brokers of `topics` are all there; without effect while that is under way."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look(topics))

    async def stop(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self, topics: Sequence[str]) -> None:
        seconds = FIRST_LOOK_SECONDS
        for _ in range(LOOKS_MAX):
            if not self._missing(topics):
                return
            try:
                await self._instance.route(self._topic, refresh=True)
            except MqframeError as problem:
                log.debug("the retry topic has no route yet", group=self._group, reason=str(problem))
            if not self._missing(topics):
                return
            await self._clock.sleep(seconds)
            seconds = min(2 * seconds, LOOK_SECONDS_MAX)

    def _missing(self, topics: Sequence[str]) -> bool:
        known = self._instance.routes.known
        brokers = {
            name
            for topic in topics
            if (route := known(topic)) is not None and topic != self._topic
            for name in route.addresses()
        }
        found = known(self._topic)
        return not brokers.issubset(found.addresses() if found is not None else ())
