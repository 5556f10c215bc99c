import pytest

from mqframe.core.delay.rules import DelayRules, TimerLimits
from mqframe.core.errors import Refusal

NOW = 1_700_000_000_500


@pytest.fixture
def rules():
    return DelayRules((1000, 5000), lambda: NOW)


@pytest.mark.parametrize(
    ("properties", "place", "more"),
    [
        ({}, ("t", 3), {}),
        ({"DELAY": "1"}, ("SCHEDULE_TOPIC_XXXX", 0), {"DELAY": "1"}),
        ({"DELAY": "2"}, ("SCHEDULE_TOPIC_XXXX", 1), {"DELAY": "2"}),
        ({"DELAY": "3"}, ("SCHEDULE_TOPIC_XXXX", 1), {"DELAY": "2"}),
        ({"TIMER_DELAY_MS": "500"}, ("rmq_sys_wheel_timer", 0), {"TIMER_OUT_MS": str(NOW - 500)}),
        ({"TIMER_DELAY_MS": "501"}, ("rmq_sys_wheel_timer", 0), {"TIMER_OUT_MS": str(NOW + 500)}),
    ],
)
def test_a_message_that_waits_knows_where_it_belongs(rules, properties, place, more):
    was = dict(properties)
    assert rules.place("t", 3, properties) == place
    real = {} if place == ("t", 3) else {"REAL_TOPIC": "t", "REAL_QID": "3"}
    assert properties == was | more | real


@pytest.mark.parametrize(
    "properties",
    [
        {"DELAY": "0"},
        {"DELAY": "-7"},
        {"TIMER_DELAY_SEC": "0"},
        {"TIMER_DELIVER_MS": str(NOW)},
        {"TIMER_DELAY_SEC": "5", "TIMER_OUT_MS": "1"},
    ],
)
def test_a_message_that_does_not_wait_stays_as_it_is(rules, properties):
    was = dict(properties)
    assert rules.place("t", 3, properties) == ("t", 3)
    assert properties == was


@pytest.mark.parametrize("properties", [{"DELAY": "1"}, {"TIMER_DELAY_SEC": "5"}])
@pytest.mark.parametrize(("topic", "queue_id"), [("t", 10**12), ("t", -1), ("../up", 0), ("x" * 300, 0)])
def test_what_could_never_be_delivered_does_not_wait(rules, properties, topic, queue_id):
    with pytest.raises(Refusal, match=r"13.*cannot be delivered to"):
        rules.place(topic, queue_id, dict(properties))


def test_what_rolls_stays_in_the_timer_topic(rules):
    properties = {"TIMER_DELAY_SEC": "5", "REAL_TOPIC": "t"}
    assert rules.place("rmq_sys_wheel_timer", 0, properties) == ("rmq_sys_wheel_timer", 0)


@pytest.mark.parametrize(
    ("timer", "properties", "code"),
    [
        (TimerLimits(), {"DELAY": "soon"}, 13),
        (TimerLimits(), {"DELAY": "2147483648"}, 13),
        (TimerLimits(), {"TIMER_DELIVER_MS": ""}, 13),
        (TimerLimits(delay_ms_max=1000), {"TIMER_DELAY_MS": "1001"}, 13),
        (TimerLimits(), {"TIMER_DELIVER_MS": "1", "TIMER_DEL_UNIQKEY": "t+u"}, 13),
        (TimerLimits(enabled=False), {"TIMER_DELAY_MS": "1"}, 1),
    ],
)
def test_a_wish_that_cannot_be_kept_is_refused(timer, properties, code):
    with pytest.raises(Refusal) as refused:
        DelayRules((1000,), lambda: NOW, timer).place("t", 0, properties)
    assert refused.value.code == code


def test_the_furthest_time_is_allowed():
    rules = DelayRules((1000,), lambda: NOW, TimerLimits(delay_ms_max=1000))
    assert rules.place("t", 0, {"TIMER_DELAY_MS": "1000"})[0] == "rmq_sys_wheel_timer"
