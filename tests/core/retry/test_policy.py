"""When a failed message comes again, and when it is given up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqframe.core.consuming.group_config import (
    ExponentialRetryPolicy,
    GroupRetryPolicy,
)
from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.messages.properties import decode_properties
from mqframe.core.retry.policy import (
    DEAD,
    MemberLimits,
    Verdict,
    copied_properties,
    limit_in_request,
    resent_properties,
    restore_topic,
    verdict,
)
from mqframe.core.retry.redelivery import retry_schedule
from mqframe.core.storage.record import decode_record, encode_record

LEVELS = parse_levels(DEFAULT_LEVELS)


def exponential(initial=5000, most=7_200_000, multiplier=2):
    return GroupRetryPolicy("EXPONENTIAL", None, ExponentialRetryPolicy(initial, most, multiplier))


@pytest.mark.parametrize(
    ("times", "asked", "limit", "expected"),
    [
        (0, 0, 16, Verdict(False, 3)),
        (1, 0, 16, Verdict(False, 4)),
        (15, 0, 16, Verdict(False, 18)),
        (16, 0, 16, DEAD),
        (16, 0, 20, Verdict(False, 19)),  # a broker takes what is above its last level as the last
        (0, 7, 16, Verdict(False, 7)),
        (16, 7, 16, DEAD),
        (0, -1, 16, DEAD),
        (0, -5, 0, DEAD),
        (0, 0, 0, DEAD),
        (0, 0, 1, Verdict(False, 3)),
    ],
)
def test_verdicts(times, asked, limit, expected):
    assert verdict(times, asked, limit, None, LEVELS) == expected


def test_a_wait_that_is_a_level_is_kept_as_one():
    schedule = retry_schedule(exponential(5000, 40_000, 2))
    verdicts = [verdict(times, 0, 16, schedule, LEVELS) for times in range(5)]
    assert verdicts == [
        Verdict(False, 2),
        Verdict(False, 3),
        Verdict(False, 0, 20_000),
        Verdict(False, 0, 40_000),
        Verdict(False, 0, 40_000),
    ]


@pytest.mark.parametrize("asked", [-1, 5])
def test_what_the_consumer_asks_for_comes_before_the_policy(asked):
    assert verdict(0, asked, 16, (1234,), LEVELS) == verdict(0, asked, 16, None, LEVELS)


@given(
    st.integers(0, 40), st.integers(-3, 30), st.integers(0, 40), st.lists(st.integers(1, 10**6), max_size=4)
)
@settings(max_examples=100)
def test_there_is_always_one_answer(times, asked, limit, waits):
    what = verdict(times, asked, limit, tuple(waits) or None, LEVELS)
    assert what.dead == (asked < 0 or times >= limit)
    if not what.dead:
        assert (what.level > 0) != (what.delay_ms > 0)


def test_old_clients_name_no_maximum():
    assert limit_in_request(120, 5) is None
    assert limit_in_request(121, 5) == 5
    assert limit_in_request(479, None) is None


# Copies


def message(properties="", topic="orders", reconsume_times=0):
    record = encode_record(
        topic=topic,
        queue_id=0,
        queue_offset=0,
        physical_offset=0x77,
        body=b"body",
        properties=properties.encode(),
        born_timestamp=1,
        born_host=bytes(8),
        store_timestamp=2,
        store_host=bytes((10, 1, 1, 1, 0, 0, 0x2A, 0x9F)),
        reconsume_times=reconsume_times,
    )
    return decode_record(record)


FIRST_ID = "0A01010100002A9F0000000000000077"


def test_a_copy_says_where_it_comes_from():
    made = copied_properties({"KEYS": "k", "WAIT": "true"}, "orders", FIRST_ID, Verdict(False, 3))
    assert made == {
        "KEYS": "k",
        "WAIT": "false",
        "RETRY_TOPIC": "orders",
        "ORIGIN_MESSAGE_ID": FIRST_ID,
        "DELAY": "3",
    }


def test_a_copy_of_a_copy_keeps_it():
    first = copied_properties({}, "orders", FIRST_ID, Verdict(False, 3))
    again = copied_properties(first, "%RETRY%g", "another id", DEAD)
    assert again == {**first, "DELAY": "0"}


def test_a_first_copy_does_not_pass_for_what_its_sender_got_from_another_topic():
    sent = {"RETRY_TOPIC": "old", "ORIGIN_MESSAGE_ID": "another id", "1ST_POP_TIME": "5", "KEYS": "k"}
    made = copied_properties(sent, "orders", FIRST_ID, DEAD)
    assert made == {
        "KEYS": "k",
        "RETRY_TOPIC": "orders",
        "ORIGIN_MESSAGE_ID": FIRST_ID,
        "WAIT": "false",
        "DELAY": "0",
    }


def test_an_exact_wait_is_left_to_the_timer():
    old = {"DELAY": "3", "TIMER_OUT_MS": "5", "TIMER_DELIVER_MS": "5", "KEYS": "k"}
    made = copied_properties(old, "orders", FIRST_ID, Verdict(False, 0, 15_000))
    assert "DELAY" not in made
    assert {name: value for name, value in made.items() if name.startswith("TIMER")} == {
        "TIMER_DELAY_MS": "15000"
    }


def test_what_a_client_sends_itself():
    failed = message("UNIQ_KEY\x01K\x02TRAN_MSG\x01true\x02", reconsume_times=2)
    made = resent_properties(failed, 0, 3, 16)
    assert made == {
        "UNIQ_KEY": "K",
        "RETRY_TOPIC": "orders",
        "ORIGIN_MESSAGE_ID": FIRST_ID,
        "WAIT": "false",
        "DELAY": "5",
        "RECONSUME_TIME": "3",
        "MAX_RECONSUME_TIMES": "16",
    }
    assert resent_properties(failed, 9, 3, 16)["DELAY"] == "9"
    del made["MAX_RECONSUME_TIMES"]
    assert resent_properties(failed, 0, 3, None) == made
    assert decode_properties(failed.raw_properties)["TRAN_MSG"] == "true"


@pytest.mark.parametrize(
    ("topic", "properties", "shown"),
    [
        ("%RETRY%g", "RETRY_TOPIC\x01orders\x02", "orders"),
        ("%RETRY%g", "", "%RETRY%g"),
        ("%RETRY%other", "RETRY_TOPIC\x01orders\x02", "%RETRY%other"),
        ("orders", "RETRY_TOPIC\x01else\x02", "orders"),
    ],
)
def test_the_original_topic_is_restored(topic, properties, shown):
    found = message(properties, topic)
    restore_topic(found, "g")
    assert found.topic == shown


# Against models


class Message(RuleBasedStateMachine):
    """One message of a group with a maximum that changes now and then, against a plain count."""

    def __init__(self):
        super().__init__()
        self.limit = 16
        self.times = 0
        self.dead = False
        self.model = 0
        self.waits: list[int] = []

    @precondition(lambda self: not self.dead)
    @rule(asked=st.sampled_from([0, 0, 0, 0, 0, 4, 18]))
    def fails(self, asked):
        what = verdict(self.times, asked, self.limit, None, LEVELS)
        self.dead = what.dead
        self.times += 1
        assert self.dead == (self.model >= self.limit)
        self.model += 1
        if not self.dead:
            self.waits.append(what.level)
            assert what.level == (asked or 3 + self.model - 1)

    @precondition(lambda self: not self.dead)
    @rule()
    def is_given_up(self):
        assert verdict(self.times, -1, self.limit, None, LEVELS) == DEAD
        self.dead = True

    @rule(limit=st.integers(0, 20))
    def limit_changes(self, limit):
        self.limit = limit

    @invariant()
    def comes_back_as_often_as_it_waited(self):
        assert len(self.waits) <= self.times <= self.model


TestMessage = Message.TestCase
TestMessage.settings = settings(max_examples=30, stateful_step_count=25)

MEMBERS = st.sampled_from("abcd")


class Limits(RuleBasedStateMachine):
    """Members join, leave and hand back; the model keeps a list of joins."""

    def __init__(self):
        super().__init__()
        self.limits = MemberLimits()
        self.online: list[str] = []
        self.named: dict[str, int] = {}

    @rule(who=MEMBERS)
    def joins(self, who):
        if who not in self.online:
            self.online.append(who)

    @rule(who=MEMBERS)
    def leaves(self, who):
        # A member that comes again before the next message is the same one to the broker.
        if who in self.online:
            self.online.remove(who)
            self.named.pop(who, None)
            self.limits.limit("g", self.online, "nobody", None)

    @precondition(lambda self: self.online)
    @rule(data=st.data(), limit=st.integers(0, 5))
    def hands_back(self, data, limit):
        who = data.draw(st.sampled_from(self.online))
        self.named[who] = limit
        newest = next(each for each in reversed(self.online) if each in self.named)
        assert self.limits.limit("g", self.online, who, limit) == self.named[newest]

    @rule(limit=st.integers(0, 5))
    def stranger(self, limit):
        assert self.limits.limit("g", self.online, "stranger", limit) == limit

    @precondition(lambda self: self.online)
    @rule(data=st.data())
    def names_nothing(self, data):
        who = data.draw(st.sampled_from(self.online))
        newest = next((each for each in reversed(self.online) if each in self.named), None)
        expected = None if newest is None else self.named[newest]
        assert self.limits.limit("g", self.online, who, None) == expected


TestLimits = Limits.TestCase
TestLimits.settings = settings(max_examples=30, stateful_step_count=25)
