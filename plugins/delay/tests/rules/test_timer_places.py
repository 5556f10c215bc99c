"""Where messages wait for a given time, and which are refused."""

from __future__ import annotations

import pytest
from mqframe_delay.rules.timer_places import TimerPlaces

from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import Refusal

NOW = 1_700_000_000_500


def with_timer(timer: TimerPlaces) -> DelayRules:
    rules = DelayRules((1000, 5000), lambda: NOW)
    rules.place_in_time = timer.place
    return rules


@pytest.fixture
def rules() -> DelayRules:
    return with_timer(TimerPlaces())


@pytest.mark.parametrize(
    ("properties", "out"),
    [({"TIMER_DELAY_MS": "500"}, NOW - 500), ({"TIMER_DELAY_MS": "501"}, NOW + 500)],
)
def test_a_message_that_waits_knows_where_it_belongs(
    rules: DelayRules, properties: dict[str, str], out: int
) -> None:
    was = dict(properties)
    assert rules.place("t", 3, properties) == ("rmq_sys_wheel_timer", 0)
    assert properties == was | {"TIMER_OUT_MS": str(out), "REAL_TOPIC": "t", "REAL_QID": "3"}


@pytest.mark.parametrize("properties", [{"TIMER_DELAY_SEC": "0"}, {"TIMER_DELIVER_MS": str(NOW)}])
def test_a_message_that_does_not_wait_stays_as_it_is(rules: DelayRules, properties: dict[str, str]) -> None:
    was = dict(properties)
    assert rules.place("t", 3, properties) == ("t", 3)
    assert properties == was


@pytest.mark.parametrize(("topic", "queue_id"), [("t", 10**12), ("t", -1), ("../up", 0), ("x" * 300, 0)])
def test_what_could_never_be_delivered_does_not_wait(rules: DelayRules, topic: str, queue_id: int) -> None:
    with pytest.raises(Refusal, match=r"13.*cannot be delivered to"):
        rules.place(topic, queue_id, {"TIMER_DELAY_SEC": "5"})


@pytest.mark.parametrize(
    ("timer", "properties", "code"),
    [
        (TimerPlaces(delay_ms_max=1000), {"TIMER_DELAY_MS": "1001"}, 13),
        (TimerPlaces(), {"TIMER_DELIVER_MS": "1", "TIMER_DEL_UNIQKEY": "t+u"}, 13),
        (TimerPlaces(enabled=False), {"TIMER_DELAY_MS": "1"}, 1),
        (TimerPlaces(enabled=False), {"TIMER_DELAY_MS": "0"}, 1),
    ],
)
def test_a_wish_that_cannot_be_kept_is_refused(
    timer: TimerPlaces, properties: dict[str, str], code: int
) -> None:
    with pytest.raises(Refusal) as refused:
        with_timer(timer).place("t", 0, properties)
    assert refused.value.code == code


def test_the_furthest_time_is_allowed() -> None:
    rules = with_timer(TimerPlaces(delay_ms_max=1000))
    assert rules.place("t", 0, {"TIMER_DELAY_MS": "1000"})[0] == "rmq_sys_wheel_timer"


@pytest.mark.parametrize("out", ["1", str(NOW - 500), str(NOW + 10**9), "x"])
def test_what_a_sender_says_of_an_earlier_wait_does_not_make_it_come_at_once(
    rules: DelayRules, out: str
) -> None:
    properties = {"TIMER_DELAY_SEC": "5", "TIMER_OUT_MS": out, "REAL_TOPIC": "old", "REAL_QID": "9"}
    assert rules.place("t", 3, properties) == ("rmq_sys_wheel_timer", 0)
    assert properties == {
        "TIMER_DELAY_SEC": "5",
        "TIMER_OUT_MS": str(NOW + 4500),
        "REAL_TOPIC": "t",
        "REAL_QID": "3",
    }
