"""Messages of producers that name a delay level go where they wait."""

from __future__ import annotations

import pytest

from mqframe.broker.delay_levels.send_rule import ToDelayTopic
from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import HALF_TOPIC, SCHEDULE_TOPIC
from mqframe.core.requests.messages import SendMessageV2
from mqframe.hooks.interfaces import PendingRecord

NOW = 1_700_000_000_000


def placed(topic: str = "t", **properties: str) -> PendingRecord:
    fields = SendMessageV2(
        topic=topic, producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=3,
        sys_flag=0, born_timestamp=NOW, flag=0,
    )  # fmt: skip
    record = PendingRecord(fields, b"body", 3, {"UNIQ_KEY": "k", **properties})
    assert ToDelayTopic(DelayRules((1000, 5000), lambda: NOW)).before(record) is None
    return record


def test_a_level_has_a_queue_of_its_own() -> None:
    record = placed(DELAY="2")
    assert (record.topic, record.queue_id, record.counted_as) == (SCHEDULE_TOPIC, 1, "t")
    assert (record.properties["REAL_TOPIC"], record.properties["REAL_QID"]) == ("t", "3")
    assert record.answer == {}


def test_what_it_does_follows_from_the_levels_alone() -> None:
    levels = (1000, 5000)
    assert ToDelayTopic(DelayRules(levels, lambda: NOW)).alike_while is levels


def test_where_a_level_and_a_time_are_named_the_level_counts() -> None:
    record = placed(DELAY="1", TIMER_DELIVER_MS=str(NOW + 60_000))
    assert (record.topic, record.queue_id) == (SCHEDULE_TOPIC, 0)
    assert "TIMER_DELIVER_MS" not in record.properties


def test_level_0_leaves_a_wish_for_a_time_to_others() -> None:
    record = placed(DELAY="0", TIMER_DELIVER_MS=str(NOW + 60_000))
    assert (record.topic, record.queue_id) == ("t", 3)
    assert record.properties["TIMER_DELIVER_MS"] == str(NOW + 60_000)


def test_a_half_message_waits_for_its_end_first() -> None:
    record = placed(HALF_TOPIC, DELAY="1")
    assert (record.topic, record.queue_id) == (HALF_TOPIC, 3)


def test_a_delay_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        placed(DELAY="soon")
    assert caught.value.code == 13
