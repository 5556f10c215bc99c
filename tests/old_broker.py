"""A broker and name server of Apache RocketMQ of some version in memory, as far as administration goes.

They answer with that version, and as the servers of 4.9.7 do (AdminBrokerProcessor.java, Broker2Client.java):
parameters that came later are not looked at.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker
from msgspec.structs import replace

from mqframe import ClientSettings, MessageQueue
from mqframe.client.admin.brokers import AsyncBrokerAdmin
from mqframe.client.admin.calls import AdminCalls
from mqframe.client.admin.groups import AsyncGroupAdmin
from mqframe.client.admin.members import AsyncMemberAdmin
from mqframe.client.admin.offsets import AsyncOffsetAdmin
from mqframe.client.admin.topics import AsyncTopicAdmin
from mqframe.client.connection.instance import ClientInstance
from mqframe.core.cluster.client_bodies import ConnectionBody, ConsumerConnection
from mqframe.core.cluster.route_bodies import BrokerData, ClusterInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumeStats, OffsetTableBody, OffsetWrapper
from mqframe.core.consuming.group_config import SubscriptionGroupConfig, SubscriptionGroupTable
from mqframe.core.consuming.offset_rules import reset_target
from mqframe.core.requests.admin import (
    GetAllSubscriptionGroupConfig,
    GetConsumerConnectionList,
    GetConsumeStats,
    InvokeBrokerToResetOffset,
)
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetBrokerClusterInfo
from mqframe.core.versions import version_number
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Body, Frame
from mqframe.net.clock import LoopClock

GROUP, TOPIC, QUEUES = "billing", "orders", 3
SECOND = "10.0.0.2:10911"
"""Address of the other broker, where there is one."""


class OldBroker(ScriptedBroker):
    """It knows `GROUP`, whose progress in `TOPIC` is in `offsets`; `online`: its members are there.

    `told`: the offsets that members were told to go on from, by queue id. `keeps_resets`: it keeps resets
    itself (`resetOffsetInner` of 5.2.0 and later). `second`: the version of another broker beside it, "" for
    none.
    """

    def __init__(self, clock: LoopClock, version: str) -> None:
        super().__init__(clock, {TOPIC: QUEUES})
        self.version = version
        self.second = ""
        self.language = "JAVA"
        self.online = False
        self.keeps_resets = False
        self.told: dict[int, int] = {}
        for number in range(QUEUES):
            self.put(TOPIC, number, *[b"%d" % n for n in range(5)])
            self.offsets[GROUP, self.queue(TOPIC, number)] = 3

    @property
    def progress(self) -> list[int]:
        """The offsets of `GROUP`, queue by queue."""
        return [self.offsets[GROUP, self.queue(TOPIC, number)] for number in range(QUEUES)]

    async def invoke(
        self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0
    ) -> Frame:
        """The answer, as that version gives it."""
        answer = self._answered(request)
        if answer is None:
            answer = await super().invoke(address, request, body, timeout=timeout)
        else:
            self.requests.append(request)
        version = self.second if address == SECOND else self.version
        return replace(answer, version=version_number(version), language=self.language)

    def _answered(self, request: Request) -> Frame | None:
        match request:
            case GetBrokerClusterInfo():
                brokers = {self.broker_name: self.address} | ({"broker-b": SECOND} if self.second else {})
                table = {name: BrokerData(name, {0: at}, "DefaultCluster") for name, at in brokers.items()}
                return _body(ClusterInfo(table, {"DefaultCluster": list(brokers)}))
            case GetConsumerConnectionList() if not self.online:
                return Frame(ResponseCode.CONSUMER_NOT_ONLINE, remark="not online")
            case GetConsumerConnectionList():
                return _body(ConsumerConnection([ConnectionBody("10.0.0.9:1", "m1")]))
            case GetAllSubscriptionGroupConfig():
                groups = {GROUP: SubscriptionGroupConfig(GROUP)}
                return _body(SubscriptionGroupTable(subscription_group_table=groups))
            case GetConsumeStats():
                return _body(ConsumeStats(offset_table=self._stats()))
            case InvokeBrokerToResetOffset():
                return self._reset(request)
        return None

    def _stats(self) -> dict[MessageQueue, OffsetWrapper]:
        queues = [self.queue(TOPIC, number) for number in range(QUEUES)]
        return {queue: OffsetWrapper(5, self.offsets.get((GROUP, queue), 0)) for queue in queues}

    def _reset(self, request: InvokeBrokerToResetOffset) -> Frame:
        if self.keeps_resets:
            return self._keep(request)
        if not self.online:
            return Frame(ResponseCode.CONSUMER_NOT_ONLINE, remark="not online")
        wanted = 5 if request.timestamp < 0 else 0
        for number in range(QUEUES):
            stored = self.offsets[GROUP, self.queue(TOPIC, number)]
            self.told[number] = reset_target(stored, wanted, force=request.is_force)
        return _body(OffsetTableBody({self.queue(TOPIC, each): told for each, told in self.told.items()}))

    def _keep(self, request: InvokeBrokerToResetOffset) -> Frame:
        wanted = 5 if request.timestamp < 0 else 0
        kept = {self.queue(TOPIC, number): wanted for number in range(QUEUES)}
        if request.queue_id not in (None, -1):
            assert request.offset is not None
            kept = {self.queue(TOPIC, request.queue_id): request.offset}
        self.offsets.update({(GROUP, queue): offset for queue, offset in kept.items()})
        return _body(OffsetTableBody(kept))


class OldAdmin:
    """An administrator over a client instance of the test."""

    def __init__(self, instance: ClientInstance) -> None:
        calls = AdminCalls(instance)
        self.topics = AsyncTopicAdmin(calls)
        self.groups = AsyncGroupAdmin(calls, AsyncMemberAdmin(calls))
        self.offsets = AsyncOffsetAdmin(calls)
        self.brokers = AsyncBrokerAdmin(calls)


@asynccontextmanager
async def administered(version: str) -> AsyncIterator[tuple[OldAdmin, OldBroker]]:
    """Servers of `version`, and an administrator of them."""
    clock = ManualClock()
    broker = OldBroker(clock, version)
    instance = ClientInstance(ClientSettings(nameserver=broker.nameserver), clock, broker)
    try:
        yield OldAdmin(instance), broker
    finally:
        await instance.stop()


def _body(body: object) -> Frame:
    return Frame(0, body=loose_json.dumps(body))
