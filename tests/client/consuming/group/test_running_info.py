"""What operators see of a member, whatever its kind."""

from __future__ import annotations

from typing import Any

import pytest
from client.consuming.members import Runtime, push_plan
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.group.running_info import RunningInfoSource, queue_info
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.consuming.running_info import ConsumeStatus, DirectResult, ProcessQueueInfo
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

FIRST, SECOND = MessageQueue("orders", "broker-a", 0), MessageQueue("orders", "broker-a", 1)
START = 1_700_000_000_000


class Plain(RunningInfoSource):
    """A kind of consumer with a property, a rate and locks of its own."""

    def properties(self) -> dict[str, str]:
        return {"own": "1", "consumerGroup": "mine"}

    def status(self) -> dict[str, ConsumeStatus]:
        return {"orders": ConsumeStatus(pull_tps=3.0)}

    def add_lock(self, queue: MessageQueue, found: ProcessQueueInfo) -> None:
        found.locked = queue == FIRST

    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        raise AssertionError("nobody asks for it")


def held_queue(clock: ManualClock, *offsets: int) -> ProcessQueue:
    held = ProcessQueue(FIRST, clock.monotonic())
    held.put([received(offset) for offset in offsets])
    return held


def test_a_queue_says_what_is_held_and_when_it_was_busy_last() -> None:
    clock = ManualClock()
    held = held_queue(clock, 4, 5, 9)
    held.byte_count = (5 << 20) - 1
    clock.advance(10)
    held.last_pull = clock.monotonic()
    clock.advance(2.5)
    assert queue_info(held, 4, clock) == ProcessQueueInfo(
        cached_msg_count=3, cached_msg_min_offset=4, cached_msg_max_offset=9, cached_msg_size_in_mib=4,
        commit_offset=4, dropped=False, last_consume_timestamp=START, last_pull_timestamp=START + 10_000,
    )  # fmt: skip
    held.dropped = True
    assert queue_info(held, 4, clock).dropped


@pytest.mark.parametrize(("committed", "shown"), [(None, -1), (0, 0), (7, 7)])
def test_an_empty_queue_and_one_that_has_gone(committed: int | None, shown: int) -> None:
    clock = ManualClock()
    empty = queue_info(held_queue(clock), committed, clock)
    assert (empty.cached_msg_count, empty.cached_msg_min_offset, empty.cached_msg_max_offset) == (0, 0, 0)
    assert (empty.commit_offset, empty.dropped) == (shown, False)
    assert queue_info(None, committed, clock) == ProcessQueueInfo(commit_offset=shown, dropped=True)


async def test_a_member_shows_its_settings_subscriptions_and_queues() -> None:
    clock = ManualClock()
    runtime: Any = Runtime()
    source = Plain(push_plan(clock, consume_threads=3), runtime)
    clock.advance(60)
    runtime.held = {FIRST: held_queue(clock, 4, 5), SECOND: None}
    runtime.offsets = {FIRST: 4}
    found = await source.running_info()
    assert found.mq_table[FIRST].cached_msg_count == 2
    assert (found.mq_table[FIRST].commit_offset, found.mq_table[FIRST].locked) == (4, True)
    # Its broker is away, and it has just been given up: the rest is shown all the same.
    assert found.mq_table[SECOND] == ProcessQueueInfo(commit_offset=-1, dropped=True)
    shown = {
        "consumerGroup": "mine", "own": "1", "messageModel": "CLUSTERING", "consume_threads": "3",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
        "PROP_CONSUMER_START_TIMESTAMP": str(START),
    }  # fmt: skip
    assert {name: found.properties[name] for name in shown} == shown
    assert "MQFRAME_PAUSED_QUEUES" not in found.properties
    runtime.paused = [FIRST, SECOND]
    paused = (await source.running_info()).properties["MQFRAME_PAUSED_QUEUES"]
    assert paused == " ".join(f"{each.topic}/{each.broker_name}/{each.queue_id}" for each in (FIRST, SECOND))
    assert found.status_table == {"orders": ConsumeStatus(pull_tps=3.0)}
    subscribed = [(each.topic, each.sub_string, each.sub_version) for each in found.subscription_set]
    assert subscribed == [("orders", "paid", 7)]


async def test_offsets_in_memory_are_those_of_the_topic_and_resets_go_to_the_runtime() -> None:
    runtime: Any = Runtime()
    source = Plain(push_plan(ManualClock()), runtime)
    runtime.store.update(FIRST, 5, increase_only=False)
    runtime.store.update(MessageQueue("other", "broker-a", 0), 6, increase_only=False)
    assert source.remembered_offsets("orders") == {FIRST: 5}
    await source.reset_offsets("orders", {FIRST: 3})
    assert runtime.resets == [("orders", {FIRST: 3})]
