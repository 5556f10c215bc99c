"""Half messages of producers go where no consumer looks."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock
from mqframe_transactions.broker.send_rule import ToHalfTopic
from mqframe_transactions.settings import TransactionSettings

from mqframe.broker.tables.live_settings import LiveSection
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import HALF_TOPIC
from mqframe.core.requests.messages import SendMessageV2
from mqframe.hooks.interfaces import PendingRecord


def placed(properties: dict[str, str], reconsume_times: int = 0, **settings: Any) -> PendingRecord:
    fields = SendMessageV2(
        topic="t", producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=3,
        sys_flag=4, born_timestamp=1, flag=0, reconsume_times=reconsume_times,
    )  # fmt: skip
    record = PendingRecord(fields, b"body", 3, properties)
    rule = ToHalfTopic(TopicTable(ManualClock()), LiveSection(TransactionSettings(**settings)))
    assert rule.before(record) is None
    return record


def test_a_half_message_is_stored_apart_and_knows_its_place() -> None:
    record = placed({"TRAN_MSG": "true", "__HALF_BATCH": "x"})
    assert (record.topic, record.queue_id, record.counted_as, record.sys_flag) == (
        HALF_TOPIC,
        0,
        HALF_TOPIC,
        0,
    )
    assert (record.properties["REAL_TOPIC"], record.properties["REAL_QID"]) == ("t", "3")


@pytest.mark.parametrize("properties", [{}, {"TRAN_MSG": "false"}])
def test_others_pass(properties: dict[str, str]) -> None:
    record = placed(properties)
    assert (record.topic, record.queue_id, record.sys_flag) == ("t", 3, 4)


def test_a_failed_message_that_an_old_client_sends_again_is_no_half_message() -> None:
    assert placed({"TRAN_MSG": "true", "DELAY": "3"}, reconsume_times=1).topic == "t"


def test_what_it_does_follows_from_the_settings_alone() -> None:
    section = LiveSection(TransactionSettings())
    rule = ToHalfTopic(TopicTable(ManualClock()), section)
    before = rule.alike_while
    assert rule.alike_while is before is not None
    section.current = TransactionSettings(reject=True)
    assert rule.alike_while is not before


def test_a_broker_may_reject_transactions() -> None:
    with pytest.raises(Refusal) as caught:
        placed({"TRAN_MSG": "true"}, reject=True)
    assert caught.value.code == 16
