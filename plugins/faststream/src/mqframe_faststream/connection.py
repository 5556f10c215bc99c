"""What a broker is connected by: one client instance, which its producer and its consumers share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import attrs

from mqframe import (
    AnswerError,
    AsyncAdmin,
    AsyncPuller,
    AsyncTransactionProducer,
    ClientInstance,
    ClientSettings,
    ConsumeHook,
    ConsumerSettings,
    MqframeError,
    NetSettings,
    PluginManager,
    ProducerSettings,
    RouteError,
    RpcHook,
    SendHook,
    TransactionListener,
)
from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.cluster.route_bodies import ClusterInfo, TopicList
from mqframe.core.messages.names import is_system_topic
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.nameserver import GetAllTopicList, GetBrokerClusterInfo
from mqframe.core.wire import loose_json
from mqframe.log import get_logger

log = get_logger("faststream")

ROUTE_SECONDS = 5.0
"""How long name servers may take to know a topic that was just made."""
ROUTE_STEP_SECONDS = 0.05
PATTERN_SECONDS = 30.0
"""How often topics are looked for that patterns mean, unless told; routes are asked for as often."""


@attrs.frozen(kw_only=True)
class ConnectionOptions:
    """How a broker connects, all of it checked.

    `producer_group`: also the group that answers for transactions; `topic_queues`: queues of topics that
    subscribers find missing, 0 to make none; `pattern_seconds`: how often topics are looked for that patterns
    mean, s.
    """

    producer_group: str
    client: ClientSettings
    producer: ProducerSettings | None = None
    consumer: ConsumerSettings = attrs.field(factory=ConsumerSettings)
    net: NetSettings | None = None
    send_hooks: Sequence[SendHook] = ()
    consume_hooks: Sequence[ConsumeHook] = ()
    rpc_hooks: tuple[RpcHook, ...] = ()
    listener: TransactionListener | None = None
    plugins: PluginManager = attrs.field(factory=PluginManager)
    topic_queues: int = 4
    pattern_seconds: float = PATTERN_SECONDS


class Connection:
    """A started client instance, and the producer on it."""

    def __init__(self, options: ConnectionOptions) -> None:
        self.options = options
        self.instance = ClientInstance.connect(options.client, net=options.net, rpc_hooks=options.rpc_hooks)
        self.producer = AsyncTransactionProducer(
            options.producer_group,
            options.listener,
            instance=self.instance,
            send_hooks=options.send_hooks,
            settings=options.producer,
            plugins=options.plugins,
        )

    async def open(self) -> None:
        """Begin to poll routes and to send heartbeats; connections open when they are needed."""
        await self.instance.start()
        await self.producer.start()

    async def close(self) -> None:
        """Send what is on its way, leave all groups, close all connections."""
        await self.producer.stop()
        await self.instance.stop()

    async def ping(self) -> bool:
        """Whether a name server and one of the brokers that it knows answer."""
        try:
            answer = await self.instance.call_nameserver(GetBrokerClusterInfo())
            known = loose_json.decode(memoryview(answer.body), ClusterInfo)
        except MqframeError as problem:
            log.info("no name server answers", reason=str(problem))
            return False
        beat = loose_json.dumps(HeartbeatData(self.instance.client_id, []))
        for broker in known.broker_addr_table.values():
            for address in broker.broker_addrs.values():
                try:
                    await self.instance.call(address, HeartBeat(), beat)
                except AnswerError:
                    return True  # it refuses, so it is there
                except MqframeError as problem:
                    log.info("a broker does not answer", broker=address, reason=str(problem))
                else:
                    return True
        return False

    async def topics(self) -> list[str]:
        """The topics that name servers know but those of the system, sorted.

        Raises `RouteError` when none answers, `AnswerError` when one refuses.
        """
        answer = await self.instance.call_nameserver(GetAllTopicList())
        known = loose_json.decode(memoryview(answer.body), TopicList).topic_list
        return sorted(topic for topic in known if not is_system_topic(topic))

    async def begin_with_all(self, group: str, topic: str) -> None:
        """Have `group` begin at the first message of `topic` where it has no offset there.

        A failure is logged: the group begins as its consumer says then.
        """
        puller = AsyncPuller(group, instance=self.instance)
        try:
            for queue in await puller.queues(topic):
                if await puller.committed(queue) is None:
                    first = await puller.min_offset(queue)
                    await puller.pull(queue, first, 1)  # brokers know a group that has pulled
                    await puller.commit(queue, first)
        except MqframeError as problem:
            log.warning("a new topic is read from its end on", topic=topic, group=group, reason=str(problem))

    async def need_topics(self, topics: Sequence[str]) -> None:
        """Make those of `topics` that do not exist, where that is wanted.

        What cannot be made is logged: whoever subscribed gets its messages when somebody else makes it.
        """
        queues = self.options.topic_queues
        missing = [topic for topic in topics if queues and not await self._exists(topic)]
        if not missing:
            return
        try:
            async with self._admin() as admin:
                for topic in missing:
                    await admin.topics.create(topic, queues=queues)
                    await self._wait_for_route(topic)
        except MqframeError as problem:
            log.warning("topics were not made", topics=missing, reason=str(problem))

    async def _exists(self, topic: str) -> bool:
        if topic.startswith("%") or is_system_topic(topic):
            return True  # brokers make them
        try:
            await self.instance.route(topic)
        except RouteError:
            return False
        return True

    def _admin(self) -> AsyncAdmin:
        options = self.options
        return AsyncAdmin(
            client=options.client, net=options.net, rpc_hooks=options.rpc_hooks, plugins=options.plugins
        )

    async def _wait_for_route(self, topic: str) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + ROUTE_SECONDS
        while True:
            try:
                await self.instance.route(topic, refresh=True)
                return
            except RouteError:
                if loop.time() >= until:
                    raise
            await asyncio.sleep(ROUTE_STEP_SECONDS)

    def __repr__(self) -> str:
        return f"<Connection {self.instance.client_id}>"
