from __future__ import annotations

import pytest
from hypothesis import given
from strategies import names

from mqframe.core.errors import MessageError
from mqframe.core.messages.names import (
    check_group,
    check_path_part,
    check_topic,
    dead_letter_topic,
    is_closed_topic,
    is_path_part,
    is_queue_place,
    is_system_group,
    is_system_topic,
    normal_topic,
    retry_topic,
)


@given(names)
def test_legal_names_pass(name: str) -> None:
    check_topic(name)
    check_group(name)
    check_topic(retry_topic(name))
    check_topic(dead_letter_topic(name))
    check_path_part("topic", retry_topic(name))


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ü", "a.b", "a\n", "x" * 128])
def test_illegal_topics_are_refused_with_their_reason(name: str) -> None:
    with pytest.raises(MessageError, match="topic name"):
        check_topic(name)


def test_lengths() -> None:
    check_topic("x" * 127)
    check_topic("%RETRY%" + "x" * 248)
    check_group("x" * 120)
    with pytest.raises(MessageError, match="127 are allowed"):
        check_topic("x" * 128)
    with pytest.raises(MessageError, match="255 are allowed"):
        check_topic("%DLQ%" + "x" * 251)
    with pytest.raises(MessageError, match="120 are allowed"):
        check_group("x" * 121)


def test_system_topics() -> None:
    assert is_system_topic("TBW102")
    assert is_system_topic("SCHEDULE_TOPIC_XXXX")
    assert is_system_topic("rmq_sys_wheel_timer")
    assert not is_system_topic("orders")


def test_system_groups() -> None:
    assert is_system_group("TOOLS_CONSUMER")
    assert is_system_group("CID_RMQ_SYS_TRANS_broker-a")
    assert not is_system_group("shipping")


@pytest.mark.parametrize(
    "topic",
    [
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "rmq_sys_wheel_timer",
        "rmq_sys_REVIVE_LOG_DefaultCluster",
        "rmq_sys_SYNC_BROKER_MEMBER_broker-a",
    ],
)
def test_what_the_broker_acts_on_is_closed_to_producers(topic: str) -> None:
    assert is_closed_topic(topic)


@pytest.mark.parametrize(
    "topic",
    [
        "RMQ_SYS_TRACE_TOPIC",
        "rmq_sys_TRACE_DATA_cn-hangzhou",
        "TBW102",
        "BenchmarkTest",
        "%RETRY%g",
        "%DLQ%g",
        "DefaultCluster_REPLY_TOPIC",
        "orders",
    ],
)
def test_what_clients_write_stays_open(topic: str) -> None:
    assert not is_closed_topic(topic)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../up", "/etc", "a/b", "a\0b", "x" * 256, "ü" * 128, "\ud800"]
)
def test_names_that_lead_elsewhere_are_no_part_of_a_path(name: str) -> None:
    assert not is_path_part(name)
    assert not is_queue_place(name, 0)
    with pytest.raises(MessageError, match=r"group .* cannot name a folder"):
        check_path_part("group", name)


def test_stored_names_of_others_are_parts_of_paths() -> None:
    for name in ("%RETRY%g+t", "a.b", "x" * 255, "..."):
        check_path_part("topic", name)
        assert is_queue_place(name, 0)


def test_queue_ids_are_those_that_records_hold() -> None:
    assert is_queue_place("t", (1 << 31) - 1)
    assert not is_queue_place("t", -1)
    assert not is_queue_place("t", 1 << 31)


@pytest.mark.parametrize(
    ("name", "kind"), [(None, "NoneType"), (7, "int"), (b"orders", "bytes"), (print, "builtin")]
)
def test_what_is_no_text_is_no_name(name, kind) -> None:
    for check, what in ((check_topic, "topic"), (check_group, "group")):
        with pytest.raises(MessageError, match=f"{what} name is a {kind}.*, not a str"):
            check(name)


def test_retry_topics_of_pops_name_group_and_topic() -> None:
    assert [normal_topic(topic, "g") for topic in ("t", "%RETRY%g_t", "%RETRY%g+t")] == ["t"] * 3
    assert normal_topic("%RETRY%g", "g") == "%RETRY%g"
