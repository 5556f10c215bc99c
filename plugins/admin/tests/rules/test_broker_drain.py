"""What a broker that is emptied has still to give away."""

from __future__ import annotations

import pytest
from mqframe_admin.rules.broker_drain import BrokerDrain, delayed, open_halves, popped, unconsumed

from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper
from mqframe.core.errors import BadAnswer
from mqframe.core.messages.message import MessageQueue


def stats(*places: tuple[int, int]) -> ConsumeStats:
    """Of one topic: where each of its queues ends, and how far the group is."""
    table = {
        MessageQueue("t", "broker-a", number): OffsetWrapper(broker_offset=end, consumer_offset=at)
        for number, (end, at) in enumerate(places)
    }
    return ConsumeStats(offset_table=table)


def drain(*, draining: bool = True, delays: int = 0, half: int | None = 0, **groups: int) -> BrokerDrain:
    return BrokerDrain("broker-a", "h:1", draining, groups, delays, half, None)


def test_what_groups_have_yet_to_consume_is_counted_over_their_topics() -> None:
    told = [
        {"late": [stats((10, 4), (7, 7)), stats((3, 0))]},
        {"done": [stats((10, 10))]},
        {"ahead": [stats((2, 5))]},
        {"CID_RMQ_SYS_TRANS": [stats((9, 0))]},
        {"TOOLS_CONSUMER": [stats((9, 0))]},
        {"new": []},
    ]
    assert unconsumed(told) == {"ahead": 0, "done": 0, "late": 9, "new": 0}


def test_what_waits_for_its_time_is_counted_in_levels_and_in_the_timer() -> None:
    counters = {"scheduleMessageOffset_3": "4,10", "scheduleMessageOffset_18": "5,5", "scheduleFailures": "9"}
    assert delayed(counters, "h:1") == 6
    assert delayed(counters | {"timerCongestNum": "100", "timerOffsetBehind": "7"}, "h:1") == 113
    assert delayed({}, "h:1") == 0
    with pytest.raises(BadAnswer, match="h:1 does not say how many delayed messages"):
        delayed({"scheduleMessageOffset_3": "many"}, "h:1")


def test_brokers_of_others_do_not_tell_of_transactions_and_pops() -> None:
    assert (open_halves({}), popped({})) == (None, None)
    assert (open_halves({"halfMessages": "3"}), popped({"popInFlight": "0"})) == (3, 0)


def test_it_may_go_when_nothing_is_left_and_says_what_it_waits_for_before() -> None:
    assert drain(done=0).may_go
    assert drain(half=None).may_go
    found = drain(draining=False, delays=5, half=2, late=9, done=0)
    assert not found.may_go
    assert found.waits_for == (
        "it takes new messages still: drain it",
        "9 messages for group late",
        "5 delayed messages",
        "2 open transactions",
    )
