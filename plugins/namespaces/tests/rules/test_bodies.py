"""JSON bodies with other names in them."""

from __future__ import annotations

from functools import partial

import pytest
from mqframe_namespaces.rules.bodies import own_topics, renamed_body
from mqframe_namespaces.rules.names import stripped, wrapped

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.consuming.bodies import LockBody, OffsetTableBody, QueueBody
from mqframe.core.consuming.running_info import ConsumerRunningInfo, ConsumeStatus, ProcessQueueInfo
from mqframe.core.errors import BodyError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.loose_json import decode, dumps

WRAP, STRIP = partial(wrapped, "shop"), partial(stripped, "shop")
QUEUE, WITHIN = MessageQueue("orders", "broker-a", 1), MessageQueue("shop%orders", "broker-a", 1)


def test_a_heartbeat_names_its_groups_and_topics() -> None:
    subscribed = [SubscriptionData(topic=topic, sub_string="topic") for topic in ("orders", "%RETRY%g")]
    consumer = ConsumerData("g", subscription_data_set=subscribed)
    body = dumps(HeartbeatData("c@1", [consumer], producer_data_set=[ProducerData("p")]))
    found = decode(renamed_body(memoryview(body), WRAP), HeartbeatData)
    assert [each.group_name for each in found.producer_data_set] == ["shop%p"]
    [said] = found.consumer_data_set
    assert (found.client_id, said.group_name) == ("c@1", "shop%g")
    assert [(each.topic, each.sub_string) for each in said.subscription_data_set] == [
        ("shop%orders", "topic"),
        ("%RETRY%shop%g", "topic"),
    ]


def test_locks_name_their_queues() -> None:
    body = LockBody("c@1", "g", [QueueBody("broker-a", 1, "orders")])
    found = decode(renamed_body(dumps(body), WRAP), LockBody)
    assert found == LockBody("c@1", "shop%g", [QueueBody("broker-a", 1, "shop%orders")])
    assert decode(renamed_body(dumps(found), STRIP), LockBody) == body


def test_queues_that_are_keys_and_tables_by_topic() -> None:
    info = ConsumerRunningInfo(
        mq_table={QUEUE: ProcessQueueInfo(cached_msg_count=3)}, status_table={"orders": ConsumeStatus()}
    )
    found = decode(renamed_body(dumps(info), WRAP), ConsumerRunningInfo)
    assert found.mq_table == {WITHIN: ProcessQueueInfo(cached_msg_count=3)}
    assert list(found.status_table) == ["shop%orders"]
    table = dumps(OffsetTableBody(offset_table={WITHIN: 7}))
    assert decode(renamed_body(table, STRIP), OffsetTableBody).offset_table == {QUEUE: 7}


def test_fields_may_have_other_names() -> None:
    assert renamed_body(b'{"acks":[{"c":"g","t":"t","topic":"x"}]}', WRAP, {"c", "t"}) == (
        b'{"acks":[{"c":"shop%g","t":"shop%t","topic":"x"}]}'
    )


def test_of_all_topics_its_own_are_listed() -> None:
    body = dumps(TopicList(topic_list=["orders", "shop%bills", "%RETRY%shop%g", "other%x", "TBW102"]))
    assert decode(own_topics(memoryview(body), "shop"), TopicList).topic_list == ["bills", "%RETRY%g"]


def test_what_is_no_json_is_told() -> None:
    with pytest.raises(BodyError):
        renamed_body(b"{", WRAP)
