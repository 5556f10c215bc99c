"""What a send hook can do to a send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.errors import MessageError
from mqframe.core.messages.message import Message
from mqframe.core.messages.properties import BUYER_ID, RESERVED
from mqframe.hooks.interfaces import IllegalProperty, SendOperation


def operation(count: int = 2) -> SendOperation:
    return SendOperation("shop", [Message("orders", b"%d" % number) for number in range(count)], "sync")


def test_properties_of_all_of_one_and_of_the_last() -> None:
    send = operation(3)
    send.set_property("all", "a")
    send.set_property("one", "b", 1)
    send.set_property("last", "c", -1)
    send.set_property("all", "d", 0)
    assert send.take_properties() == {
        0: {"all": "d"},
        1: {"all": "a", "one": "b"},
        2: {"all": "a", "last": "c"},
    }
    assert send.take_properties() == {}
    assert all(message.properties == {} for message in send.messages)
    with pytest.raises(IndexError):
        send.set_property("none", "x", 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [("", "x"), ("x", ""), ("a\x01", "x"), ("x", "\x02"), (7, "x"), ("x", None), ("x", "\ud800")],
)
def test_what_no_message_can_carry(name: object, value: object) -> None:
    send = operation()
    with pytest.raises(IllegalProperty) as told:
        send.set_property(name, value)  # type: ignore[arg-type]
    assert isinstance(told.value, MessageError)
    assert send.take_properties() == {}


@given(st.sampled_from(sorted(RESERVED - {BUYER_ID})))
def test_names_of_the_system(name: str) -> None:
    with pytest.raises(IllegalProperty, match="belongs to the system"):
        operation().set_property(name, "x")
