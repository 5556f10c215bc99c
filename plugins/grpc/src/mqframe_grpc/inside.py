"""The broker in whose process the door is."""

from __future__ import annotations

from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_WRITE
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.fields import Request
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Body
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import BrokerPort
from mqframe_grpc.backend import WritePlace
from mqframe_grpc.clients import DoorClient
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, no_topic, rejected
from mqframe_grpc.rules.sends import queue_of


class InsideBackend:
    """The `Backend` of a door that is a service of its broker."""

    def __init__(self, port: BrokerPort) -> None:
        self._requests = port.requests
        self._topics, self._groups = port.topics, port.groups
        self._identity = port.identity

    @property
    def brokers(self) -> tuple[str, ...]:
        """Its own."""
        return (self._identity.name,)

    def broker_of(self, name: str) -> str:
        """Its own, or none (`Backend`)."""
        own = self._identity.name
        if name not in ("", own):
            raise Rejected(m.Code.BAD_REQUEST, f"broker {name[:200]} is not served here; this is {own}")
        return own

    async def ask(self, client: DoorClient, broker: str, request: Request, body: Body = b"") -> Reply:
        """Ask the broker (`Backend`)."""
        peer = client.peer
        if peer is None or peer.closed:
            peer = client.peer = self._requests.connect(client)
        reply: Reply = await peer.ask(request, body)
        return reply

    async def join(self, client: DoorClient, beat: HeartbeatData) -> None:
        """Pass the heartbeat on (`Backend`)."""
        reply = await self.ask(client, self._identity.name, HeartBeat(), dumps(beat))
        if reply.code:
            raise rejected(reply.code, reply.remark)

    async def route(self, client: DoorClient, topic: str) -> TopicRouteData:
        """The broker's own queues: those of others are not received from here (`Backend`)."""
        own, identity = await self.topic(topic), self._identity
        broker = BrokerData(identity.name, {identity.broker_id: identity.address}, identity.cluster)
        queues = QueueData(identity.name, own.perm, own.read_queue_nums, own.write_queue_nums)
        return TopicRouteData([broker], queue_datas=[queues])

    async def write_place(self, client: DoorClient, topic: str, message_group: str) -> WritePlace:
        """A queue of the broker (`Backend`)."""
        found = await self.topic(topic)
        if not found.perm & PERM_WRITE or found.write_queue_nums <= 0:
            raise Rejected(m.Code.FORBIDDEN, f"no writable queue: topic {topic} takes no messages here")
        queue = queue_of(message_group, found.write_queue_nums) if message_group else -1
        return WritePlace(self._identity.name, queue, found)

    async def topic(self, topic: str) -> TopicConfig:
        """The topic, as the broker has it (`Backend`)."""
        found = self._topics.find(topic)
        if found is None:
            raise no_topic(topic)
        return found

    async def group(self, group: str) -> SubscriptionGroupConfig | None:
        """The group, as the broker has it (`Backend`)."""
        return self._groups.find(group)
