from __future__ import annotations

import pytest

from mqframe.client.consuming.group.subscriptions import Subscriptions, SubscriptionTable
from mqframe.core.errors import FixError, MessageError
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", "a", 1), MessageQueue("orders", "a", 0), MessageQueue("bills", "a", 0)]


@pytest.fixture
def interests() -> Subscriptions:
    times = iter([10, 10, 10, 20])
    return Subscriptions("billing", lambda: next(times))


def test_a_version_grows_with_each_change_and_only_then(interests: Subscriptions) -> None:
    interests.subscribe("orders", "a || b")
    first = interests.by_topic["orders"]
    interests.subscribe("orders", "a || b")
    assert interests.by_topic["orders"] is first
    interests.subscribe("orders", "c")
    assert (first.version, interests.by_topic["orders"].version) == (10, 11)
    [told] = interests.subscriptions()
    assert (told.topic, told.sub_string, told.sub_version) == ("orders", "c", 11)
    assert interests.unsubscribe("orders")
    assert not interests.unsubscribe("orders")
    assert interests.subscriptions() == []


def test_assigned_queues_are_sorted_and_brokers_are_not_told(interests: Subscriptions) -> None:
    assert interests.assign([*QUEUES, QUEUES[0]], {"orders": "a"}) == sorted(QUEUES)
    assert {topic: each.filter.expression for topic, each in interests.by_topic.items()} == {
        "orders": "a",
        "bills": "*",
    }
    assert interests.subscriptions() == []
    interests.assign(QUEUES[2:], "*")
    assert list(interests.by_topic) == ["bills"]


def test_the_two_ways_exclude_each_other(interests: Subscriptions) -> None:
    interests.subscribe("orders", "*")
    with pytest.raises(FixError, match="uses `subscribe`, which excludes `assign`"):
        interests.assign(QUEUES, "*")
    other = Subscriptions("billing", lambda: 1)
    other.assign(QUEUES, "*")
    for refused in (lambda: other.subscribe("orders", "*"), lambda: other.unsubscribe("orders")):
        with pytest.raises(FixError, match="uses `assign`, which excludes"):
            refused()


def test_what_cannot_be_wanted_changes_nothing(interests: Subscriptions) -> None:
    with pytest.raises(FixError, match="no queues to assign"):
        interests.assign([], "*")
    with pytest.raises(MessageError):
        interests.subscribe("no topic", "*")
    with pytest.raises(FixError, match="names no tag"):
        interests.assign(QUEUES, "||")
    assert (interests.by_topic, interests.queues) == ({}, None)


def test_a_topic_stands_still_where_it_or_its_listener_is_paused() -> None:
    class Listened:
        def __init__(self, topic: str, listener: object) -> None:
            self.topic, self.listener = topic, listener

    table: SubscriptionTable = SubscriptionTable(
        {topic: Listened(topic, topic.upper()) for topic in ("orders", "bills")},
        Listened("%RETRY%g", "RETRY"),
    )
    topics = ["orders", "bills", "%RETRY%g", "others"]
    assert [table.stands(topic) for topic in topics] == [False] * 4
    table.paused += ["bills", "others"]
    assert [table.stands(topic) for topic in topics] == [False, True, False, True]
    table.paused[:] = ["ORDERS"]
    assert [table.stands(topic) for topic in topics] == [True, False, False, False]
