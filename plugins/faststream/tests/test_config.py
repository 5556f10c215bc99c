"""Which group, topic and policy count."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from faststream import AckPolicy
from faststream.exceptions import IncorrectState
from mqframe_faststream import MqframeBroker, MqframeRouter
from mqframe_faststream.config import MqframeBrokerConfig, group_of, groups_of, topic_of
from mqframe_faststream.consuming.options import SubscriberPlan

from mqframe import MessageQueue


def test_the_subscriber_s_group_wins_then_the_broker_s_then_one_of_the_topic() -> None:
    broker, plain = MqframeBrokerConfig(group="billing"), MqframeBrokerConfig()
    assert group_of(SubscriberPlan(topic="orders", group="own"), broker) == "own"
    assert group_of(SubscriberPlan(topic="orders"), broker) == "billing"
    assert group_of(SubscriberPlan(topic="orders"), plain) == "faststream-orders"
    assert group_of(SubscriberPlan(pattern="orders-{region}"), plain) == "faststream-orders-_region_"
    assert group_of(SubscriberPlan(pattern="orders-{region}"), broker) == "billing"


def test_prefixes_come_before_topics_and_groups_of_topics() -> None:
    broker, outer, inner = MqframeBroker(), MqframeRouter(prefix="a_"), MqframeRouter(prefix="b_")
    subscriber, publisher = inner.subscriber("orders"), inner.publisher("bills")
    outer.include_router(inner)
    broker.include_router(outer, prefix="c_")
    assert (subscriber.topic, subscriber.group) == ("c_a_b_orders", "faststream-c_a_b_orders")
    assert publisher.topic == "c_a_b_bills"
    meant = inner.subscriber(pattern="orders-{region}")
    assert (meant.topic, meant.group) == ("c_a_b_orders-{region}", "faststream-c_a_b_orders-_region_")
    assert (meant.takes("c_a_b_orders-eu"), meant.takes("orders-eu")) == (True, False)
    reader = inner.subscriber(queues={MessageQueue("orders", "broker-a", 1): 5})
    assert reader.queues == {MessageQueue("c_a_b_orders", "broker-a", 1): 5}
    assert topic_of("orders", broker.config.broker_config) == "orders"


def test_policies_of_subscriber_router_and_broker() -> None:
    def policies(broker_policy, router_policy, own):
        chosen = {"ack_policy": broker_policy} if broker_policy else {}
        router = MqframeRouter(**({"ack_policy": router_policy} if router_policy else {}))
        broker = MqframeBroker(routers=[router], **chosen)
        assert broker.subscribers == []
        return router.subscriber("orders", **({"ack_policy": own} if own else {})).ack_policy

    assert policies(None, None, None) is AckPolicy.NACK_ON_ERROR
    assert policies(AckPolicy.ACK, None, None) is AckPolicy.ACK
    assert policies(AckPolicy.ACK, AckPolicy.MANUAL, None) is AckPolicy.MANUAL
    assert policies(AckPolicy.ACK, AckPolicy.MANUAL, AckPolicy.ACK_FIRST) is AckPolicy.ACK_FIRST


def test_there_are_no_groups_before_there_is_a_connection() -> None:
    with pytest.raises(IncorrectState, match="not connected"):
        groups_of(MqframeBrokerConfig())
    groups = SimpleNamespace()
    assert groups_of(SimpleNamespace(groups=groups)) is groups
