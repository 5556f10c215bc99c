"""Messages written as JSON lines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from mqframe_cli.sending.records import Outgoing, later_wishes, outgoing_of

from mqframe.core.errors import MessageError, SettingError
from mqframe.core.messages.message import Message

DEFAULT = Outgoing(Message("orders", b"-", "plain", ["all"], {"from": "cli", "x": "0"}), "customer-1")


def test_a_line_says_all_that_a_message_can_have() -> None:
    line = b"""{"body": "AAH/", "body_encoding": "base64", "tag": "paid", "key": "o-1", "keys": ["o-2"],
        "properties": {"x": "1"}, "sharding_key": "customer-7", "delay": "90s"}"""
    found = outgoing_of(line, 1, DEFAULT)
    assert found.message == Message(
        "orders", b"\x00\x01\xff", "paid", ["o-1", "o-2"], {"from": "cli", "x": "1"}
    )
    assert (found.sharding_key, found.later) == ("customer-7", {"delay": timedelta(seconds=90)})


def test_what_a_line_does_not_say_is_taken_from_the_options() -> None:
    found = outgoing_of(b'{"body": "b"}', 1, DEFAULT)
    assert found == Outgoing(
        Message("orders", b"b", "plain", ["all"], {"from": "cli", "x": "0"}), "customer-1", {}
    )


def test_what_was_read_is_sent_again_without_what_brokers_set() -> None:
    line = b"""{"message_id": "7F", "topic": "other", "broker": "b", "queue": 1, "offset": 2, "tag": "t",
        "keys": ["k"], "stored": "2026-11-23T16:22:53.960+00:00", "body_encoding": "text", "body": "b",
        "properties": {"UNIQ_KEY": "7F", "__SHARDINGKEY": "s", "mine": "1"}}"""
    found = outgoing_of(line, 1, Outgoing(Message("orders", b"-")))
    assert found == Outgoing(Message("orders", b"b", "t", ["k"], {"mine": "1"}), "s", {})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 7: "),
        (b'{"tag": "t"}', "line 7: .*required field `body`"),
        (b'{"body": "b", "tagg": "t"}', "did you mean tag"),
        (b'{"body": "b", "tag": 1}', r"at `\$\.tag`"),
        (b'{"body": "?", "body_encoding": "base64"}', "line 7: "),
        (b'{"body": "b", "body_encoding": "hex"}', "line 7: .*'hex'"),
        (b'{"body": "b", "delay": "soon"}', "line 7: --delay soon"),
        (b'{"body": "b", "deliver_at": "noon"}', "line 7: deliver_at is 'noon'; write a time with its zone"),
        (
            b'{"body": "b", "deliver_at": "2026-12-24T18:00"}',
            "line 7: deliver_at is 2026-12-24T18:00 without a time zone; add one",
        ),
        (b'{"body": "b", "deliver_at": 1700000000}', "not seconds"),
        (b'{"body": "\xff"}', "line 7: "),
    ],
)
def test_a_line_that_is_wrong_is_named(line: bytes, said: str) -> None:
    with pytest.raises(MessageError, match=said):
        outgoing_of(line, 7, DEFAULT)


@pytest.mark.parametrize(
    ("given", "wishes"),
    [
        ((None, None, None), {}),
        ((2.5, None, None), {"delay": timedelta(seconds=2.5)}),
        ((None, 1_700_000_000_000, None), {"deliver_at": 1_700_000_000_000}),
        ((None, None, 3), {"delay_level": 3}),
    ],
)
def test_wishes_for_later(given: Any, wishes: Any) -> None:
    assert later_wishes(*given) == wishes


def test_a_delay_that_is_none() -> None:
    with pytest.raises(SettingError):
        later_wishes("soon", None, None)
