"""What is a priority in the properties of a message, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_priority import priority_of, with_priority
from mqframe_priority.messages import PRIORITY_MAX, is_of_another_type, priority_in

from mqframe.core.errors import MessageError
from mqframe.core.messages.message import Message

NAME = "_SYS_MSG_PRIORITY_"


@given(st.integers(0, PRIORITY_MAX))
def test_a_message_says_the_priority_that_it_was_given(priority: int) -> None:
    message = Message("jobs", b"x", "tag", properties={"colour": "blue"})
    made = with_priority(message, priority)
    assert made.properties == {"colour": "blue", NAME: str(priority)}
    assert (made.topic, made.body, made.tag) == ("jobs", b"x", "tag")
    assert priority_of(made) == priority
    assert priority_of(message) is None


@pytest.mark.parametrize("priority", [-1, PRIORITY_MAX + 1])
def test_what_no_client_can_read_is_refused(priority: int) -> None:
    with pytest.raises(MessageError, match=f"priority is {priority}; it may be 0 to 2147483647"):
        with_priority(Message("jobs", b"x"), priority)


@pytest.mark.parametrize(
    ("text", "found"),
    [("0", 0), ("007", 7), ("+7", 7), ("-1", None), ("", None), ("7.0", None), ("high", None), ("²", None)],
)
def test_what_is_no_priority(text: str, found: int | None) -> None:
    assert priority_in({NAME: text}) == found


def test_beyond_what_java_reads_there_is_none() -> None:
    assert priority_in({NAME: str(PRIORITY_MAX)}) == PRIORITY_MAX
    assert priority_in({NAME: str(PRIORITY_MAX + 1)}) is None


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("TRAN_MSG", "true", True),
        ("TRAN_MSG", "TRUE", True),
        ("TRAN_MSG", "false", False),
        ("__SHARDINGKEY", "k", True),
        ("DELAY", "3", True),
        ("TIMER_DELIVER_MS", "1", True),
        ("TIMER_DELAY_SEC", "1", True),
        ("TIMER_DELAY_MS", "1", True),
        ("KEYS", "k", False),
        (NAME, "4", False),
    ],
)
def test_types_exclude_each_other(name: str, value: str, other: bool) -> None:
    assert is_of_another_type({name: value, NAME: "3"}) is other
