"""What the door stands before: brokers, asked by requests of the remoting protocol."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.fields import Request
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Body
from mqframe_grpc.clients import DoorClient


class WritePlace(NamedTuple):
    """Where a message goes. `queue_id`: -1 where the broker is to choose; `topic`: as it is there."""

    broker: str
    queue_id: int
    topic: TopicConfig


class Backend(Protocol):
    """The brokers. What they refuse is an answer with a code, here as there."""

    async def ask(self, client: DoorClient, broker: str, request: Request, body: Body = b"") -> Reply:
        """The answer of the broker called `broker` to `request` of `client`.

        Its body is good until something is awaited. Cancelled, it lets go of what waits. Raises `Rejected`
        for a broker that there is not, and `ConnectionLost`.
        """

    async def join(self, client: DoorClient, beat: HeartbeatData) -> None:
        """`client` lives, and is a member of the groups in `beat`, at all brokers.

        `client.peer` stands for it until it is closed, as it is when nothing is heard of the client.

        Raises `Rejected`, and `ConnectionLost`.
        """

    async def route(self, client: DoorClient, topic: str) -> TopicRouteData:
        """Where `topic` lives. Raises `Rejected` TOPIC_NOT_FOUND."""

    async def write_place(self, client: DoorClient, topic: str, message_group: str) -> WritePlace:
        """Where a message of `topic` goes, the same for all of one `message_group` ("": of none).

        Raises `Rejected`: TOPIC_NOT_FOUND, FORBIDDEN where no queue takes messages.
        """

    async def topic(self, topic: str) -> TopicConfig:
        """The topic, as one of the brokers has it. Raises `Rejected` TOPIC_NOT_FOUND."""

    async def group(self, group: str) -> SubscriptionGroupConfig | None:
        """The consumer group, as one of the brokers has it; `None` when there is none yet."""

    def broker_of(self, name: str) -> str:
        """The broker that a client calls `name`, "" for the only one. Raises `Rejected` for none of ours."""

    @property
    def brokers(self) -> tuple[str, ...]:
        """The names of all brokers."""
