"""A client that talks the protocol: requests and answers as they are, without comfort."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests import Request
from mqframe.core.requests.consumers import HeartBeat, NotifyConsumerIdsChanged
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.core.requests.serving import Reply, serves
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps
from mqframe.net.client import Client
from mqframe.net.clock import LoopClock

PATIENCE_SECONDS = 3600.0


class ProtocolClient:
    """One connection to the broker at `address`. `notices`: groups that it was told to rebalance.

    `client`: the connection, for requests to others and for handlers of more that brokers ask.
    """

    def __init__(self, address: str, clock: LoopClock) -> None:
        self.address = address
        self.notices: list[str] = []
        self.client = Client(clock)
        self.client.serve(self)

    @serves(NotifyConsumerIdsChanged)
    def members_changed(self, fields: NotifyConsumerIdsChanged, call: Any) -> Reply:
        """Note that members of a group came or went."""
        self.notices.append(fields.consumer_group)
        return Reply()

    def invoke(
        self, request: Request, body: bytes = b"", timeout: float = PATIENCE_SECONDS
    ) -> Awaitable[Frame]:
        """The answer to `request`, whatever it is."""
        return self.client.invoke(self.address, request, body, timeout=timeout)

    async def ok(self, request: Request, body: bytes = b"") -> Frame:
        """The answer to `request`, which succeeds."""
        answer = await self.invoke(request, body)
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        return answer

    async def send(self, topic: str, body: bytes = b"body", properties: str = "", **fields: Any) -> Frame:
        """The answer to `send_request`."""
        return await self.invoke(send_request(topic, properties, **fields), body)

    async def ok_send(self, topic: str, properties: str = "", **fields: Any) -> Frame:
        """The answer to `send_request`, which succeeds."""
        answer = await self.send(topic, properties=properties, **fields)
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        return answer

    def pull(self, topic: str, offset: int = 0, **fields: Any) -> Awaitable[Frame]:
        """The answer to `pull_request`."""
        return self.invoke(pull_request(topic, offset, **fields))

    async def heartbeat(
        self,
        group: str = "g",
        *subscriptions: SubscriptionData,
        client_id: str = "c1",
        producers: Sequence[str] = (),
        message_model: str = "CLUSTERING",
        **fields: Any,
    ) -> Frame:
        """Be a member of `group` ("" for none) and of groups of `producers` from now on."""
        data: list[ConsumerData] = []
        if group:
            consumer = ConsumerData(
                group_name=group, subscription_data_set=list(subscriptions), message_model=message_model
            )
            data = [consumer]
        beat = HeartbeatData(
            client_id=client_id,
            consumer_data_set=data,
            producer_data_set=[ProducerData(group_name=name) for name in producers],
            **fields,
        )
        return await self.ok(HeartBeat(), dumps(beat))

    async def close(self) -> None:
        """End the connection."""
        await self.client.close()


def send_request(topic: str, properties: str = "", **fields: Any) -> SendMessageV2:
    """A send to queue 0, as the Java client makes it."""
    values: dict[str, Any] = {
        "producer_group": "p",
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": 0,
        "sys_flag": 0,
        "born_timestamp": 1_700_000_000_000,
        "flag": 0,
        "properties": properties,
    }
    return SendMessageV2(topic=topic, **(values | fields))


def pull_request(topic: str, offset: int = 0, **fields: Any) -> PullMessage:
    """A pull of queue 0 that brings its subscription along and waits for nothing."""
    values: dict[str, Any] = {
        "consumer_group": "g",
        "queue_id": 0,
        "max_msg_nums": 32,
        "sys_flag": 4,
        "commit_offset": 0,
        "suspend_timeout_millis": 15_000,
        "sub_version": 0,
        "subscription": "*",
    }
    return PullMessage(topic=topic, queue_offset=offset, **(values | fields))
