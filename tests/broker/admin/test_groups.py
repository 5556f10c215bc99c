import pytest
from mqframe_testing.cluster_scene import ClusterScene
from popping import pop_request

from mqframe.core.consuming.group_config import (
    GroupConfigList,
    SubscriptionGroupConfig,
    SubscriptionGroupTable,
)
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    GetAllSubscriptionGroupConfig,
    GetSubscriptionGroupConfig,
    InvokeBrokerToResetOffset,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndCreateSubscriptionGroupList,
)
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.insight import CloneGroupOffset
from mqframe.core.wire.loose_json import decode, dumps


async def test_groups_are_made_changed_listed_and_deleted():
    async with ClusterScene(topics={"t": 2}) as world:
        group = SubscriptionGroupConfig(group_name="g", retry_max_times=3)
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), dumps(group))
        more = dumps({"groupConfigList": [{"groupName": "h"}, {"groupName": "i"}]})
        await world.client.ok(UpdateAndCreateSubscriptionGroupList(), more)
        answer = await world.client.ok(GetSubscriptionGroupConfig(group="g"))
        assert decode(answer.body, SubscriptionGroupConfig) == group
        answer = await world.client.ok(GetAllSubscriptionGroupConfig())
        table = decode(answer.body, SubscriptionGroupTable).subscription_group_table
        assert {"g", "h", "i", "TOOLS_CONSUMER"} <= table.keys()
        assert answer.ext == {"totalGroupNum": str(len(table))}
        await world.client.ok(DeleteSubscriptionGroup(group_name="h"))
        answer = await world.client.ok(GetAllSubscriptionGroupConfig())
        assert "h" not in decode(answer.body, SubscriptionGroupTable).subscription_group_table


async def test_a_group_goes_with_its_offsets_where_that_is_asked():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        for _ in range(4):
            await world.client.ok_send("t", "UNIQ_KEY\x01FD00AA\x02")
        fields = {"consumer_group": "g", "topic": "t", "queue_id": 0}
        await world.client.ok(UpdateConsumerOffset(commit_offset=4, **fields))
        await world.client.ok(DeleteSubscriptionGroup(group_name="g"))
        assert (await world.client.ok(QueryConsumerOffset(**fields))).ext == {"offset": "4"}
        await world.client.ok(DeleteSubscriptionGroup(group_name="g", clean_offset=True))
        gone = QueryConsumerOffset(set_zero_if_not_found=False, **fields)
        assert (await world.client.invoke(gone)).code == 22


async def test_an_illegal_name_is_refused():
    async with ClusterScene(topics={"t": 2}) as world:
        body = dumps({"groupName": "no good"})
        assert (await world.client.invoke(UpdateAndCreateSubscriptionGroup(), body)).code == 29


async def test_the_groups_by_which_a_broker_remembers_are_nobodys():
    async with ClusterScene(topics={"t": 2}) as world:
        for group, topic in (
            ("CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_HALF_TOPIC"),
            ("CID_RMQ_SYS_REVIVE_GROUP", "rmq_sys_REVIVE_LOG_DefaultCluster"),
        ):
            requests = [
                UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=0, commit_offset=9),
                DeleteSubscriptionGroup(group_name=group, clean_offset=True),
                InvokeBrokerToResetOffset(topic=topic, group=group, timestamp=-1, is_force=True),
                pop_request(topic, consumer_group=group),
                CloneGroupOffset(src_group="g", dest_group=group, topic=topic, offline=True),
            ]
            await world.client.heartbeat("g")
            await world.client.ok(
                UpdateConsumerOffset(consumer_group="g", topic=topic, queue_id=0, commit_offset=0)
            )
            for request in requests:
                answer = await world.client.invoke(request)
                assert (answer.code, answer.remark) == (16, f"group {group} is the broker's own")
            pull = await world.client.pull(topic, consumer_group=group, sys_flag=5, commit_offset=9)
            assert pull.code == 16
            assert world.cluster.broker._state.offsets.query(group, topic, 0) in (None, 0)


@pytest.mark.parametrize(
    ("group", "remark"),
    [
        (SubscriptionGroupConfig("new", retry_queue_nums=10**12), "the most is 8 (broker.topic_queues_max)"),
        (SubscriptionGroupConfig("new", retry_queue_nums=-1), "the most is 8 (broker.topic_queues_max)"),
        (
            SubscriptionGroupConfig("new", attributes={"+a": "1", "+b": "2", "+c": "3"}),
            "3 attributes; the most is 2 (broker.attributes_max)",
        ),
        (SubscriptionGroupConfig("new", attributes={"+a": "x" * 70_000}), "bytes as JSON; the most is 65536"),
    ],
)
async def test_a_group_has_only_so_much(group, remark):
    async with ClusterScene(topics={"t": 2}, broker={"topic_queues_max": 8, "attributes_max": 2}) as world:
        for request, body in (
            (UpdateAndCreateSubscriptionGroup(), dumps(group)),
            (UpdateAndCreateSubscriptionGroupList(), dumps(GroupConfigList([group]))),
        ):
            answer = await world.client.invoke(request, body)
            assert (answer.code, remark in answer.remark) == (29, True), answer.remark
        assert "new" not in world.cluster.broker.service_port.groups


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (SubscriptionGroupConfig("no/name"), 29),
        (SubscriptionGroupConfig("bad", retry_queue_nums=10**12), 29),
        (SubscriptionGroupConfig("one-too-many"), 2),
    ],
)
async def test_of_a_list_with_a_bad_group_none_is_made_or_changed(bad, code):
    async with ClusterScene(topics={"t": 2}, broker={"groups_max": 64}) as world:
        groups = world.cluster.broker.service_port.groups
        while len(groups) < 62:
            groups.put(SubscriptionGroupConfig(f"filler-{len(groups)}"))
        before, version = groups.dump(), groups.version
        wanted = [SubscriptionGroupConfig("a"), SubscriptionGroupConfig("b"), SubscriptionGroupConfig("a")]
        wanted += [SubscriptionGroupConfig("TOOLS_CONSUMER", consume_enable=False), bad]
        body = dumps(GroupConfigList(wanted))
        assert (await world.client.invoke(UpdateAndCreateSubscriptionGroupList(), body)).code == code
        assert (groups.dump(), groups.version) == (before, version)
        await world.client.ok(UpdateAndCreateSubscriptionGroupList(), dumps(GroupConfigList(wanted[:-1])))
        assert {"a", "b"} <= set(groups)
        assert not groups.need("TOOLS_CONSUMER").consume_enable


async def test_many_groups_are_made_saved_and_shown_in_slices():
    async with ClusterScene(topics={"t": 2}) as world:
        groups = [SubscriptionGroupConfig(f"many-{number}") for number in range(1100)]
        body = dumps(GroupConfigList(groups))
        await world.client.ok(UpdateAndCreateSubscriptionGroupList(), body)
        saved = (world.cluster.directory / "broker-a/config/subscriptionGroup.json").read_bytes()
        shown = (await world.client.ok(GetAllSubscriptionGroupConfig())).body
        for text in (saved, bytes(shown)):
            table = decode(text, SubscriptionGroupTable).subscription_group_table
            assert [table[group.group_name] for group in groups] == groups
