"""Strategies that share by a snapshot of lags, on Apache's name server and broker and on ours."""

from __future__ import annotations

import threading

import pytest
from real_time import until

from interop.servers import Servers
from mqframe import Admin, ClientSettings, ConsumeResult, ConsumerSettings, Message, Producer, PushConsumer

pytestmark = pytest.mark.proves("consuming")

pytest.importorskip("mqframe_lagaware", reason="the plugin is not installed")

GROUP = "lag_sharers"
OPTIONS = {"interval_seconds": 4, "lead_seconds": 2, "queue_cost": 10}


def test_members_share_by_the_lags_that_brokers_tell(servers: Servers, topic: str) -> None:
    gate = threading.Event()

    def wait(messages: object, context: object) -> ConsumeResult:
        gate.wait(120)
        return ConsumeResult.SUCCESS

    members = [
        PushConsumer(
            GROUP,
            client=ClientSettings(nameserver=servers.nameserver, instance_name=name),
            settings=ConsumerSettings(rebalance_seconds=0.5),
            allocate="lag_aware",
            allocate_options=OPTIONS,
            consume_from="first",
        )
        for name in ("m1", "m2")
    ]
    with Producer("shop", nameserver=servers.nameserver) as producer:
        late = min(producer.queues(topic))
        for number in range(300):
            producer.submit(Message(topic, b"%d" % number), queue=late)
        producer.flush()
    for member in members:
        member.subscribe(topic, "*", wait)
        member.start()
    try:
        first = min(members, key=lambda member: member.client_id)
        until(lambda: first.queues == [late] and sum(len(member.queues) for member in members) == 4, 90)
        with Admin(nameserver=servers.nameserver) as admin:
            assert f"{GROUP}/lag_aware/{topic}" in admin.list_kv("MQFRAME_ALLOCATION")
            plan = admin.allocation_plan(GROUP, "lag_aware", OPTIONS)
        by_topic = {each.topic: each for each in plan.topics}
        assert [each.moves for each in by_topic[topic].queues] == [False] * 4
        assert by_topic[topic].basis.startswith("snapshot ")
    finally:
        gate.set()
        for member in members:
            member.stop()
