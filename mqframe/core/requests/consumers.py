"""Requests by which consumers agree and keep their progress (wire.md §3.2)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mqframe.core.parameters import Since
from mqframe.core.requests.body_needs import CHECK, HEARTBEAT, LOCK
from mqframe.core.requests.fields import GroupQueueRequest, Header, Int, Long, Request, request
from mqframe.core.requests.needs import Action, group, topic


class HeartbeatAnswer(Header):
    """Whether the broker understands the second form, and whether it had other subscriptions."""

    heartbeat_v2: str | None = msgspec.field(default=None, name="IS_SUPPORT_HEART_BEAT_V2")
    subscription_changed: str | None = msgspec.field(default=None, name="IS_SUB_CHANGE")


@request(34, HeartbeatAnswer, body="HeartbeatData", needs=HEARTBEAT)
class HeartBeat(Request):
    """A client registers its groups and subscriptions."""


@request(35, needs=group(Action.SUB, optional=True))
class UnregisterClient(Request):
    """A client leaves its groups."""

    client_id: str = msgspec.field(name="clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


@request(46, body="CheckClientBody", needs=CHECK)
class CheckClientConfig(Request):
    """Is this subscription one that the broker can filter by?"""


@request(38, answer_body="ConsumerList", needs=group(Action.SUB, Action.GET))
class GetConsumerListByGroup(Request):
    """Ids of the members of a group."""

    consumer_group: str


@request(40, needs=group(Action.SUB))
class NotifyConsumerIdsChanged(Request):
    """Broker to consumer: the members of the group changed."""

    consumer_group: str


@request(41, body="LockBody", answer_body="LockAnswerBody", needs=LOCK)
class LockBatchMq(Request):
    """Lock queues for one member of a group."""


@request(42, body="LockBody", needs=LOCK)
class UnlockBatchMq(Request):
    """Give locked queues back."""


class OffsetAnswer(Header):
    """One queue offset."""

    offset: Long


@request(14, OffsetAnswer, needs=topic(Action.SUB, Action.GET) & group(Action.SUB, Action.GET))
class QueryConsumerOffset(GroupQueueRequest):
    """A group's stored offset of a queue."""

    set_zero_if_not_found: Annotated[bool | None, Since("5.0.0", (True,))] = None
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None


@request(15, needs=topic(Action.SUB, Action.UPDATE) & group(Action.SUB, Action.UPDATE))
class UpdateConsumerOffset(GroupQueueRequest):
    """Store a group's offset of a queue."""

    commit_offset: Long
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None


@request(30, OffsetAnswer, needs=topic(Action.SUB, Action.GET))
class GetMaxOffset(Request):
    """The offset that the next message of the queue will get."""

    topic: str
    queue_id: Int
    committed: Annotated[bool | None, Since("5.0.0", (True,))] = None
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None


@request(31, OffsetAnswer, needs=topic(Action.SUB, Action.GET))
class GetMinOffset(Request):
    """The oldest offset that can still be read."""

    topic: str
    queue_id: Int
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None


@request(29, OffsetAnswer, needs=topic(Action.SUB, Action.GET))
class SearchOffsetByTimestamp(Request):
    """The offset of the message stored at or next to a time."""

    topic: str
    queue_id: Int
    timestamp: Long
    boundary_type: Annotated[str | None, Since("5.1.4", ("LOWER",))] = None
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None
