"""When a message expires: what senders may say, and what readers understand."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_expiry import EXPIRES, expires_ms, expiring, is_expired
from mqframe_expiry.moment import moment
from mqframe_testing.consuming import received

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, ReceivedMessage

MESSAGE = Message("orders", b"one", tag="paid", properties={"colour": "green"})


def stored(**properties: str) -> ReceivedMessage:
    """A message as a listener sees it, with these properties."""
    return received(0, **properties)


@pytest.mark.parametrize("after", [30, 30.0, timedelta(seconds=30)])
def test_a_message_expires_after_some_seconds(after) -> None:
    began = time.time_ns() // 1_000_000
    made = expiring(MESSAGE, after=after)
    assert began + 30_000 <= int(made.properties[EXPIRES]) <= time.time_ns() // 1_000_000 + 30_000
    assert (made.topic, made.body, made.tag, made.properties["colour"]) == ("orders", b"one", "paid", "green")
    assert EXPIRES not in MESSAGE.properties


@pytest.mark.parametrize("at", [1_700_000_000_500, datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)])
def test_or_at_a_moment(at) -> None:
    assert expiring(MESSAGE, at=at).properties[EXPIRES] == "1700000000500"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give one of the two"),
        ({"after": 1, "at": 1}, "give one of the two"),
        ({"after": 0}, "cannot expire after 0 seconds"),
        ({"after": float("nan")}, "cannot expire after nan seconds"),
        ({"after": float("inf")}, "cannot expire after inf seconds"),
        ({"after": timedelta(seconds=-1)}, r"cannot expire after -1\.0 seconds"),
        ({"at": datetime(2026, 1, 1)}, "a time without a zone"),
        ({"at": -1}, "must be a datetime, or ms since 1970"),
        ({"at": "tomorrow"}, "must be a datetime, or ms since 1970"),
    ],
)
def test_anything_else_is_refused(given, words: str) -> None:
    with pytest.raises(FixError, match=words):
        expiring(MESSAGE, **given)


@given(now=st.integers(0, 10**13), seconds=st.floats(1e-9, 1e9))
def test_it_is_always_later_than_now(now: int, seconds: float) -> None:
    expires = expires_ms(stored(**{EXPIRES: moment(now, seconds)}))
    assert expires is not None
    assert now < expires <= now + max(1, seconds * 1000)


def test_a_message_has_expired_from_that_moment_on() -> None:
    message = stored(**{EXPIRES: "1000"})
    assert [is_expired(message, now) for now in (0, 999, 1000, 1001)] == [False, False, True, True]
    assert is_expired(message)
    assert not is_expired(stored(**{EXPIRES: "9" * 18}))


@pytest.mark.parametrize(
    "properties",
    [{}, {"a": EXPIRES}, {EXPIRES: "soon"}, {EXPIRES: "-5"}, {EXPIRES: "9" * 19}, {EXPIRES: "٣"}],
)
def test_what_says_no_moment_never_expires(properties) -> None:
    assert expires_ms(stored(**properties)) is None
    assert not is_expired(stored(**properties), 10**30)
