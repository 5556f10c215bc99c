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
        {"TIMER_OUT_MS": str(NOW + 9000)},
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


@pytest.mark.parametrize("out", ["1", str(NOW - 500), str(NOW + 10**9), "x"])
def test_what_a_sender_says_of_an_earlier_wait_does_not_make_it_come_at_once(rules, out):
    properties = {"TIMER_DELAY_SEC": "5", "TIMER_OUT_MS": out, "REAL_TOPIC": "old", "REAL_QID": "9"}
    assert rules.place("t", 3, properties) == ("rmq_sys_wheel_timer", 0)
    assert properties == {
        "TIMER_DELAY_SEC": "5",
        "TIMER_OUT_MS": str(NOW + 4500),
        "REAL_TOPIC": "t",
        "REAL_QID": "3",
    }


@pytest.mark.parametrize(
    ("properties", "left"),
    [
        ({"TIMER_DELAY_SEC": "1", "TIMER_DELIVER_MS": str(NOW + 9000)}, "TIMER_DELIVER_MS"),
        ({"TIMER_DELAY_SEC": "9", "TIMER_DELIVER_MS": str(NOW + 5000)}, "TIMER_DELAY_SEC"),
        ({"DELAY": "1", "TIMER_DELIVER_MS": str(NOW + 1001)}, "TIMER_DELIVER_MS"),
        ({"DELAY": "9", "TIMER_DELIVER_MS": str(NOW + 1001)}, "DELAY"),
        ({"DELAY": "0", "TIMER_DELAY_MS": "1"}, "TIMER_DELAY_MS"),
        ({"TIMER_DELAY_MS": "5000", "DELAY": "2"}, "DELAY"),
    ],
)
def test_of_a_message_that_is_sent_on_the_latest_time_counts(rules, properties, left):
    value = properties[left]
    rules.keep_latest(properties)
    properties.pop("DELAY", None) if left != "DELAY" else None
    assert properties == {left: value}


@pytest.mark.parametrize(
    ("properties", "waits"),
    [
        ({}, False),
        ({"DELAY": "1"}, True),
        ({"DELAY": "0"}, False),
        ({"TIMER_DELIVER_MS": str(NOW)}, False),
        ({"TIMER_DELIVER_MS": str(NOW + 1)}, True),
    ],
)
def test_whether_a_message_waits_can_be_asked_without_placing_it(rules, properties, waits):
    was = dict(properties)
    assert rules.waits(properties) is waits
    assert properties == was
