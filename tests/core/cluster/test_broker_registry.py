from __future__ import annotations

from typing import Any

import pytest

from mqframe.core.cluster.broker_registry import (
    UNIT_FLAG,
    UNIT_SUB_FLAG,
    BrokerKey,
    BrokerRegistry,
)
from mqframe.core.cluster.registration import Registered, Registration
from mqframe.core.cluster.route_bodies import QueueData
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.errors import Refusal
from mqframe.core.wire.bodies import DataVersion


def table(*topics: str, counter: int = 1, state: int = 0, perm: int = 6, queues: int = 4) -> TopicConfigTable:
    version = DataVersion(counter, state, 7)
    configs = {
        topic: TopicConfig(topic_name=topic, perm=perm, read_queue_nums=queues, write_queue_nums=queues)
        for topic in topics
    }
    return TopicConfigTable(version, None, configs)


def told(*topics: str, name: str = "a", broker_id: int = 0, address: str = "", **more: Any) -> Registration:
    shape = {key: more.pop(key) for key in ("counter", "state", "perm", "queues") if key in more}
    return Registration(
        cluster=more.pop("cluster", "C"),
        name=name,
        address=address or f"{name}{broker_id}:1",
        broker_id=broker_id,
        ha_address=f"{name}{broker_id}:2",
        topics=table(*topics, **shape),
        **more,
    )


def register(registry: BrokerRegistry, registration: Registration, now: float) -> Registered:
    registered, steps = registry.register(registration, now)
    list(steps)
    return registered


def queues_of(registry: BrokerRegistry, topic: str) -> dict[str, tuple[int, int]]:
    route = registry.route(topic)
    return {} if route is None else {q.broker_name: (q.perm, q.read_queue_nums) for q in route.queue_datas}


def test_a_topic_spans_the_brokers_that_registered_it() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    register(registry, told("x", "z", name="b", queues=8), 0)
    route = registry.route("x")
    assert route is not None
    assert {b.broker_name: b.broker_addrs for b in route.broker_datas} == {"a": {0: "a0:1"}, "b": {0: "b0:1"}}
    assert queues_of(registry, "x") == {"a": (6, 4), "b": (6, 8)}
    assert registry.route("nowhere") is None
    assert sorted(registry.topics()) == ["x", "y", "z"]
    assert registry.cluster_info().cluster_addr_table == {"C": ["a", "b"]}


def test_a_first_registration_of_exactly_one_topic_is_refused_and_leaves_nothing() -> None:
    registry = BrokerRegistry()
    with pytest.raises(Refusal, match="one topic only") as refused:
        register(registry, told("x"), 0)
    assert refused.value.code == 1
    assert registry.cluster_info().broker_addr_table == {}
    register(registry, told(), 0)
    register(registry, told("x", counter=2), 0)
    assert queues_of(registry, "x") == {"a": (6, 4)}


def test_a_topic_changes_only_with_the_data_version_unless_it_is_new() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    register(registry, told("x", "y", "new", queues=9), 0)
    assert queues_of(registry, "x") == {"a": (6, 4)}
    assert queues_of(registry, "new") == {"a": (6, 9)}
    register(registry, told("x", queues=9, counter=2), 0)
    assert queues_of(registry, "x") == {"a": (6, 9)}
    assert queues_of(registry, "y") == {"a": (6, 4)}


def test_topics_that_a_registration_does_not_name_may_be_forgotten() -> None:
    registry = BrokerRegistry(forget_missing_topics=True)
    register(registry, told("x", "y"), 0)
    register(registry, told("x", counter=2), 0)
    assert registry.topics() == ["x"]


def test_a_silent_broker_is_removed_after_the_time_it_declared() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y", connection="one"), 0)
    register(registry, told("x", "z", name="b", timeout_ms=10_000, connection="two"), 0)
    assert registry.expire(10) == []
    assert registry.expire(10.001) == [(BrokerKey("C", "b0:1"), "two")]
    assert queues_of(registry, "x") == {"a": (6, 4)}
    assert registry.heartbeat("C", "a0:1", 100)
    assert not registry.heartbeat("C", "b0:1", 100)
    assert registry.expire(220) == []
    assert registry.expire(220.001) == [(BrokerKey("C", "a0:1"), "one")]
    assert registry.topics() == []
    assert registry.cluster_info().cluster_addr_table == {}


def test_a_broker_goes_with_its_connection_unless_it_came_back_by_another() -> None:
    registry = BrokerRegistry()
    one, two = object(), object()
    register(registry, told("x", "y", connection=one), 0)
    register(registry, told("x", "y", connection=two), 0)
    assert registry.connection_closed(one) == []
    assert queues_of(registry, "x")
    assert registry.connection_closed(two) == [BrokerKey("C", "a0:1")]
    assert registry.route("x") is None


def test_the_master_of_a_name_is_who_has_number_0() -> None:
    registry = BrokerRegistry()
    assert registry.master("a") == ""
    register(registry, told("x", "y", broker_id=1, address="a1:1"), 0)
    assert registry.master("a") == ""
    register(registry, told("x", "y"), 0)
    assert registry.master("a") == "a0:1"


def test_unregistering_one_of_a_name_keeps_the_topics() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    assert register(registry, told("x", "y", broker_id=1), 0) == Registered("a0:1", "a0:2")
    registry.unregister("C", "a", "a0:1")
    route = registry.route("x")
    assert route is not None
    assert route.broker_datas[0].broker_addrs == {1: "a1:1"}
    registry.unregister("C", "a", "a1:1")
    assert registry.route("x") is None


def test_a_slave_does_not_change_topics_but_a_prime_slave_does() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    register(registry, told("x", "s", broker_id=1, counter=5), 0)
    assert registry.topics() == ["x", "y"]
    register(registry, told("x", "y", acting_master=True), 0)
    register(registry, told("x", "s", broker_id=1, counter=6, acting_master=True), 0)
    assert registry.topics() == ["x", "y"]
    registry.unregister("C", "a", "a0:1")
    assert queues_of(registry, "x") == {"a": (4, 4)}
    register(registry, told("x", "s", broker_id=1, counter=7, acting_master=True), 0)
    assert queues_of(registry, "s") == {"a": (4, 4)}


def test_an_acting_master_is_shown_where_configured() -> None:
    for shown, addresses in ((True, {0: "a2:1", 3: "a3:1"}), (False, {2: "a2:1", 3: "a3:1"})):
        registry = BrokerRegistry(acting_masters=shown)
        register(registry, told("x", "y", broker_id=2, acting_master=True), 0)
        register(registry, told("x", "y", broker_id=3, acting_master=True), 0)
        route = registry.route("x")
        assert route is not None
        assert route.broker_datas[0].broker_addrs == addresses
        assert registry.members("C", "a").broker_addrs == {2: "a2:1", 3: "a3:1"}


def test_an_address_holds_one_id_and_a_stale_rival_is_ignored() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y", broker_id=1, address="s:1"), 0)
    register(registry, told("x", "y", broker_id=0, address="s:1"), 0)
    assert registry.members("C", "a").broker_addrs == {0: "s:1"}
    register(registry, told("x", "y", address="s:1", state=5, counter=2), 0)
    assert register(registry, told("x", "y", address="late:1", state=4), 0) == Registered(holder="s:1")
    assert registry.members("C", "a").broker_addrs == {0: "s:1"}
    register(registry, told("x", "y", address="next:1", state=5), 0)
    assert registry.members("C", "a").broker_addrs == {0: "next:1"}


def test_a_follower_that_claims_to_lead_with_an_old_state_version_is_no_member_any_more() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y", address="new:1", state=5), 0)
    register(registry, told("x", "y", address="old:1", broker_id=2, state=5), 0)
    ignored = register(registry, told("z", "w", address="old:1", state=4, filter_servers=["f:1"]), 0)
    assert ignored.holder == "new:1"
    assert registry.members("C", "a").broker_addrs == {0: "new:1"}
    assert registry.living == 1
    assert registry.topics() == ["x", "y"]
    register(registry, told("x", "y", address="old:1", broker_id=2, state=5), 0)
    assert registry.members("C", "a").broker_addrs == {0: "new:1", 2: "old:1"}


def test_who_was_replaced_takes_nothing_along_when_it_leaves() -> None:
    registry = BrokerRegistry()
    one, two = object(), object()
    register(registry, told("x", "y", address="old:1", state=1, connection=one), 0)
    register(registry, told("x", "y", address="new:1", state=2, connection=two), 0)
    assert registry.connection_closed(one) == [BrokerKey("C", "old:1")]
    registry.unregister("C", "a", "old:1")
    assert registry.members("C", "a").broker_addrs == {0: "new:1"}
    assert queues_of(registry, "x") == {"a": (6, 4)}


def test_topics_change_by_the_lowest_slave_that_knows_the_option_even_where_it_is_off() -> None:
    for option, topics in ((None, ["x", "y"]), (False, ["x", "y", "s"]), (True, ["x", "y", "s"])):
        registry = BrokerRegistry()
        register(registry, told("x", "y"), 0)
        register(registry, told("x", "y", broker_id=1), 0)
        registry.unregister("C", "a", "a0:1")
        register(registry, told("x", "s", broker_id=1, counter=5, acting_master=option), 0)
        assert registry.topics() == topics, option
        # Only where the option is on is what it says read-only.
        assert queues_of(registry, "x") == {"a": (4 if option else 6, 4)}


def test_data_versions() -> None:
    registry = BrokerRegistry()
    assert registry.changed("C", "a0:1", DataVersion(1, 0, 7))
    register(registry, told("x", "y"), 0)
    assert not registry.changed("C", "a0:1", DataVersion(1, 0, 7))
    for other in (DataVersion(2, 0, 7), DataVersion(1, 1, 7), DataVersion(1, 0, 8)):
        assert registry.changed("C", "a0:1", other)
    assert registry.data_version("C", "a0:1") == DataVersion(1, 0, 7)
    assert registry.data_version("C", "b:1") is None


def test_write_permission_is_taken_and_given() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y", perm=7), 0)
    register(registry, told("x", "z", name="b"), 0)
    assert registry.set_writable("a", False) == 2
    assert queues_of(registry, "x") == {"a": (5, 4), "b": (6, 4)}
    assert registry.set_writable("a", True) == 2
    assert queues_of(registry, "x") == {"a": (6, 4), "b": (6, 4)}
    assert registry.set_writable("nobody", True) == 0


def test_topics_are_deleted_everywhere_or_in_one_cluster() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    register(registry, told("x", "y", name="b", cluster="D"), 0)
    registry.delete_topic("x", "D")
    assert queues_of(registry, "x") == {"a": (6, 4)}
    registry.delete_topic("x", "C")
    registry.delete_topic("x", "C")
    registry.delete_topic("y", "unknown")
    assert registry.topics() == ["y"]
    registry.delete_topic("y")
    assert registry.topics() == []


def test_topics_registered_by_hand_need_known_brokers() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    assert registry.register_topic("hand", [QueueData("a", 6, 2, 2)])
    assert not registry.register_topic("hand", [QueueData("nobody", 6, 2, 2)])
    assert not registry.register_topic("empty", [])
    assert queues_of(registry, "hand") == {"a": (6, 2)}


def test_lists() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    register(registry, told("x", "z", name="b", cluster="D"), 0)
    assert registry.topics_of("C") == ["x", "y"]
    assert registry.topics_of("nowhere") == []
    system = registry.system_topics()
    assert (system.topic_list, system.broker_addr) == (["C", "a", "D", "b"], "a0:1")
    for topic, flag in (("u", 1), ("s", 2), ("us", 3)):
        registry.register_topic(topic, [QueueData("a", 6, 1, 1, flag)])
    assert registry.unit_topics(UNIT_FLAG) == ["u", "us"]
    assert registry.unit_topics(UNIT_SUB_FLAG) == ["s", "us"]
    assert registry.unit_topics(UNIT_SUB_FLAG, UNIT_FLAG) == ["s"]


def test_filter_servers_and_zone_are_in_the_route_until_the_broker_drops_them() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y", filter_servers=["f:1"], zone="z1"), 0)
    route = registry.route("x")
    assert route is not None
    assert route.filter_server_table == {"a0:1": ["f:1"]}
    assert route.broker_datas[0].zone_name == "z1"
    register(registry, told("x", "y", filter_servers=[]), 0)
    route = registry.route("x")
    assert route is not None
    assert route.filter_server_table == {}


def test_a_route_is_a_copy() -> None:
    registry = BrokerRegistry()
    register(registry, told("x", "y"), 0)
    route = registry.route("x")
    assert route is not None
    route.queue_datas[0].perm = 0
    route.broker_datas[0].broker_addrs.clear()
    assert queues_of(registry, "x") == {"a": (6, 4)}
    assert registry.members("C", "a").broker_addrs == {0: "a0:1"}
