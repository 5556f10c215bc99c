"""Configurations of groups, as their members ask for them, and slaves."""

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.consuming.group_config import SubscriptionGroupConfig, SubscriptionGroupTable
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig, GetSubscriptionGroupConfig
from mqframe.core.wire.loose_json import decode


async def test_a_group_is_shown_as_it_is():
    async with ClusterScene(topics={"t": 2}) as world:
        groups = world.cluster.broker.service_port.groups
        groups.put(SubscriptionGroupConfig("g", retry_max_times=3))
        answer = await world.client.ok(GetSubscriptionGroupConfig(group="g"))
        assert decode(answer.body, SubscriptionGroupConfig) == groups.need("g")
        assert groups.need("g").retry_max_times == 3


@pytest.mark.parametrize(("auto_create", "code"), [(True, 0), (False, 26)])
async def test_a_new_group_is_made_where_that_is_allowed(auto_create, code):
    async with ClusterScene(topics={"t": 2}, broker={"auto_create_groups": auto_create}) as world:
        answer = await world.client.invoke(GetSubscriptionGroupConfig(group="new"))
        assert answer.code == code
        assert ("new" in world.cluster.broker.service_port.groups) == auto_create


async def test_all_groups_are_listed():
    async with ClusterScene(topics={"t": 2}) as world:
        world.cluster.broker.service_port.groups.put(SubscriptionGroupConfig("g"))
        answer = await world.client.ok(GetAllSubscriptionGroupConfig())
        table = decode(answer.body, SubscriptionGroupTable).subscription_group_table
        assert {"g", "TOOLS_CONSUMER"} <= table.keys()
        assert answer.ext == {"totalGroupNum": str(len(table))}
