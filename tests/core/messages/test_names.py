from __future__ import annotations

import pytest
from hypothesis import given
from strategies import names

from mqframe.core.errors import MessageError
from mqframe.core.messages.names import (
    check_group,
    check_topic,
    dead_letter_topic,
    is_system_topic,
    retry_topic,
)


@given(names)
def test_legal_names_pass(name: str) -> None:
    check_topic(name)
    check_group(name)
    check_topic(retry_topic(name))
    check_topic(dead_letter_topic(name))


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
