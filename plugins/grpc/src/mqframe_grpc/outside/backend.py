"""The brokers that name servers know, each asked over one connection of the door's own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.route_cache import read_route
from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.cluster.route import MASTER_ID, TopicRoute
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, MqframeError, answer_error
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.admin import GetSubscriptionGroupConfig, GetTopicConfig
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.requests.serving import Reply
from mqframe.core.sending.queue_choice import FaultLatency, QueueChoice
from mqframe.core.wire.frame import Body
from mqframe.core.wire.loose_json import decode
from mqframe.net.clock import Every
from mqframe_grpc.backend import WritePlace
from mqframe_grpc.clients import DoorClient
from mqframe_grpc.outside.asking import Asking
from mqframe_grpc.outside.kept import KEPT_SECONDS, KeptAnswers
from mqframe_grpc.outside.masters import Masters
from mqframe_grpc.outside.members import Members
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, no_topic, rejected
from mqframe_grpc.rules.sends import queue_of

T = TypeVar("T")

_ASKED_MAX: Final = 3
"""So many brokers are asked for a group that none of them has."""
_EVERY_TYPE: Final = {"message.type": "MIXED"}
_LOOK_SECONDS: Final = 5.0
_NOT_SUPPORTED: Final = ResponseCode.REQUEST_CODE_NOT_SUPPORTED


class _Place(NamedTuple):
    """Where a topic lives. `queues`: those that take messages, sorted."""

    route: TopicRoute
    queues: Sequence[MessageQueue]
    choice: QueueChoice


class OutsideBackend:
    """The `Backend` of a door that is a process of its own. `instance`: asks brokers and name servers.

    What they say of topics and groups is kept for 20 s. Slaves are not asked.
    """

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance
        self._clock = instance.clock
        self.masters = Masters(instance)
        self.members = Members(instance, self.masters)
        self._faults = FaultLatency(instance.clock)
        self._places = KeptAnswers(self._find_place, instance.clock)
        self._topics = KeptAnswers(self._find_topic, instance.clock)
        self._groups = KeptAnswers(self._find_group, instance.clock)
        self.asking = Asking(instance, self.masters, self._faults, self._doubt)
        self._periodic: list[Every] = []

    # Life

    async def start(self) -> None:
        """Find the brokers. They may come later, as name servers may. Raises `ClosedError` after `stop`."""
        self._instance.remoting.check_usable()
        await self.masters.look()
        self._periodic = [
            Every(self._clock, KEPT_SECONDS, self._renew, name="brokers and members"),
            Every(self._clock, _LOOK_SECONDS, self.members.look, name="silent clients"),
        ]

    async def _renew(self) -> None:
        await self.masters.look()
        await self.members.beat()

    async def stop(self) -> None:
        """Leave all groups, and close all connections: brokers drop the pops that wait then."""
        for periodic in self._periodic:
            periodic.stop()
        await self.members.leave()
        self.asking.stop()
        await self._instance.stop()

    # What there is

    @property
    def brokers(self) -> tuple[str, ...]:
        """The masters that are there."""
        return self.masters.names

    def broker_of(self, name: str) -> str:
        """One that name servers know, or have known (`Backend`)."""
        if not name and len(self.masters.names) == 1:
            return self.masters.names[0]
        if self.masters.address(name) is None:
            raise Rejected(m.Code.BAD_REQUEST, f"broker {name[:200]} is not known to name servers")
        return name

    async def route(self, client: DoorClient, topic: str) -> TopicRouteData:
        """The masters with queues of the topic (`Backend`)."""
        data = (await self._known(self._places, topic)).route.data
        masters = [
            replace(broker, broker_addrs={MASTER_ID: broker.broker_addrs[MASTER_ID]})
            for broker in data.broker_datas
            if MASTER_ID in broker.broker_addrs
        ]
        return replace(data, broker_datas=masters)

    async def write_place(self, client: DoorClient, topic: str, message_group: str) -> WritePlace:
        """One of all queues of all masters that take messages (`Backend`)."""
        place = await self._known(self._places, topic)
        if not place.queues:
            raise Rejected(m.Code.FORBIDDEN, f"no writable queue: topic {topic} takes no messages")
        config = await self.topic(topic)
        if message_group:
            queue = place.queues[queue_of(message_group, len(place.queues))]
        else:
            queue = place.choice.choose(place.queues)
        return WritePlace(queue.broker_name, queue.queue_id, config)

    async def topic(self, topic: str) -> TopicConfig:
        """The topic, as the first of its masters that can be reached has it (`Backend`)."""
        return await self._known(self._topics, topic)

    async def group(self, group: str) -> SubscriptionGroupConfig | None:
        """The group, as the first master that has it says; `None` where a few have none (`Backend`)."""
        return await self._known(self._groups, group)

    async def _known(self, kept: KeptAnswers[T], name: str) -> T:
        try:
            return await kept.get(name)
        except Rejected:
            raise
        except AnswerError as problem:
            raise rejected(problem.code, problem.remark) from None
        except MqframeError as problem:
            raise Rejected(m.Code.INTERNAL_SERVER_ERROR, str(problem)) from None

    async def _find_place(self, topic: str) -> _Place:
        try:
            answer = await self._instance.call_nameserver(GetRouteinfoByTopic(topic, True))
        except AnswerError as problem:
            if problem.code == ResponseCode.TOPIC_NOT_EXIST:
                raise no_topic(topic) from None
            raise
        route = TopicRoute(topic, read_route(answer))
        self.masters.learn(route.data)
        choice = QueueChoice(random.randrange(1 << 16), self._faults)
        return _Place(route, tuple(sorted(route.write_queues())), choice)

    async def _find_topic(self, topic: str) -> TopicConfig:
        place = await self._places.get(topic)
        problem: MqframeError = no_topic(topic)
        masters = {queue.broker_name for queue in (*place.queues, *place.route.read_queues())}
        for broker in sorted(masters):
            try:
                answer = await self.asking.call(broker, GetTopicConfig(topic))
            except MqframeError as error:
                problem = error
                continue
            if not answer.code:
                return decode(memoryview(answer.body), TopicConfig)
            if answer.code == _NOT_SUPPORTED:
                self.asking.is_old(broker)
                return _as_route_says(topic, broker, place.route.data)
            if answer.code != ResponseCode.TOPIC_NOT_EXIST:
                problem = answer_error(answer.code, answer.remark, broker)
        raise problem

    async def _find_group(self, group: str) -> SubscriptionGroupConfig | None:
        problem: MqframeError | None = None
        without = 0
        for broker in self.masters.names:
            try:
                answer = await self.asking.call(broker, GetSubscriptionGroupConfig(group))
            except MqframeError as error:
                problem = error
                continue
            if not answer.code:
                return decode(memoryview(answer.body), SubscriptionGroupConfig)
            if answer.code == _NOT_SUPPORTED:
                self.asking.is_old(broker)
            elif answer.code != ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST:
                problem = answer_error(answer.code, answer.remark, broker)
                continue
            without += 1
            if without == _ASKED_MAX:
                break
        if problem is not None and not without:
            raise problem
        return None

    def _doubt(self) -> None:
        self.masters.doubt()
        self._places.doubt()

    # Asking

    async def join(self, client: DoorClient, beat: HeartbeatData) -> None:
        """Have the door's process be a member of these groups (`Backend`)."""
        self.members.join(client, beat)

    async def ask(self, client: DoorClient, broker: str, request: Request, body: Body = b"") -> Reply:
        """Ask the master of that name, as `Asking.ask` (`Backend`)."""
        peer = self.members.peer_of(client)
        peer.waiting += 1
        try:
            answer = await self.asking.ask(broker, request, body)
        finally:
            peer.waiting -= 1
            peer.used = self._clock.monotonic()
        return Reply(answer.code, ext=answer.ext, remark=answer.remark, body=answer.body)


def _as_route_says(topic: str, broker: str, route: TopicRouteData) -> TopicConfig:
    """A topic of a broker that knows no types of topics: it takes each."""
    queues = next(each for each in route.queue_datas if each.broker_name == broker)
    return TopicConfig(
        topic_name=topic,
        perm=queues.perm,
        read_queue_nums=queues.read_queue_nums,
        write_queue_nums=queues.write_queue_nums,
        attributes=_EVERY_TYPE,
    )
