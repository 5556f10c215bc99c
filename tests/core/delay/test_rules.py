import pytest

from mqframe.core.delay.rules import NO_LEVELS, NO_TIMES, DelayRules
from mqframe.core.errors import Refusal

NOW = 1_700_000_000_500


@pytest.fixture
def rules():
    made = DelayRules((1000, 5000), lambda: NOW)
    made.place_in_time = lambda topic, queue_id, properties, wanted, now: (f"waits {wanted - now}", queue_id)
    return made


@pytest.mark.parametrize(
    ("properties", "place", "more"),
    [
        ({}, ("t", 3), {}),
        ({"DELAY": "1"}, ("SCHEDULE_TOPIC_XXXX", 0), {"DELAY": "1"}),
        ({"DELAY": "2"}, ("SCHEDULE_TOPIC_XXXX", 1), {"DELAY": "2"}),
        ({"DELAY": "3"}, ("SCHEDULE_TOPIC_XXXX", 1), {"DELAY": "2"}),
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
        {"TIMER_OUT_MS": str(NOW + 9000)},
    ],
)
def test_a_message_that_does_not_wait_stays_as_it_is(rules, properties):
    was = dict(properties)
    assert rules.place("t", 3, properties) == ("t", 3)
    assert properties == was


@pytest.mark.parametrize("properties", [{"DELAY": "1"}])
@pytest.mark.parametrize(("topic", "queue_id"), [("t", 10**12), ("t", -1), ("../up", 0), ("x" * 300, 0)])
def test_what_could_never_be_delivered_does_not_wait(rules, properties, topic, queue_id):
    with pytest.raises(Refusal, match=r"13.*cannot be delivered to"):
        rules.place(topic, queue_id, dict(properties))


def test_what_rolls_stays_in_the_timer_topic(rules):
    properties = {"TIMER_DELAY_SEC": "5", "REAL_TOPIC": "t"}
    assert rules.place("rmq_sys_wheel_timer", 0, properties) == ("rmq_sys_wheel_timer", 0)


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        ({"TIMER_DELAY_MS": "500"}, ("waits 500", 3)),
        ({"TIMER_DELAY_SEC": "0"}, ("waits 0", 3)),
        ({"TIMER_DELIVER_MS": str(NOW - 1)}, ("waits -1", 3)),
        ({"DELAY": "0", "TIMER_DELAY_MS": "7"}, ("waits 7", 3)),
        ({"DELAY": "1", "TIMER_DELAY_MS": "7"}, ("SCHEDULE_TOPIC_XXXX", 0)),
    ],
)
def test_who_asks_for_a_time_goes_where_the_service_says_that_sees_to_it(rules, properties, place):
    assert rules.place("t", 3, properties) == place
    assert properties.get("TIMER_DELAY_MS") != "7" or "DELAY" not in properties or properties["DELAY"] == "0"


def test_each_of_the_two_ways_looks_at_its_own_properties_alone(rules):
    assert rules.place_by_level("t", 3, {"TIMER_DELAY_MS": "7"}) == ("t", 3)
    assert rules.place_by_time("t", 3, {"DELAY": "1"}) == ("t", 3)


@pytest.mark.parametrize("properties", [{"DELAY": "soon"}, {"DELAY": "2147483648"}, {"TIMER_DELIVER_MS": ""}])
def test_a_delay_that_is_no_number_is_refused(rules, properties):
    with pytest.raises(Refusal) as refused:
        rules.place("t", 0, properties)
    assert refused.value.code == 13


@pytest.mark.parametrize(
    ("properties", "said"),
    [({"DELAY": "1"}, NO_LEVELS), ({"TIMER_DELAY_MS": "1"}, NO_TIMES), ({"TIMER_DELIVER_MS": "1"}, NO_TIMES)],
)
def test_what_nobody_delivers_is_refused(properties, said):
    with pytest.raises(Refusal) as refused:
        DelayRules((), lambda: NOW).place("t", 0, properties)
    assert (refused.value.code, refused.value.remark) == (1, said)


def test_whoever_is_refused_is_told_what_the_broker_says():
    rules = DelayRules((), lambda: NOW, "no levels here", "no times here")
    with pytest.raises(Refusal, match="no levels here"):
        rules.place("t", 0, {"DELAY": "1"})
    with pytest.raises(Refusal, match="no times here"):
        rules.place("t", 0, {"TIMER_DELAY_MS": "1"})


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
