"""Lag of a queue, and its owners by what members tell."""

from __future__ import annotations

from mqframe_admin.rules.lag import group_lags, lag_of, queue_owners

from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper
from mqframe.core.consuming.running_info import ConsumerRunningInfo, PopQueueInfo, ProcessQueueInfo
from mqframe.core.messages.message import MessageQueue

ONE, TWO, THREE = (MessageQueue("t", "b", number) for number in range(3))


def test_lag_is_what_is_yet_to_be_consumed() -> None:
    assert lag_of(OffsetWrapper(broker_offset=7, consumer_offset=3)) == 4


def test_a_group_that_is_ahead_of_a_queue_that_was_made_anew_has_no_lag() -> None:
    assert lag_of(OffsetWrapper(broker_offset=3, consumer_offset=7)) == 0


def test_the_lag_of_a_group_is_that_of_all_its_topics() -> None:
    stats = [
        ConsumeStats(offset_table={queue: OffsetWrapper(broker_offset=7, consumer_offset=done)})
        for queue, done in ((ONE, 3), (TWO, 7))
    ]
    assert group_lags([{"a": stats, "b": []}, {"a": stats[:1]}]) == {"a": 8, "b": 0}


def test_owners_are_sorted_and_given_up_queues_have_none() -> None:
    infos = {
        "quick": ConsumerRunningInfo(
            mq_table={ONE: ProcessQueueInfo(), TWO: ProcessQueueInfo(dropped=True)},
            mq_pop_table={THREE: PopQueueInfo()},
        ),
        "other": ConsumerRunningInfo(
            mq_pop_table={THREE: PopQueueInfo(), TWO: PopQueueInfo(dropped=True)},
        ),
    }
    assert queue_owners(infos) == {ONE: ["quick"], THREE: ["other", "quick"]}


def test_a_member_that_holds_a_queue_in_both_ways_is_named_once() -> None:
    info = ConsumerRunningInfo(mq_table={ONE: ProcessQueueInfo()}, mq_pop_table={ONE: PopQueueInfo()})
    assert queue_owners({"a": info}) == {ONE: ["a"]}
