"""Queues and addresses that a route gives (wire.md §8)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.cluster.route import TopicRoute, default_route
from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.errors import RouteError
from mqframe.core.messages.message import MessageQueue


def data(*queues, brokers=None, order=None):
    brokers = brokers or {"a": {0: "a:1", 1: "a:2"}, "b": {0: "b:1"}, "c": {1: "c:2", 2: "c:3"}}
    return TopicRouteData(
        broker_datas=[BrokerData(name, addresses, "x") for name, addresses in brokers.items()],
        order_topic_conf=order,
        queue_datas=[QueueData(*each) for each in queues],
    )


def test_queues_to_write_are_those_of_masters_that_may_be_written_sorted():
    route = TopicRoute("t", data(("b", 6, 2, 2), ("a", 2, 9, 1), ("c", 6, 4, 4)))
    assert route.write_queues() == (
        MessageQueue("t", "a", 0),
        MessageQueue("t", "b", 0),
        MessageQueue("t", "b", 1),
    )


def test_queues_to_read_need_the_read_bit_only():
    route = TopicRoute("t", data(("b", 4, 2, 0), ("a", 2, 9, 1), ("c", 6, 1, 4)))
    assert route.read_queues() == (
        MessageQueue("t", "b", 0),
        MessageQueue("t", "b", 1),
        MessageQueue("t", "c", 0),
    )


def test_an_order_configuration_gives_the_queues_to_write():
    route = TopicRoute("t", data(("a", 6, 8, 8), order="b:2;a:1"))
    assert route.ordered
    assert route.write_queues() == (
        MessageQueue("t", "b", 0),
        MessageQueue("t", "b", 1),
        MessageQueue("t", "a", 0),
    )


@pytest.mark.parametrize("order", ["a", "a:x", "a:1;b:"])
def test_a_bad_order_configuration_is_named(order):
    with pytest.raises(RouteError, match="order configuration of topic t"):
        TopicRoute("t", data(order=order))


def test_addresses():
    route = TopicRoute("t", data())
    assert route.master_address("a") == "a:1"
    assert route.master_address("c") is None
    assert route.master_address("nobody") is None
    assert route.any_address("a", 1) == "a:2"
    assert route.any_address("c", 1) == "c:2"
    assert route.any_address("c", 0) == "c:2"
    assert route.any_address("a", 7) == "a:1"
    assert route.any_address("c", 1) == "c:2"
    assert route.any_address("nobody") is None


def test_a_missing_slave_is_replaced_by_the_next_one():
    route = TopicRoute("t", data(brokers={"a": {0: "a:0", 3: "a:3"}}))
    assert route.any_address("a", 2) == "a:3"


@given(st.integers(1, 8), st.integers(0, 12), st.integers(0, 12))
def test_the_default_route_is_cut_to_what_can_be_read_and_what_is_asked(asked, read, write):
    route = default_route("new", data(("a", 7, read, write)), asked)
    count = min(asked, read)
    assert route.from_default
    assert route.write_queues() == tuple(MessageQueue("new", "a", number) for number in range(count))
    assert route.read_queues() == route.write_queues()


def test_routes_are_compared_whatever_the_order():
    one = TopicRoute("t", data(("a", 6, 1, 1), ("b", 6, 2, 2)))
    assert one.same_as(TopicRoute("t", data(("b", 6, 2, 2), ("a", 6, 1, 1))))
    assert not one.same_as(TopicRoute("t", data(("b", 6, 2, 2), ("a", 4, 1, 1))))
    assert not one.same_as(TopicRoute("t", data(("b", 6, 2, 2), ("a", 6, 1, 1), brokers={"a": {0: "z:1"}})))


@pytest.mark.parametrize(
    "said",
    [
        data(("a", 6, 2**31, 1)),
        data(("a", 6, 1, 2**63)),
        data(("a", 6, 40_000, 40_000), ("b", 6, 40_000, 40_000)),
        data(("a", 6, 1, 1), order="a:99999999999"),
        data(("a", 6, 1, 1), order="a:" + "9" * 5000),
        data(("a", 6, 1, 1), order="a:\u00b2"),
    ],
)
def test_a_route_of_absurdly_many_queues_is_none(said):
    # Whoever reads it would make each of them: gigabytes, and minutes of its loop.
    with pytest.raises(RouteError, match="topic t"):
        TopicRoute("t", said)


def test_queues_that_are_not_for_this_one_do_not_count():
    route = TopicRoute("t", data(("a", 2, 2**31, 3), ("b", 4, 2, 2**31), ("c", 0, 2**40, 2**40)))
    assert (len(route.write_queues()), len(route.read_queues())) == (3, 2)


def test_a_route_of_absurdly_many_brokers_is_none():
    with pytest.raises(RouteError, match="of topic t says 12000 addresses"):
        TopicRoute("t", data(brokers={f"b{n}": {0: "h:1", 1: "h:2"} for n in range(6000)}))


def test_fewer_queues_than_none_are_none():
    route = TopicRoute("t", data(("a", 6, -(10**9), -1)))
    assert (route.read_queues(), route.write_queues()) == ((), ())


@pytest.mark.parametrize("count", ["\u00b2", "9" * 5000, "-1", "1.5", "\udc80"])
def test_an_order_configuration_with_a_count_that_is_none(count):
    with pytest.raises(RouteError, match="is not broker:queues"):
        TopicRoute("t", data(order=f"a:{count}"))
