"""Topics that a message made here, made on the other brokers of the cluster as well.

A producer sends where it finds the topic when it asks for the route again. So one that the first few messages
made on a single broker would stay there alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mqframe.broker.sending.targets import SendTargets
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.registration import MASTER_ID
from mqframe.core.cluster.route_bodies import ClusterInfo
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MqframeError, answer_error
from mqframe.core.messages.names import DEFAULT_TOPIC
from mqframe.core.requests.admin import GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetBrokerClusterInfo
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode
from mqframe.log import get_logger
from mqframe.net.client import Client

log = get_logger("broker")


class TopicSharing(Processor):
    """Tells the other masters of the cluster of topics that `targets` made, where `share_new_topics` is set.

    `ask`: what a name server answers, `None` when none does.
    """

    def __init__(
        self,
        shared: Shared,
        targets: SendTargets,
        client: Client,
        ask: Callable[[Request], Awaitable[Frame | None]],
    ) -> None:
        super().__init__(shared)
        self._client = client
        self._ask = ask
        self._telling: set[asyncio.Task[None]] = set()
        targets.on_made = self._made

    async def stop(self) -> None:
        """Tell nobody any more."""
        self.abandon()

    def abandon(self) -> None:
        """Tell nobody any more."""
        for task in self._telling:
            task.cancel()

    def _made(self, topic: TopicConfig) -> None:
        if self._live.current.share_new_topics:
            task = asyncio.ensure_future(self._share(topic))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _share(self, topic: TopicConfig) -> None:
        try:
            answer = await self._ask(GetBrokerClusterInfo())
            others = [] if answer is None else self._others(decode(bytes(answer.body), ClusterInfo))
        except MqframeError as problem:
            log.warning("new topic is here only", topic=topic.topic_name, problem=str(problem))
            return
        await asyncio.gather(*(self._make(address, topic) for address in others))

    def _others(self, info: ClusterInfo) -> list[str]:
        """The masters of this broker's cluster but itself."""
        names = set(info.cluster_addr_table.get(self._identity.cluster, ())) - {self._identity.name}
        table = info.broker_addr_table
        found = (table[name].broker_addrs.get(MASTER_ID) for name in sorted(names) if name in table)
        return [address for address in found if address]

    async def _make(self, address: str, topic: TopicConfig) -> None:
        """Have the broker at `address` make `topic`, unless it has it, perhaps otherwise."""
        name, timeout = str(topic.topic_name), self._live.current.register_timeout_ms / 1000
        request = UpdateAndCreateTopic(
            name,
            topic.read_queue_nums,
            topic.write_queue_nums,
            topic.perm,
            default_topic=DEFAULT_TOPIC,
            topic_sys_flag=topic.topic_sys_flag,
        )
        try:
            answer = await self._client.invoke(address, GetTopicConfig(name), timeout=timeout)
            if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                answer = await self._client.invoke(address, request, timeout=timeout)
            if answer.code:
                raise answer_error(answer.code, answer.remark, address)
        except MqframeError as problem:
            log.warning("new topic was not made", topic=name, broker=address, problem=str(problem))
