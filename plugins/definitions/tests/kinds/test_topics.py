"""Topics as definitions, on two brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_definitions.kinds.topics import Topics, TopicSpec
from mqframe_testing import Cluster

from mqframe import Admin


@pytest.fixture
def admin() -> Iterator[Admin]:
    with Cluster(2) as cluster, Admin(nameserver=cluster.nameserver) as made:
        yield made


def test_a_topic_is_read_as_it_was_made_at_each_broker(admin: Admin) -> None:
    topics = Topics(admin)
    assert topics.current(None) == {}
    wanted = TopicSpec(queues=3, type="PRIORITY", attributes={"colour": "blue"})
    topics.apply("orders", wanted, new=True)
    assert topics.current(None) == {"orders": {"broker-a": wanted, "broker-b": wanted}}
    assert topics.current(["others"]) == {}
    ordered = TopicSpec(queues=4, perm=4, order=True, type="PRIORITY", attributes={"colour": "red"})
    topics.apply("orders", ordered, new=False)
    assert topics.current(["orders"]) == {"orders": {"broker-a": ordered, "broker-b": ordered}}
    topics.delete("orders")
    assert topics.current(None) == {}


def test_a_broker_without_the_topic_is_a_place_that_lacks_it(admin: Admin) -> None:
    admin.topics.create("orders", queues=2, broker="broker-b")
    assert Topics(admin).current(["orders"]) == {"orders": {"broker-a": None, "broker-b": TopicSpec(2)}}


def test_retry_topics_and_those_of_the_system_are_no_definitions(admin: Admin) -> None:
    admin.topics.create("%RETRY%billing", queues=1)
    assert Topics(admin).current(None) == {}
