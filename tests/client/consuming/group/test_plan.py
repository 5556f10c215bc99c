"""What is said of a member, whatever its kind, and where its offsets are."""

from __future__ import annotations

import pytest
from mqframe_pull.lite_pull.assembly import LitePlan
from mqframe_pull.settings import LitePullSettings
from mqframe_testing.consuming import AllQueues, ClientScene, MemoryOffsets

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.group.allocation import AllocationChoice
from mqframe.client.consuming.group.group_offsets import OffsetChoice
from mqframe.client.consuming.group.subscriptions import SubscriptionTable, TopicSubscription
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.consuming.consume_rules import ConsumeFrom, MessageModel
from mqframe.core.filtering.filter_expression import filter_of
from mqframe.hooks.codecs import Codecs
from mqframe.hooks.manager import PluginManager


def plan(scene, kind, store, **more):
    model = MessageModel.CLUSTERING
    subscription = TopicSubscription("orders", filter_of("paid"), 7)
    return kind(
        group="g",
        model=model,
        begin=(ConsumeFrom.FIRST, 0),
        clock=scene.clock,
        allocation=AllocationChoice(PluginManager(), AllQueues()),
        hooks=(),
        store=OffsetChoice(PluginManager(), store, None, None, model),
        subscriptions=SubscriptionTable({"orders": subscription}),
        **more,
    )


KINDS = [
    (
        ConsumerPlan,
        {"settings": ConsumerSettings(), "persist_seconds": 5.0, "codecs": Codecs(PluginManager(list))},
        "CONSUME_PASSIVELY",
    ),
    (
        LitePlan,
        {"settings": LitePullSettings(), "auto_commit": True},
        "CONSUME_ACTIVELY",
    ),
]


@pytest.mark.parametrize(("kind", "more", "consume_type"), KINDS)
async def test_heartbeats_say_group_kind_beginning_and_subscriptions(kind, more, consume_type) -> None:
    async with ClientScene() as scene:
        made = plan(scene, kind, MemoryOffsets(), **more)
        data = made.heartbeat_data(made.subscriptions.data())
        assert (data.group_name, data.consume_type, data.message_model) == ("g", consume_type, "CLUSTERING")
        assert data.consume_from_where == "CONSUME_FROM_FIRST_OFFSET"
        found = [(each.topic, each.sub_string, each.sub_version) for each in data.subscription_data_set]
        assert found == [("orders", "paid", 7)]


async def test_offsets_are_in_the_store_that_was_chosen() -> None:
    async with ClientScene() as scene:
        store, queue = MemoryOffsets(), scene.broker.queue("orders", 0)
        offsets = plan(scene, LitePlan, store, **KINDS[1][1]).offsets(scene.instance)
        assert offsets.store is store
        assert await offsets.first(queue) == 0
        assert offsets.remember([(queue, 4)])
        assert await offsets.committed(queue) == 4


async def test_nothing_has_to_hear_of_queues() -> None:
    async with ClientScene() as scene:
        made = plan(scene, LitePlan, MemoryOffsets(), **KINDS[1][1])
        queues = [scene.broker.queue("orders", 0)]
        await made.assigned(queues)
        await made.revoked(queues)
        made.lost(queues)
