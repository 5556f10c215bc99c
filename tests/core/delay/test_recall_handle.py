"""Handles of messages that wait: what they say, and what is none."""

from __future__ import annotations

import base64

import pytest

from mqframe.core.delay.recall_handle import RecallHandle, decode_recall_handle, delete_key, recall_handle


def test_a_handle_says_what_it_names():
    text = recall_handle("orders", "broker-a", 5000, "u1")
    assert base64.urlsafe_b64decode(text) == b"v1 orders broker-a 5001 u1"
    assert decode_recall_handle(text) == RecallHandle("orders", "broker-a", "5001", "u1")
    assert decode_recall_handle(text.rstrip("=")).message_id == "u1"


@pytest.mark.parametrize("raw", [b"", b"v2 t b 1 u", b"v1 t b 1", b"v1 t b 1 ", b"\xff\xfe"])
def test_what_is_no_handle_is_refused(raw):
    with pytest.raises(ValueError, match="recall handle is invalid"):
        decode_recall_handle(base64.urlsafe_b64encode(raw).decode())


@pytest.mark.parametrize("text", ["ä", "!!!!", "a"])
def test_what_is_no_base64_is_refused(text):
    with pytest.raises(ValueError, match="recall handle is invalid"):
        decode_recall_handle(text)


def test_a_recall_names_a_message_by_its_topic_and_key():
    assert delete_key("orders", "u1") == "orders+u1"
