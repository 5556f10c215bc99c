"""Administration of groups: configuration, lag and request modes."""

import pytest

from mqframe import Message, MessageQueue
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import FixError, MqframeError, RouteError


def test_groups_come_and_go(admin):
    admin.groups.create("plain")
    admin.groups.create(SubscriptionGroupConfig("tuned", retry_max_times=3))
    assert {"plain", "tuned"} <= set(admin.groups.list())
    assert admin.groups.configs()["tuned"].retry_max_times == 3
    admin.groups.delete("plain", clean_offsets=True)
    assert "plain" not in admin.groups.list()
    assert admin.members.consumers("tuned").connection_set == []


def test_the_lag_of_a_topic_or_a_group_that_there_is_not_is_an_error(admin, producer):
    admin.topics.create("lagging", queues=1, broker="broker-a")
    admin.groups.create("slow-readers")
    for _ in range(3):
        producer.send(Message("lagging", b"x"))
    with pytest.raises(RouteError, match="lagged"):
        admin.groups.lag("slow-readers", "lagged")
    for topics in ((), ("lagging",)):
        with pytest.raises(FixError, match=r"there is no group slow-reader; did you mean slow-readers\?"):
            admin.groups.lag("slow-reader", *topics)
    assert admin.groups.lag("slow-readers") == 0
    assert admin.groups.lag("slow-readers", "lagging") == 3
    queue = MessageQueue("lagging", "broker-a", 0)
    admin.offsets.reset("slow-readers", "lagging", 0)
    admin.groups.delete("slow-readers")
    assert admin.groups.lag("slow-readers", "lagging") == admin.offsets.max(queue), "its progress is known"


def test_request_modes(admin):
    admin.topics.create("switched", queues=2)
    admin.groups.set_request_mode("switchers", "switched", "POP", share=2)
    (mode,) = admin.groups.request_modes("switchers")
    assert (mode.topic, mode.consumer_group, mode.mode, mode.pop_share_queue_num) == (
        "switched",
        "switchers",
        "POP",
        2,
    )
    admin.groups.set_request_mode("switchers", "switched", "PULL")
    assert [mode.mode for mode in admin.groups.request_modes("switchers")] == ["PULL"]
    assert admin.groups.request_modes("others") == []
    with pytest.raises(FixError, match="'PUSH'"):
        admin.groups.set_request_mode("switchers", "switched", "PUSH")
    with pytest.raises(MqframeError, match="absent"):
        admin.groups.set_request_mode("switchers", "absent", "POP")
