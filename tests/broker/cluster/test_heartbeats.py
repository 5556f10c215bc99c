import pytest
from mqframe_admin.bodies import ConsumerConnection, ProducerConnection, ProducerTable
from mqframe_admin.requests import (
    GetAllProducerInfo,
    GetConsumerConnectionList,
    GetProducerConnectionList,
    UpdateAndCreateSubscriptionGroup,
)
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.cluster.heartbeats import NOTICES
from mqframe.core.cluster.client_bodies import CheckClientBody, ConsumerData, HeartbeatData, ProducerData
from mqframe.core.codes import VERSION
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import GetTopicConfig
from mqframe.core.requests.consumers import (
    CheckClientConfig,
    GetConsumerListByGroup,
    HeartBeat,
    UnregisterClient,
)
from mqframe.core.wire.loose_json import decode, dumps, loads

SUBSCRIPTION = SubscriptionData(topic="t", sub_string="a || b", sub_version=3)


async def members(world, group="g"):
    answer = await world.client.invoke(GetConsumerListByGroup(consumer_group=group))
    return loads(answer.body)["consumerIdList"] if answer.code == 0 else answer.code


async def test_a_heartbeat_makes_member_group_and_retry_topic():
    async with ClusterScene(topics={"t": 2}) as world:
        assert await members(world) == 1
        answer = await world.client.heartbeat("g", SUBSCRIPTION, producers=["p"])
        assert answer.ext == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
        assert answer.version == VERSION
        assert await members(world) == ["c1"]
        retry = loads((await world.client.ok(GetTopicConfig(topic="%RETRY%g"))).body)
        assert (retry["readQueueNums"], retry["perm"]) == (1, 6)


async def test_the_retry_topic_that_a_unit_has_made_says_so_and_keeps_it():
    async with ClusterScene(topics={"t": 2}) as world:
        for unit_mode, flag in ((True, 2), (False, 2)):
            consumer = ConsumerData("g", subscription_data_set=[SUBSCRIPTION], unit_mode=unit_mode)
            await world.client.ok(HeartBeat(), dumps(HeartbeatData("c1", [consumer])))
            retry = loads((await world.client.ok(GetTopicConfig(topic="%RETRY%g"))).body)
            assert retry["topicSysFlag"] == flag


async def test_all_members_hear_of_a_change_and_only_then():
    async with ClusterScene(topics={"t": 2}) as world:
        second = world.connect()
        await world.client.heartbeat("g", SUBSCRIPTION)
        await second.heartbeat("g", SUBSCRIPTION, client_id="c2")
        await world.settle()
        assert (world.client.notices, second.notices) == (["g", "g"], ["g"])
        await second.heartbeat("g", SUBSCRIPTION, client_id="c2")
        await world.settle()
        assert (world.client.notices, second.notices) == (["g", "g"], ["g"])
        await second.heartbeat("g", SUBSCRIPTION, SubscriptionData(topic="u"), client_id="c2")
        await world.settle()
        assert (len(world.client.notices), len(second.notices)) == (3, 2)
        await second.ok(UnregisterClient(client_id="c2", consumer_group="g"))
        await world.settle()
        assert (len(world.client.notices), len(second.notices)) == (4, 2)
        assert await members(world) == ["c1"]


async def test_broadcasting_members_and_quiet_groups_are_not_told():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("b", SUBSCRIPTION, message_model="BROADCASTING")
        quiet = dumps({"groupName": "q", "notifyConsumerIdsChangedEnable": False})
        await world.client.ok(UpdateAndCreateSubscriptionGroup(), quiet)
        await world.client.heartbeat("q", SUBSCRIPTION)
        await world.settle()
        assert world.client.notices == []


async def test_a_lost_connection_takes_its_member_along():
    async with ClusterScene(topics={"t": 2}) as world:
        other = world.connect()
        await world.client.heartbeat("g", SUBSCRIPTION)
        await other.heartbeat("g", SUBSCRIPTION, client_id="c2", producers=["p"])
        await world.settle()
        before = len(world.client.notices)
        await other.client.close()
        await world.settle()
        assert await members(world) == ["c1"]
        assert len(world.client.notices) == before + 1
        assert (await world.client.invoke(GetProducerConnectionList(producer_group="p"))).code == 1


async def test_a_silent_member_is_dropped_after_two_minutes():
    async with ClusterScene(topics={"t": 2}) as world:
        silent = world.connect()
        await silent.heartbeat("g", SUBSCRIPTION, client_id="c2")
        for _ in range(5):
            await world.clock.aadvance(28)
            await world.client.heartbeat("g", SUBSCRIPTION)
            await silent.ok(GetConsumerListByGroup(consumer_group="g"))  # talks, but its heart is still
        assert await members(world) == ["c1"]


async def test_a_fingerprint_saves_sending_the_subscriptions_again():
    async with ClusterScene(topics={"t": 2}) as world:
        first = await world.client.heartbeat("g", SUBSCRIPTION, heartbeat_fingerprint=7)
        again = await world.client.heartbeat("g", heartbeat_fingerprint=7, without_sub=True)
        assert [first.ext["IS_SUB_CHANGE"], again.ext["IS_SUB_CHANGE"]] == ["false", "false"]
        answer = await world.client.ok(GetConsumerConnectionList(consumer_group="g"))
        assert list(decode(answer.body, ConsumerConnection).subscription_table) == ["t"]
        changed = await world.client.heartbeat("g", SUBSCRIPTION, heartbeat_fingerprint=8)
        assert changed.ext["IS_SUB_CHANGE"] == "true"


async def test_members_are_shown_with_what_they_want():
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await world.client.invoke(GetConsumerConnectionList(consumer_group="g"))).code == 206
        await world.client.heartbeat("g", SUBSCRIPTION, producers=["p"])
        answer = await world.client.ok(GetConsumerConnectionList(consumer_group="g"))
        shown = decode(answer.body, ConsumerConnection)
        (connection,) = shown.connection_set
        assert (connection.client_id, connection.language, connection.version) == ("c1", "PYTHON", VERSION)
        assert shown.subscription_table["t"].sub_string == "a || b"
        assert (shown.consume_type, shown.message_model) == ("CONSUME_PASSIVELY", "CLUSTERING")
        answer = await world.client.ok(GetProducerConnectionList(producer_group="p"))
        assert decode(answer.body, ProducerConnection).connection_set[0].client_id == "c1"
        answer = await world.client.ok(GetAllProducerInfo())
        assert decode(answer.body, ProducerTable).data["p"][0].last_update_timestamp == world.clock.now_ms()


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        ("TAG", "*", 0),
        (None, "*", 0),
        ("SQL92", "a > 1", 0),
        ("SQL92", "a >", 23),
        ("SQL92", None, 23),
        ("SQL93", "a > 1", 1),
    ],
)
async def test_a_subscription_can_be_checked_beforehand(kind, text, code):
    async with ClusterScene(topics={"t": 2}) as world:
        wanted = SubscriptionData(topic="t", expression_type=kind, sub_string=text)
        body = CheckClientBody(subscription_data=wanted)
        assert (await world.client.invoke(CheckClientConfig(), dumps(body))).code == code


@pytest.mark.parametrize("body", [b"", b"{", b'{"consumerDataSet":[]}', b"[]", b"\xff"])
async def test_a_heartbeat_that_is_none_is_refused(body):
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await world.client.invoke(HeartBeat(), body)
        assert (answer.code, bool(answer.remark)) == (1, True)


@pytest.mark.parametrize(
    ("beat", "setting"),
    [
        (HeartbeatData("c", [ConsumerData(f"g{n}") for n in range(3)]), "heartbeat_groups_max"),
        (
            HeartbeatData("c", [ConsumerData("g")], producer_data_set=[ProducerData("p"), ProducerData("q")]),
            "heartbeat_groups_max",
        ),
        (
            HeartbeatData(
                "c",
                [ConsumerData("g", subscription_data_set=[SubscriptionData(f"t{n}") for n in range(4)])],
            ),
            "heartbeat_subscriptions_max",
        ),
        (
            HeartbeatData(
                "c",
                [
                    ConsumerData(
                        "g",
                        subscription_data_set=[
                            SubscriptionData(f"t{n}", sub_string="x" * 400) for n in range(3)
                        ],
                    )
                ],
            ),
            "expression_chars_max",
        ),
        (
            HeartbeatData(
                "c", [ConsumerData("g", subscription_data_set=[SubscriptionData("t", sub_string="x" * 300)])]
            ),
            "expression_chars_max",
        ),
        (HeartbeatData("c" * 2000, [ConsumerData("g")]), "fixed"),
    ],
)
async def test_a_heartbeat_that_names_more_than_it_may_changes_nothing(beat, setting):
    limits = {"heartbeat_groups_max": 2, "heartbeat_subscriptions_max": 3, "expression_chars_max": 256}
    async with ClusterScene(topics={"t": 2}, broker=limits) as world:
        answer = await world.client.invoke(HeartBeat(), dumps(beat))
        assert answer.code in (29, 23)
        assert f"broker.{setting})" in answer.remark.replace("four times ", "")
        assert await members(world) == 1
        await world.client.heartbeat("g", SUBSCRIPTION, producers=["p"])
        assert await members(world) == ["c1"]


async def test_members_of_many_groups_are_notified_in_several_turns_and_once_for_many_changes():
    async with ClusterScene(topics={"t": 2}) as world:
        groups = [f"g{number}" for number in range(NOTICES)]
        beat = HeartbeatData("c", [ConsumerData(group) for group in groups])
        await world.client.ok(HeartBeat(), dumps(beat))
        await world.settle()
        assert world.client.notices == groups
        other = world.connect()
        beat.client_id = "d"
        await other.ok(HeartBeat(), dumps(beat))
        await world.settle()
        assert world.client.notices == groups * 2
        assert other.notices == groups
