"""What a consumer that is a member of a group was made with, whatever its kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import attrs

from mqframe.client.configuration.fetch_options import FetchSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.allocation import AllocationChoice
from mqframe.client.consuming.group.group_offsets import GroupOffsets, OffsetChoice
from mqframe.client.consuming.group.subscriptions import SubscriptionTable
from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.consuming.consume_rules import ConsumeFrom, MessageModel
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import ConsumeHook
from mqframe.net.clock import LoopClock


async def nothing_to_wait_for(*_: object) -> None:
    """What a hook does by default."""


@attrs.frozen(kw_only=True)
class GroupPlan:
    """`allocation`: may be exchanged while the consumer runs; `begin`: where a new group begins, and the ms
    since 1970 that a time means; `store`: makes the offset store, once the client id
    is known; `subscriptions`: change while the consumer runs; `assignment_changed`: called after a rebalance
    that changed something; `assigned`: awaited before queues are read; `revoked`: before their offsets are
    saved and they are let go; `lost`: called with queues that another member had already."""

    consume_type: ClassVar[str]
    """What brokers and operators call its kind."""

    group: str
    model: MessageModel
    begin: tuple[ConsumeFrom, int]
    clock: LoopClock
    allocation: AllocationChoice
    hooks: Sequence[ConsumeHook]
    store: OffsetChoice
    settings: FetchSettings
    subscriptions: SubscriptionTable[Any]
    assignment_changed: Callable[[], None] = lambda: None
    assigned: Callable[[Sequence[MessageQueue]], Awaitable[None]] = nothing_to_wait_for
    revoked: Callable[[Sequence[MessageQueue]], Awaitable[None]] = nothing_to_wait_for
    lost: Callable[[Sequence[MessageQueue]], None] = lambda _: None

    @property
    def commits(self) -> bool:
        """Whether offsets move by themselves."""
        return True

    def offsets(self, instance: ClientInstance) -> GroupOffsets:
        """The group's offsets as the member `instance` keeps them."""
        store = self.store.make(instance, self.group)
        return GroupOffsets(self.group, store, instance, self.begin, commits=self.commits)

    def heartbeat_data(self, subscriptions: list[SubscriptionData]) -> ConsumerData:
        """What heartbeats say of the member."""
        return ConsumerData(
            self.group,
            self.begin[0].value,
            consume_type=self.consume_type,
            message_model=self.model.value,
            subscription_data_set=subscriptions,
        )
