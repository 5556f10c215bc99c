"""A plain pull, awaited: one request, one answer."""

from __future__ import annotations

from mqframe.client.offsets import Broker, QueueOffsets, broker_address
from mqframe.core.message import MessageQueue
from mqframe.core.message_choice import Sql, filter_of
from mqframe.core.pull import BYTES_MAX, MESSAGES_MAX, PullResult, pull_request, read_answer

GROUP = "TOOLS_CONSUMER"
"""The group that tools read as (MixAll.TOOLS_CONSUMER_GROUP). Nothing is committed for it."""
ANSWER_SECONDS = 15.0
"""What an answer may take beyond the time that the broker was allowed to wait."""


class Puller(QueueOffsets):
    """Reads queues at any offset, without membership, balance or commits. `instance`: must be started."""

    def __init__(self, instance: Broker, group: str = GROUP) -> None:
        super().__init__(instance)
        self.group = group

    async def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return list((await self._instance.route(topic)).read_queues())

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int = MESSAGES_MAX,
        expression: str | Sql = "*",
        *,
        wait: float = 0.0,
        bytes_max: int = BYTES_MAX,
    ) -> PullResult:
        """The messages of `queue` from `offset` on that `expression` wants, `max_messages` at most.

        `expression`: "*", tags joined by "||", or `Sql`. `wait`: seconds that the broker may wait for the
        first one. Raises what a call raises, and `AnswerError`; an offset that does not exist is no error but
        OFFSET_ILLEGAL.
        """
        wanted = filter_of(expression)
        request = pull_request(
            self.group,
            queue,
            offset,
            messages_max=max_messages,
            bytes_max=bytes_max,
            expression=wanted.expression,
            expression_type=wanted.expression_type,
            wait_seconds=wait,
        )
        address = await broker_address(self._instance, queue)
        answer = await self._instance.remoting.invoke(address, request, timeout=wait + ANSWER_SECONDS)
        return read_answer(answer, queue, wanted, address)
