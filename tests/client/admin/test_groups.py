"""Administration of groups: configuration, members, offsets and request modes."""

import pytest

from mqframe import Message, MessageQueue
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import FixError, MqframeError, RouteError


def test_groups_come_and_go(admin):
    admin.create_group("plain")
    admin.create_group(SubscriptionGroupConfig("tuned", retry_max_times=3))
    assert {"plain", "tuned"} <= set(admin.list_groups())
    assert admin.group_configs()["tuned"].retry_max_times == 3
    admin.delete_group("plain", clean_offsets=True)
    assert "plain" not in admin.list_groups()
    assert admin.consumer_connections("tuned").connection_set == []


def test_offsets(admin, producer):
    admin.create_topic("offsets", queues=1, broker="broker-a")
    admin.create_group("reading")
    queue = MessageQueue("offsets", "broker-a", 0)
    results = [producer.send(Message("offsets", b"%d" % n), queue=queue) for n in range(5)]
    assert (admin.min_offset(queue), admin.max_offset(queue)) == (0, 5)
    stored = [admin.message_by_id(result.offset_message_id).store_timestamp for result in results]
    assert admin.earliest_store_time(queue) == stored[0]
    assert admin.search_offset(queue, stored[0] - 1) == 0
    assert admin.search_offset(queue, stored[-1] + 1000) in (4, 5)
    assert admin.lag("reading", "offsets") == 5 or admin.consume_stats("reading") == {}
    assert admin.reset_offsets("reading", "offsets") == {queue: 5}
    with pytest.raises(FixError, match="no broker of that name"):
        admin.max_offset(MessageQueue("offsets", "broker-z", 0))


def test_the_lag_of_a_topic_or_a_group_that_there_is_not_is_an_error(admin, producer):
    admin.create_topic("lagging", queues=1, broker="broker-a")
    admin.create_group("slow-readers")
    for _ in range(3):
        producer.send(Message("lagging", b"x"))
    with pytest.raises(RouteError, match="lagged"):
        admin.lag("slow-readers", "lagged")
    for topics in ((), ("lagging",)):
        with pytest.raises(FixError, match=r"there is no group slow-reader; did you mean slow-readers\?"):
            admin.lag("slow-reader", *topics)
    assert admin.lag("slow-readers") == 0
    assert admin.lag("slow-readers", "lagging") == 3
    queue = MessageQueue("lagging", "broker-a", 0)
    admin.reset_offsets("slow-readers", "lagging", 0)
    admin.delete_group("slow-readers")
    assert admin.lag("slow-readers", "lagging") == admin.max_offset(queue), "its progress is known"


def test_members_of_a_producer_group(admin, producer):
    admin.create_topic("members")
    producer.send(Message("members", b"x"))
    producer.flush()
    (member,) = admin.producer_connections("shop").connection_set
    assert (member.client_id, member.language, member.version) == (producer.client_id, "PYTHON", 479)
    assert admin.producer_connections("nobody").connection_set == []


def test_request_modes(admin):
    admin.create_topic("switched", queues=2)
    admin.set_request_mode("switchers", "switched", "POP", share=2)
    (mode,) = admin.request_modes("switchers")
    assert (mode.topic, mode.consumer_group, mode.mode, mode.pop_share_queue_num) == (
        "switched",
        "switchers",
        "POP",
        2,
    )
    admin.set_request_mode("switchers", "switched", "PULL")
    assert [mode.mode for mode in admin.request_modes("switchers")] == ["PULL"]
    assert admin.request_modes("others") == []
    with pytest.raises(FixError, match="'PUSH'"):
        admin.set_request_mode("switchers", "switched", "PUSH")
    with pytest.raises(MqframeError, match="absent"):
        admin.set_request_mode("switchers", "absent", "POP")
