"""Which messages take part."""

from __future__ import annotations

import pytest
from mqframe_deduplication.counting import counting_topic

from mqframe.core.codes import SysFlag


@pytest.mark.parametrize(
    ("topic", "properties", "sys_flag", "counts"),
    [
        ("orders", {}, 0, "orders"),
        ("orders", {"DELAY": "3", "TAGS": "a"}, SysFlag.COMPRESSED, "orders"),
        ("SCHEDULE_TOPIC_XXXX", {"REAL_TOPIC": "orders", "REAL_QID": "1"}, 0, "orders"),
        ("rmq_sys_wheel_timer", {"REAL_TOPIC": "orders", "TIMER_OUT_MS": "1"}, 0, "orders"),
        ("orders", {"REAL_TOPIC": "orders", "REAL_QID": "1"}, 0, None),
        ("rmq_sys_wheel_timer", {"REAL_TOPIC": "orders", "TIMER_ROLL_TIMES": "1"}, 0, None),
        ("rmq_sys_wheel_timer", {"REAL_TOPIC": "orders", "TIMER_DEL_UNIQKEY": "orders+x"}, 0, None),
        ("RMQ_SYS_TRANS_HALF_TOPIC", {"TRAN_MSG": "true", "REAL_TOPIC": "orders"}, 0, None),
        ("orders", {"TRAN_MSG": "true"}, SysFlag.TRANSACTION_COMMIT, None),
        ("orders", {}, SysFlag.TRANSACTION_COMMIT, None),
        ("%RETRY%billing", {"RETRY_TOPIC": "orders"}, 0, None),
        ("SCHEDULE_TOPIC_XXXX", {"REAL_TOPIC": "%RETRY%billing"}, 0, None),
        ("%DLQ%billing", {}, 0, None),
        ("DefaultCluster_REPLY_TOPIC", {}, 0, None),
        ("rmq_sys_REVIVE_LOG_DefaultCluster", {}, 0, None),
        ("RMQ_SYS_TRACE_TOPIC", {}, 0, None),
        ("SCHEDULE_TOPIC_XXXX", {}, 0, None),
    ],
)
def test_keys_count_for_what_applications_send(
    topic: str, properties: dict[str, str], sys_flag: int, counts: str | None
) -> None:
    assert counting_topic(topic, properties, sys_flag) == counts
