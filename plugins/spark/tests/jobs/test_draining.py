"""A backlog moved into another topic."""

from collections import Counter
from typing import Any

import pytest
from mqframe_spark.jobs.checkpoints import committed_offsets
from mqframe_spark.jobs.draining import Drain, check_drain, drain

from mqframe import MessageQueue, Puller
from mqframe.core.errors import FixError, SettingError

ACCESS = {"nameserver": "127.0.0.1:1", "accessKey": "a", "secretKey": "s"}


def drained(**change: Any) -> Drain:
    return Drain(
        **{"source": {**ACCESS, "tags": "x"}, "topic": "t", "into": "u", "checkpoint": "/cp", **change}
    )


def test_a_drain_reads_from_where_the_group_is_or_from_where_it_is_told() -> None:
    where = {**ACCESS, "tags": "x", "topic": "t"}
    assert drained().reading() == {**where, "startingOffsets": "earliest"}
    assert drained(starting="latest").reading() == {**where, "startingOffsets": "latest"}
    assert drained(starting="latest", group="g").reading() == {**where, "startingOffsets": "group:g"}


def test_a_drain_writes_to_the_cluster_that_it_reads() -> None:
    assert drained().writing() == {**ACCESS, "topic": "u", "exactlyOnce": "true"}
    assert drained(exactly_once=False).writing()["exactlyOnce"] == "false"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"into": "t"}, "--into t: is the topic that is to be drained; name another one"),
        ({"rows_at_once": 0}, "--rows-at-once 0: must be 1 to 1000000"),
        # A queue would be read by several tasks.
        ({"rows_at_once": 1_000_001}, "--rows-at-once 1000001: must be 1 to 1000000"),
    ],
)
def test_what_cannot_be_done_is_told_before_anybody_is_asked(change, said) -> None:
    with pytest.raises(SettingError, match=said):
        check_drain(drained(**change))


def test_a_group_that_is_left_where_it_is_need_not_be_there(mqframe_shared_cluster) -> None:
    mqframe_shared_cluster.create_topic("drained-into", 2)
    where = {"source": {"nameserver": mqframe_shared_cluster.nameserver}, "group": "nobody-drains"}
    assert check_drain(drained(**where, keep_offsets=True, into="to-be-made", queues=3)) is True
    assert check_drain(drained(**where, keep_offsets=True, into="drained-into")) is False
    with pytest.raises(FixError, match="--group nobody-drains: there is no such consumer group"):
        check_drain(drained(**where, into="drained-into"))


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at_least_once", "exactly_once"])
def test_a_drain_moves_a_groups_backlog_and_the_group(spark, place, tmp_path, exactly_once) -> None:
    topic = place.topic(f"-{exactly_once}")
    place.send(topic, range(40))
    group = place.group(f"drained-{exactly_once}", topic, 3, 0)
    job = Drain(
        source=place.source, topic=topic, into=f"{topic}-wide", checkpoint=str(tmp_path / "cp"), group=group,
        queues=8, sharding_key="properties['customer']", exactly_once=exactly_once, rows_at_once=10,
    )  # fmt: skip
    totals = drain(spark, job)
    assert (totals.rows, totals.batches, totals.backlog) == (37, 4, 0)
    found = place.read(job.into)
    # Of the queue 0, which holds the even numbers, the group had consumed three.
    backlog = [*range(1, 40, 2), *range(6, 40, 2)]
    assert len(found) == 8
    assert place.numbers(job.into) == Counter(backlog)
    ids = {
        message.body: message.message_id for messages in place.read(topic).values() for message in messages
    }
    by_customer: dict[str, list[int]] = {}
    for queue_id, messages in found.items():
        for message in messages:
            number = int(message.body)
            by_customer.setdefault(message.properties["customer"], []).append(number)
            assert (message.tag, message.keys, message.flag) == (
                f"tag{number % 3}",
                ["all", f"k{number}"],
                number,
            ), queue_id
            assert message.properties["number"] == str(number)
            assert message.properties["IDEMPOTENCE_KEY"] == ids[message.body] != message.message_id
    assert {customer: sorted(found) for customer, found in by_customer.items()} == by_customer
    assert len(by_customer) == 10
    assert place.offsets(group, topic) == [20, 20]
    assert committed_offsets(spark, job.checkpoint) == {topic: {"broker-a/0": 20, "broker-a/1": 20}}

    # The group consumes by itself for a while, then falls behind again.
    place.send(topic, range(40, 46))
    with Puller(group, nameserver=place.nameserver) as puller:
        puller.commit(MessageQueue(topic, "broker-a", 0), 22)
    drain(spark, job)
    assert place.numbers(job.into) == Counter([*backlog, 41, 43, 45, 44])
    assert place.offsets(group, topic) == [23, 23]
    assert drain(spark, job).rows == 0


def test_a_drain_that_keeps_offsets_is_a_copy(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into", 4)
    place.send(topic, range(8))
    group = place.group("stays", topic, 1, 2)
    job = Drain(
        source=place.source, topic=topic, into=into, checkpoint=str(tmp_path / "cp"), group=group,
        keep_offsets=True, exactly_once=False,
    )  # fmt: skip
    drain(spark, job)
    assert place.numbers(into) == Counter([2, 4, 6, 5, 7])
    assert place.offsets(group, topic) == [1, 2]
