"""The sink in a real Spark, over a real broker."""

from collections import defaultdict
from typing import Any

import pytest

from mqframe import Puller
from mqframe.core.message import ReceivedMessage
from mqframe.testing.cluster import Cluster


class Target:
    """A topic to write to."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.topic = topic
        self.nameserver = cluster.nameserver

    def options(self, **more: str) -> dict[str, str]:
        return {"nameserver": self.nameserver, "topic": self.topic, **more}

    def messages(self) -> list[ReceivedMessage]:
        """All that it holds, queue by queue."""
        found: list[ReceivedMessage] = []
        with Puller(self.nameserver) as puller:
            for queue in puller.queues(self.topic):
                at, end = puller.min_offset(queue), puller.max_offset(queue)
                while at < end:
                    result = puller.pull(queue, at)
                    found += result.messages
                    at = result.next_offset
        return found


@pytest.fixture
def target(mqframe_shared_cluster, request) -> Target:
    topic = request.node.name.split("[")[0]
    mqframe_shared_cluster.create_topic(topic, 3)
    return Target(mqframe_shared_cluster, topic)


def test_batch(spark, target) -> None:
    frame = spark.range(5000).selectExpr(
        "cast(concat('body ', id) as binary) as body",
        "concat('tag', id % 3) as tags",
        "array('all', concat('k', id)) as keys",
        "map('number', cast(id as string)) as properties",
        "concat('customer', id % 7) as sharding_key",
        "cast(id as int) as flag",
    )
    frame.coalesce(1).write.format("mqframe").mode("append").options(**target.options()).save()
    found = target.messages()
    assert sorted(int(message.body[5:]) for message in found) == list(range(5000))
    by_key: dict[int, list[Any]] = defaultdict(list)
    for message in found:
        number = int(message.body[5:])
        assert (message.tag, message.keys) == (f"tag{number % 3}", ["all", f"k{number}"])
        assert message.properties["number"] == str(number)
        assert message.flag == number
        by_key[number % 7].append((message.queue_id, message.queue_offset, number))
    for key, rows in by_key.items():
        assert len({queue for queue, _, _ in rows}) == 1, key
        numbers = [number for _, _, number in sorted(rows)]
        assert numbers == sorted(numbers)
    assert len({message.message_id for message in found}) == 5000
