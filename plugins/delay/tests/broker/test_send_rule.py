"""Messages of producers for a given time go to the timer."""

from __future__ import annotations

import pytest
from mqframe_delay.broker.send_rule import ToTimerTopic
from mqframe_delay.rules.timer_places import TimerPlaces

from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import HALF_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC, TIMER_TOPIC
from mqframe.core.requests.messages import SendMessageV2
from mqframe.hooks.interfaces import PendingRecord

NOW = 1_700_000_000_000


def placed(topic: str = "t", **properties: str) -> PendingRecord:
    fields = SendMessageV2(
        topic=topic, producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=3,
        sys_flag=0, born_timestamp=NOW, flag=0,
    )  # fmt: skip
    record = PendingRecord(fields, b"body", 3, {"UNIQ_KEY": "k", **properties})
    rules = DelayRules((1000, 5000), lambda: NOW)
    rules.place_in_time = TimerPlaces().place
    assert ToTimerTopic(rules, "broker-a").before(record) is None
    return record


def test_a_time_goes_to_the_timer_and_can_be_recalled_unless_it_is_a_retry() -> None:
    record = placed(TIMER_DELIVER_MS=str(NOW + 60_000))
    assert (record.topic, record.queue_id) == (TIMER_TOPIC, 0)
    assert record.answer["recallHandle"]
    assert placed(RETRY_PREFIX + "g", TIMER_DELIVER_MS=str(NOW + 60_000)).answer == {}


def test_what_waits_for_a_level_already_is_left_there() -> None:
    record = placed(SCHEDULE_TOPIC, DELAY="1", TIMER_DEL_UNIQKEY="t+u")
    assert (record.topic, record.queue_id, "REAL_TOPIC" in record.properties) == (SCHEDULE_TOPIC, 3, False)


def test_a_half_message_waits_for_its_end_first() -> None:
    record = placed(HALF_TOPIC, TIMER_DELAY_MS="1")
    assert (record.topic, record.queue_id) == (HALF_TOPIC, 3)


def test_a_time_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        placed(TIMER_DELIVER_MS="soon")
    assert caught.value.code == 13
