"""Queues that the broker assigns: 400 to 402."""

import pytest
from mqframe_admin.requests import UpdateBrokerConfig
from mqframe_assignment.requests import GetAllMessageRequestMode, QueryAssignment, SetMessageRequestMode
from mqframe_assignment.rules.bodies import (
    Assignment,
    AssignmentsBody,
    QueryAssignmentBody,
    RequestModeBody,
    RequestModeTable,
)
from mqframe_assignment.settings import AssignmentSettings
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import QueueBody
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode, dumps


async def assigned(talker, client="c1", topic="t", strategy="AVG", model="CLUSTERING"):
    body = QueryAssignmentBody(topic, "g", client, model, strategy)
    answer = await talker.ok(QueryAssignment(), dumps(body))
    found = decode(answer.body, AssignmentsBody).message_queue_assignments
    return None if found is None else [(a.message_queue.queue_id, a.mode) for a in found]


async def set_mode(talker, mode="POP", share=0, **fields):
    values = {"topic": "t", "consumer_group": "g"} | fields
    body = dumps(RequestModeBody(mode=mode, pop_share_queue_num=share, **values))
    return await talker.invoke(SetMessageRequestMode(), body)


async def join(world, *names):
    for name in names:
        await world.connect().heartbeat("g", SubscriptionData(topic="t"), client_id=name)


async def test_queues_are_pulled_and_shared_unless_said_otherwise():
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "c1", "c2")
        assert await assigned(world.client, "c1") == [(0, "PULL")]
        assert await assigned(world.client, "c2") == [(1, "PULL")]
        assert await assigned(world.client, "c2", strategy="AVG_BY_CIRCLE") == [(1, "PULL")]
        assert await assigned(world.client, "stranger") == []


async def test_popped_queues_are_any_of_the_broker_for_each():
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "c1", "c2")
        assert (await set_mode(world.client)).code == 0
        answer = await world.client.ok(
            QueryAssignment(), dumps(QueryAssignmentBody("t", "g", "c2", "CLUSTERING", "AVG"))
        )
        assert decode(answer.body, AssignmentsBody).message_queue_assignments == [
            Assignment(QueueBody("broker-a", -1, "t"), "POP")
        ]
        await set_mode(world.client, "PULL")
        assert await assigned(world.client, "c1") == [(0, "PULL")]


async def test_popped_queues_may_be_shared_with_a_few():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.cluster.create_topic("wide", 8)
        for name in ("c1", "c2", "c3", "c4"):
            await world.connect().heartbeat("g", SubscriptionData(topic="wide"), client_id=name)
        await set_mode(world.client, share=1, topic="wide")
        shares = [await assigned(world.client, name, "wide") for name in ("c1", "c2", "c4")]
        assert shares == [
            [(queue, "POP") for queue in queues] for queues in ([0, 1, 2, 3], [2, 3, 4, 5], [6, 7, 0, 1])
        ]
        await set_mode(world.client, share=1)
        assert await assigned(world.client, "c3") == [(0, "POP")]


async def test_who_cannot_be_assigned_anything_keeps_what_it_has():
    async with ClusterScene(topics={"t": 2}) as world:
        assert await assigned(world.client) is None  # no member
        await join(world, "c1")
        assert await assigned(world.client, topic="absent") is None
        assert await assigned(world.client, strategy="MY_OWN") is None
        assert await assigned(world.client, model="BROADCASTING") == [(0, "PULL"), (1, "PULL")]


async def test_pop_may_be_the_default():
    async with ClusterScene(topics={"t": 2}, sections=[AssignmentSettings(request_mode="POP")]) as world:
        await join(world, "c1")
        assert await assigned(world.client) == [(-1, "POP")]
        assert await assigned(world.client, topic="%RETRY%g") == [(0, "PULL")]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "absent"}, 17),
        ({"topic": "%RETRY%g"}, 16),
        ({"mode": "PUSH"}, 29),
    ],
)
async def test_bad_modes_are_refused(fields, code):
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "c1")
        answer = await set_mode(world.client, **fields)
        assert (answer.code, bool(answer.remark)) == (code, True)
        answer = await world.client.ok(GetAllMessageRequestMode())
        assert decode(answer.body, RequestModeTable).message_request_mode_map == {}


async def test_a_group_is_made_by_its_mode_where_groups_are_made_by_themselves():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await set_mode(world.client, consumer_group="fresh")
        assert answer.code == 0
        answer = await world.client.ok(GetAllMessageRequestMode())
        assert list(decode(answer.body, RequestModeTable).message_request_mode_map["t"]) == ["fresh"]


async def test_the_mode_of_an_unknown_group_is_refused_where_they_are_not():
    async with ClusterScene(topics={"t": 2}, broker={"auto_create_groups": False}) as world:
        answer = await set_mode(world.client, consumer_group="fresh")
        assert (answer.code, bool(answer.remark)) == (26, True)


async def test_modes_survive_a_kill():
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "c1")
        await set_mode(world.client, share=3)
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        answer = await world.connect().ok(GetAllMessageRequestMode())
        assert decode(answer.body, RequestModeTable).message_request_mode_map == {
            "t": {"g": RequestModeBody("t", "g", "POP", 3)}
        }


async def test_modes_have_a_limit_which_is_shown():
    async with ClusterScene(topics={"t": 2}, broker={"group_rules_max": 64}) as world:
        for number in range(64):
            assert (await set_mode(world.client, consumer_group=f"g{number}")).code == 0
        answer = await set_mode(world.client, consumer_group="g64")
        assert (answer.code, "(broker.group_rules_max)" in answer.remark) == (ResponseCode.SYSTEM_BUSY, True)
        assert (await set_mode(world.client, "PULL", consumer_group="g0")).code == 0
        shown = decode((await world.client.ok(GetBrokerRuntimeInfo())).body, KVTable).table
        assert [shown[f"budget.requestModes.{what}"] for what in ("used", "max", "refused")] == [
            "64",
            "64",
            "1",
        ]


async def test_queues_of_all_brokers_are_shared_out():
    async with ClusterScene(2, topics={"t": 2}) as world:
        await join(world, "c1")
        answer = await world.client.ok(
            QueryAssignment(), dumps(QueryAssignmentBody("t", "g", "c1", "CLUSTERING", "AVG"))
        )
        found = decode(answer.body, AssignmentsBody).message_queue_assignments
        assert [each.message_queue for each in found] == [
            QueueBody(broker, number, "t") for broker in ("broker-a", "broker-b") for number in (0, 1)
        ]


async def test_operators_change_what_is_usual_while_the_broker_runs():
    async with ClusterScene(topics={"t": 2}) as world:
        await join(world, "c1")
        await world.client.ok(UpdateBrokerConfig(), b"defaultMessageRequestMode=POP")
        assert await assigned(world.client) == [(-1, "POP")]
