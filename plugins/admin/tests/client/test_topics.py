"""Administration of topics, on two brokers."""

import pytest
from mqframe_admin.bodies import GroupList, TopicTotal
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.topics import AsyncTopicAdmin
from mqframe_admin.requests import GetTopicTotals, QueryTopicConsumeByWho
from mqframe_testing.consuming import ClientScene

from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.consuming.group_config import SubscriptionGroupConfig, SubscriptionGroupTable
from mqframe.core.errors import AnswerError, FixError, MessageError
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig, GetAllTopicConfig, GetTopicConfig
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame


def topics(scene: ClientScene) -> AsyncTopicAdmin:
    return AsyncTopicAdmin(AdminCalls(scene.instance))


def test_topics_come_and_go(admin):
    admin.topics.create("made", queues=3, read_queues=4, order=True)
    assert "made" in admin.topics.list()
    configs = admin.topics.config("made")
    assert sorted(configs) == ["broker-a", "broker-b"]
    assert {(c.read_queue_nums, c.write_queue_nums, c.order, c.perm) for c in configs.values()} == {
        (4, 3, True, 6)
    }
    admin.topics.create("made", queues=5, broker="broker-a")
    assert admin.topics.config("made")["broker-a"].write_queue_nums == 5
    assert len(admin.topics.route("made").queue_datas) == 2
    assert len(admin.topics.stats("made")) >= 6
    admin.topics.delete("made")
    assert "made" not in admin.topics.list()
    with pytest.raises(AnswerError):
        admin.topics.route("made")


def test_a_broker_tells_what_all_its_topics_hold(admin):
    admin.topics.create("held", queues=3, broker="broker-a")
    masters = admin.cluster.masters()
    totals = {name: admin.topics.totals(address) for name, address in masters.items()}
    assert totals["broker-a"]["held"] == TopicTotal(3, 0, 0)
    assert "held" not in totals["broker-b"]


async def test_a_broker_that_does_not_know_of_totals_tells_none():
    async with ClientScene({"orders": 1}) as scene:
        scene.broker.script(GetTopicTotals, AnswerError(3, "not supported", scene.broker.address))
        assert await scene.finish(topics(scene).totals(scene.broker.address)) is None


@pytest.mark.parametrize(("known", "found"), [([], ["g"]), (["orders"], ["g", "orders"])])
async def test_a_topic_that_a_broker_takes_for_a_group_is_none(known, found):
    async with ClientScene({"orders": 1}) as scene:
        groups = GroupList(group_list=["orders", "g"])
        table = SubscriptionGroupTable(
            subscription_group_table={name: SubscriptionGroupConfig(group_name=name) for name in known}
        )
        scene.broker.script(QueryTopicConsumeByWho, lambda _: Frame(0, body=loose_json.dumps(groups)))
        scene.broker.script(GetAllSubscriptionGroupConfig, lambda _: Frame(0, body=loose_json.dumps(table)))
        assert await scene.finish(topics(scene).groups("orders")) == found


def test_attributes_are_set_and_taken_away_by_name(admin):
    for attributes, left in (
        ({"message.type": "FIFO"}, {"message.type": "FIFO"}),
        ({"+message.type": "DELAY", "other": "1"}, {"message.type": "DELAY", "other": "1"}),
        ({"-message.type": "", "+other": "2"}, {"other": "2"}),
        (None, {"other": "2"}),
    ):
        admin.topics.create("made", attributes=attributes)
        assert [config.attributes for config in admin.topics.config("made").values()] == [left] * 2


def test_what_is_wrong_with_a_topic(admin):
    with pytest.raises(MessageError):
        admin.topics.create("a b")
    with pytest.raises(MessageError, match="at least one queue"):
        admin.topics.create("none", queues=0)
    with pytest.raises(FixError, match="cluster nowhere is not known; known: DefaultCluster"):
        admin.topics.create("x", cluster="nowhere")
    with pytest.raises(FixError, match="no master of nobody"):
        admin.topics.create("x", broker="nobody")


async def test_brokers_that_tell_of_all_topics_only_are_asked_for_all():
    async with ClientScene({"orders": 1}) as scene:
        table = TopicConfigTable(topic_config_table={"orders": TopicConfig(topic_name="orders", perm=4)})
        scene.broker.script(GetTopicConfig, AnswerError(3, "request type 351 not supported", "a:1"))
        scene.broker.script(GetAllTopicConfig, lambda _: Frame(0, body=loose_json.dumps(table)))
        found = await scene.finish(topics(scene).config("orders"))
        assert {name: config.perm for name, config in found.items()} == {"broker-a": 4}
