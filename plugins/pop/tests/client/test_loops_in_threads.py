"""`for message in consumer`, in plain threads."""

from __future__ import annotations

from collections import Counter

import pytest
from loop_scenes import collected, rounds_until_stopped
from mqframe_testing import Cluster

from mqframe import ClosedError, FixError, Message, Producer, SimpleConsumer


@pytest.fixture
def sent(mqframe_cluster: Cluster) -> list[bytes]:
    """Bodies of 20 messages of `jobs`."""
    mqframe_cluster.create_topic("jobs", 4)
    found = [b"job %d" % number for number in range(20)]
    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer:
        for body in found:
            producer.send(Message("jobs", body))
    return found


def workers(cluster: Cluster) -> SimpleConsumer:
    consumer = SimpleConsumer("workers", nameserver=cluster.nameserver, consume_from="first")
    consumer.subscribe("jobs")
    return consumer


def test_a_loop_gets_each_message_and_ends_with_the_consumer(
    mqframe_cluster: Cluster, sent: list[bytes]
) -> None:
    assert Counter(collected(workers(mqframe_cluster), len(sent))) == Counter(sent)


def test_what_a_loop_leaves_behind_goes_to_another(mqframe_cluster: Cluster, sent: list[bytes]) -> None:
    with workers(mqframe_cluster) as one, workers(mqframe_cluster) as two:
        for first in one.messages(invisible_duration=60.0, auto_ack=False):
            one.ack(first)
            break
        seen = {first.body}
        for message in two:
            seen.add(message.body)
            if seen == set(sent):
                two.ack(message)
                break
        assert seen == set(sent)


def test_a_stop_in_the_body_ends_the_loop(mqframe_cluster: Cluster, sent: list[bytes]) -> None:
    assert rounds_until_stopped(workers(mqframe_cluster)) == 1


def test_it_is_refused_with_bad_numbers_and_before_the_start(mqframe_cluster: Cluster) -> None:
    consumer = workers(mqframe_cluster)
    with pytest.raises(ClosedError):
        next(iter(consumer))
    with consumer, pytest.raises(FixError, match="max_messages is 0"):
        next(consumer.messages(max_messages=0))
