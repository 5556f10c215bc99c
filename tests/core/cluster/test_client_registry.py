import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.cluster.client_registry import ClientRegistry, Member
from mqframe.core.errors import Refusal
from mqframe.core.filtering.bodies import SubscriptionData


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def clients(clock):
    return ClientRegistry(clock)


def member(channel, client_id=None):
    return Member(channel, client_id or f"id-{channel}", f"127.0.0.1:{channel}", "JAVA", 479)


def consumer(*topics, group="g", version=1, **fields):
    return ConsumerData(
        group_name=group,
        subscription_data_set=[SubscriptionData(topic=topic, sub_version=version) for topic in topics],
        **fields,
    )


def test_a_new_member_and_a_new_topic_are_changes(clients):
    assert clients.register_consumer(consumer("t"), member(1)) is True
    assert clients.register_consumer(consumer("t"), member(1)) is False
    assert clients.register_consumer(consumer("t"), member(2)) is True
    assert clients.register_consumer(consumer("t", "u"), member(2)) is True
    assert clients.register_consumer(consumer("u"), member(2)) is True
    assert list(clients.consumers["g"].subscriptions) == ["u"]
    assert clients.consumers["g"].client_ids == ["id-1", "id-2"]


def test_a_newer_version_replaces_a_subscription_without_being_a_change(clients):
    clients.register_consumer(consumer("t", version=5), member(1))
    assert clients.register_consumer(consumer("t", version=7), member(1)) is False
    assert clients.consumers["g"].subscriptions["t"].version == 7
    clients.register_consumer(consumer("t", version=6), member(1))
    assert clients.consumers["g"].subscriptions["t"].version == 7


def test_a_heartbeat_without_subscriptions_erases_none(clients):
    clients.register_consumer(consumer("t"), member(1))
    assert clients.register_consumer(consumer(), member(1), without_sub=True) is False
    assert clients.register_consumer(consumer(), member(2), without_sub=True) is True
    assert list(clients.consumers["g"].subscriptions) == ["t"]


def test_a_group_ends_with_its_last_member(clients):
    clients.register_consumer(consumer("t"), member(1))
    clients.register_consumer(consumer("t"), member(2))
    assert clients.unregister_consumer("g", 1) is True
    assert clients.unregister_consumer("g", 1) is False
    assert clients.groups_of("t") == ["g"]
    assert clients.unregister_consumer("g", 2) is True
    assert clients.consumers == {}
    assert clients.groups_of("t") == []


def test_a_closed_connection_takes_its_client_out_of_all_groups(clients):
    clients.register_consumer(consumer("t"), member(1))
    clients.register_consumer(consumer("t", group="h"), member(1))
    clients.register_consumer(consumer("t", group="h"), member(2))
    clients.register_producer("p", member(1))
    assert clients.drop(1) == ["g", "h"]
    assert clients.drop(1) == []
    assert (list(clients.consumers), clients.producers) == (["h"], {})


def test_the_one_who_spoke_last_decides_what_is_common(clients):
    clients.register_consumer(consumer("t"), member(1))
    assert not clients.consumers["g"].broadcasting
    clients.register_consumer(consumer("t", message_model="BROADCASTING"), member(2))
    assert clients.consumers["g"].broadcasting


def test_silent_clients_are_found(clients, clock):
    clients.register_consumer(consumer("t"), member(1))
    clients.register_producer("p", member(2))
    clock.advance(100)
    clients.register_producer("p", member(2))
    clock.advance(30)
    assert clients.silent(120) == [1]
    clock.advance(100)
    assert clients.silent(120) == [1, 2]


def test_a_fingerprint_says_whether_the_subscriptions_are_known(clients):
    assert clients.fingerprint_changed("g", 5) is False
    assert clients.fingerprint_changed("g", 5) is False
    assert clients.fingerprint_changed("g", 6) is True


def test_client_ids_that_change_on_one_connection_are_forgotten(clients):
    for number in range(100):
        clients.register_producer("p", member(1, f"id-{number}"))
        clients.register_producer("q", member(1, f"id-{number}"))
    assert clients.producer_channel("id-99") == 1
    assert all(clients.producer_channel(f"id-{number}") is None for number in range(99))
    assert clients.members == 2
    clients.unregister_producer("p", 1)
    assert clients.producer_channel("id-99") == 1
    clients.unregister_producer("q", 1)
    assert (clients.producer_channel("id-99"), clients.members) == (None, 0)


def test_an_id_belongs_to_the_connection_that_used_it_last(clients):
    clients.register_producer("p", member(1, "same"))
    clients.register_producer("p", member(2, "same"))
    clients.drop(1)
    assert clients.producer_channel("same") == 2
    clients.drop(2)
    assert clients.producer_channel("same") is None


def test_members_and_subscriptions_are_counted_and_may_be_refused(clients):
    asked = []

    def refuse(more):
        asked.append(more)
        raise Refusal(2, "full")

    clients.register_consumer(consumer("t", "u"), member(1))
    clients.register_consumer(consumer("t"), member(2))
    assert (clients.members, clients.subscribed) == (2, 1)
    clients.admit_member = refuse
    with pytest.raises(Refusal):
        clients.register_consumer(consumer("t"), member(3))
    with pytest.raises(Refusal):
        clients.register_producer("p", member(3))
    assert (asked, clients.producers, list(clients.consumers["g"].members)) == ([1, 1], {}, [1, 2])
    clients.admit_subscriptions = refuse
    with pytest.raises(Refusal):
        clients.register_consumer(consumer("t", "u", "v"), member(2))
    assert asked[-1] == 2
    assert list(clients.consumers["g"].subscriptions) == ["t"]
    clients.drop(1)
    clients.drop(2)
    assert (clients.members, clients.subscribed) == (0, 0)
