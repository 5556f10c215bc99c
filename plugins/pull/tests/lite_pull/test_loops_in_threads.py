"""`for message in consumer`, in plain threads."""

from __future__ import annotations

import pytest
from loop_scenes import collected, rounds_until_stopped
from mqframe_testing import Cluster

from mqframe import ClosedError, LitePullConsumer, Message, MessageQueue, Producer

QUEUE = MessageQueue("orders", "broker-a", 0)


@pytest.fixture
def sent(mqframe_cluster: Cluster) -> list[bytes]:
    """Bodies of 20 messages in the only queue of `orders`."""
    mqframe_cluster.create_topic("orders", 1)
    found = [b"order %d" % number for number in range(20)]
    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer:
        for body in found:
            producer.send(Message("orders", body))
    return found


def billing(cluster: Cluster, **options) -> LitePullConsumer:
    consumer = LitePullConsumer("billing", nameserver=cluster.nameserver, consume_from="first", **options)
    consumer.subscribe("orders")
    return consumer


def test_a_loop_goes_on_where_the_one_before_was_left(mqframe_cluster: Cluster, sent: list[bytes]) -> None:
    seen: list[bytes] = []
    for end in (7, 20):
        with billing(mqframe_cluster) as consumer:
            for message in consumer:
                seen.append(message.body)
                if len(seen) == end:
                    break
    assert seen == sent


def test_a_message_that_a_loop_failed_at_comes_again(mqframe_cluster: Cluster, sent: list[bytes]) -> None:
    def work() -> None:
        with billing(mqframe_cluster) as consumer:
            for message in consumer:
                if message.body == b"order 5":
                    raise LookupError

    with pytest.raises(LookupError):
        work()
    with billing(mqframe_cluster) as consumer:
        assert next(iter(consumer)).body == b"order 5"


def test_a_loop_ends_with_the_consumer(mqframe_cluster: Cluster, sent: list[bytes]) -> None:
    assert collected(billing(mqframe_cluster), len(sent)) == sent


def test_a_stop_in_the_body_ends_the_loop(mqframe_cluster: Cluster, sent: list[bytes]) -> None:
    assert rounds_until_stopped(billing(mqframe_cluster)) == 1


def test_commits_go_as_far_as_the_loop_came(mqframe_cluster: Cluster, sent: list[bytes]) -> None:
    with billing(mqframe_cluster, auto_commit=False) as consumer:
        for message in consumer:
            if message.queue_offset == 11:
                consumer.commit()
            if message.queue_offset == 15:
                break
        assert consumer.committed(QUEUE) == 12
    with billing(mqframe_cluster) as consumer:
        assert next(iter(consumer)).queue_offset == 12


def test_before_the_start_it_is_refused(mqframe_cluster: Cluster) -> None:
    with pytest.raises(ClosedError):
        next(iter(billing(mqframe_cluster)))
