"""Parameters of administration that each version's servers understand or not: nothing else is changed."""

from __future__ import annotations

from typing import Any

import pytest
from real_time import until

from interop.foreign_programs import OLDER
from interop.servers import Servers
from mqframe import Admin, ClientSettings, ConsumeResult, Message, MessageQueue, Producer, PushConsumer
from mqframe.core.errors import FixError

EACH = 3
"""How many messages a queue gets."""


def fill(servers: Servers, producer: Producer, topic: str) -> list[MessageQueue]:
    """The queues of `topic`, each with `EACH` messages."""
    queues = [MessageQueue(topic, servers.broker_name, number) for number in range(4)]
    for queue in queues:
        for number in range(EACH):
            producer.send(Message(topic, b"%d" % number), queue=queue)
    return queues


def consumer(servers: Servers, group: str, topic: str, seen: list[tuple[int, int]]) -> PushConsumer:
    """A member of `group` that notes queue and offset of what it gets, and commits at once."""
    client = ClientSettings(persist_offsets_seconds=0.1)
    made = PushConsumer(group, nameserver=servers.nameserver, consume_from="first", client=client)

    def listen(messages: list[Any], context: object) -> ConsumeResult:
        seen.extend((each.queue.queue_id, each.queue_offset) for each in messages)
        return ConsumeResult.SUCCESS

    made.subscribe(topic, "*", listen)
    return made


def progress(admin: Admin, group: str, topic: str) -> list[int]:
    """The offsets of `group`, queue by queue."""
    return [each.consumer_offset for _, each in sorted(admin.consume_stats(group, topic).items())]


@pytest.mark.proves("operation")
def test_one_queue_of_a_group_is_reset_and_no_other(
    version: str, servers: Servers, topic: str, admin: Admin, producer: Producer
) -> None:
    group, seen = f"{topic}_group", list[tuple[int, int]]()
    queues = fill(servers, producer, topic)
    with consumer(servers, group, topic, seen):
        until(lambda: len(seen) == 4 * EACH)
        until(lambda: progress(admin, group, topic) == [EACH] * 4)
        if version == OLDER:
            with pytest.raises(FixError, match=r"from Apache RocketMQ 5\.2\.0 on, .* is 4\.9\.7: stop"):
                admin.reset_queue_offset(group, queues[1], 1)
        else:
            assert admin.reset_queue_offset(group, queues[1], 1) == 1
            until(lambda: len(seen) == 4 * EACH + 2)
            until(lambda: progress(admin, group, topic) == [EACH] * 4)
    assert sorted(seen[4 * EACH :]) == ([] if version == OLDER else [(1, 1), (1, 2)])
    assert progress(admin, group, topic) == [EACH] * 4
    assert admin.reset_queue_offset(group, queues[2], 0) == 0
    until(lambda: progress(admin, group, topic) == [EACH, EACH, 0, EACH])
    with consumer(servers, group, topic, seen := []):
        until(lambda: len(seen) == EACH)
        until(lambda: progress(admin, group, topic) == [EACH] * 4)
    assert sorted(seen) == [(2, 0), (2, 1), (2, 2)]
