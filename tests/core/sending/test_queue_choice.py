from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.messages.message import MessageQueue
from mqframe.core.sending.queue_choice import FaultLatency, QueueChoice, avoided_ms

QUEUES = [MessageQueue("t", broker, number) for broker in "abc" for number in range(2)]


@given(st.integers(0, 1 << 16))
def test_round_robin_from_a_given_start(start):
    choice = QueueChoice(start)
    assert [choice.choose(QUEUES) for _ in range(12)] == [QUEUES[(start + n) % 6] for n in range(12)]


@given(st.integers(0, 1 << 16), st.sampled_from("abc"))
def test_a_retry_goes_to_another_broker(start, failed):
    assert QueueChoice(start).choose(QUEUES, failed).broker_name != failed


def test_with_one_broker_a_retry_goes_there_again():
    assert QueueChoice(0).choose(QUEUES[:2], "a").broker_name == "a"


def test_slow_brokers_are_avoided_then_unreachable_ones_then_none():
    clock = ManualClock()
    faults = FaultLatency(clock)
    choice = QueueChoice(0, faults)
    faults.update("a", 600, failed=False, reachable=True)
    faults.update("b", 10, failed=True, reachable=False)
    assert {choice.choose(QUEUES).broker_name for _ in range(6)} == {"c"}
    # Nobody else is available: a slow one is taken before one that did not answer.
    assert {choice.choose(QUEUES, "c").broker_name for _ in range(6)} == {"a"}
    clock.advance(2.0)
    assert {choice.choose(QUEUES).broker_name for _ in range(6)} == {"a", "c"}
    assert {choice.choose(QUEUES[2:4], "c").broker_name for _ in range(6)} == {"b"}


@pytest.mark.parametrize(
    ("latency", "avoided"),
    [
        (0, 0),
        (100, 0),
        (549, 0),
        (550, 2000),
        (1800, 5000),
        (3000, 6000),
        (5000, 10000),
        (14999, 10000),
        (15000, 30000),
    ],
)
def test_the_table_of_the_reference(latency, avoided):
    assert avoided_ms(latency) == avoided


def test_a_failed_broker_is_avoided_for_ten_seconds():
    clock = ManualClock()
    faults = FaultLatency(clock)
    faults.update("a", 1, failed=True, reachable=True)
    assert not faults.available("a")
    assert faults.reachable("a")
    assert faults.available("b")
    clock.advance(9.9)
    assert not faults.available("a")
    clock.advance(0.1)
    assert faults.available("a")


def test_a_later_success_does_not_shorten_the_time_but_makes_it_reachable():
    clock = ManualClock()
    faults = FaultLatency(clock)
    faults.update("a", 1, failed=True, reachable=False)
    faults.update("a", 1, failed=False, reachable=True)
    assert not faults.available("a")
    assert faults.reachable("a")
