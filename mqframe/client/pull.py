"""Plain pulls, awaited: one request, one answer.

async with AsyncPuller("jobs", nameserver="127.0.0.1:9876") as puller:
    for queue in await puller.queues("orders"):
        result = await puller.pull(queue, await puller.min_offset(queue))
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from mqframe.client.identity import with_nameserver
from mqframe.client.instance import ClientInstance
from mqframe.client.offsets import BrokerOffsets, QueueOffsets, broker_address, master_address
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import FixError
from mqframe.core.message import MessageQueue
from mqframe.core.message_choice import Sql, filter_of
from mqframe.core.pull import BYTES_MAX, MESSAGES_MAX, PullResult, pull_request, read_answer
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.topics import check_group
from mqframe.hooks.manager import PluginManager, default_manager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings

GROUP = "TOOLS_CONSUMER"
"""The group that tools read as (MixAll.TOOLS_CONSUMER_GROUP). Nothing is committed for it."""
ANSWER_SECONDS = 15.0
"""What an answer may take beyond the time that the broker was allowed to wait."""


class AsyncPuller(QueueOffsets):
    """Reads queues at any offset as `group`, without membership, balance or automatic commits.

    `nameserver`, `client`, `net`, `rpc_hooks`, `clock`, `plugins`: as of `AsyncPushConsumer`. `instance`: a
    started client instance to share, which is left running; with it there is nothing to start or to stop.
    """

    def __init__(
        self,
        group: str = GROUP,
        *,
        nameserver: str = "",
        rpc_hooks: Sequence[object] = (),
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        instance: ClientInstance | None = None,
        clock: LoopClock | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        check_group(group)
        self._own = None
        if instance is None:
            hooks = (plugins or default_manager()).create_all("rpc_hook", rpc_hooks)
            instance = self._own = ClientInstance.connect(
                with_nameserver(client, nameserver), clock or SystemClock(), net, rpc_hooks=hooks
            )
        super().__init__(instance)
        self.group = group
        self._offsets = BrokerOffsets(instance, group)

    async def start(self) -> None:
        """Begin to renew routes. May be left out by who pulls for a short time only."""
        if self._own is not None:
            await self._own.start()

    async def stop(self) -> None:
        """Close all connections, unless they are somebody else's."""
        if self._own is not None:
            await self._own.stop()

    async def __aenter__(self) -> AsyncPuller:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

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
        first one. Raises what a call raises, `AnswerError`, and `FixError` for numbers that make no sense; an
        offset that does not exist is no error but OFFSET_ILLEGAL.
        """
        check_numbers(offset, max_messages)
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

    async def committed(self, queue: MessageQueue) -> int | None:
        """The offset that the broker holds for the group; `None` when it holds none.

        For a new group on a queue that is short, and still whole, brokers say 0.
        """
        return await self._offsets.query(queue)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """Have the broker hold `offset` for the group, and return once it does.

        Raises `AnswerError` 26 for a group that the broker does not know; one that has pulled is known where
        brokers make groups by themselves.
        """
        check_numbers(offset, 1)
        request = UpdateConsumerOffset(
            self.group, queue.topic, queue.queue_id, offset, bname=queue.broker_name
        )
        await self._instance.call(await master_address(self._instance, queue), request)


def check_numbers(offset: int, max_messages: int) -> None:
    """Raises `FixError` for a negative offset and for less than one message."""
    if offset < 0:
        raise FixError(f"offset {offset} is negative")
    if max_messages < 1:
        raise FixError(f"max_messages is {max_messages}; at least one message must be asked for")
