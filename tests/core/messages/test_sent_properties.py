"""What is believed of properties that brokers set and senders bring."""

from __future__ import annotations

import pytest

from mqframe.core.messages.sent_properties import (
    BROKERS_OWN,
    OF_RETURNS,
    came_back,
    drop_notes,
    has_waited,
    may_name_notes,
)

SENDERS = {"KEYS": "k", "TAGS": "a", "UNIQ_KEY": "u", "DELAY": "3", "TIMER_DELIVER_MS": "5", "PGROUP": "p"}


def test_what_only_a_broker_says_is_dropped_and_the_senders_own_words_stay() -> None:
    properties = SENDERS | dict.fromkeys(BROKERS_OWN | OF_RETURNS, "1")
    drop_notes(properties, "t")
    assert properties == SENDERS


@pytest.mark.parametrize("topic", ["%RETRY%g", "%RETRY%g_t", "%DLQ%g"])
def test_a_copy_that_a_client_hands_back_by_itself_says_where_it_comes_from(topic: str) -> None:
    returns = dict.fromkeys(OF_RETURNS, "1")
    properties = SENDERS | returns | dict.fromkeys(BROKERS_OWN, "1")
    drop_notes(properties, topic)
    assert properties == SENDERS | returns


@pytest.mark.parametrize(
    "name", sorted((BROKERS_OWN | OF_RETURNS) - {"REAL_QID", "TRAN_PREPARED_QUEUE_OFFSET"})
)
def test_a_text_with_such_a_name_is_looked_at(name: str) -> None:
    if name != "TRANSACTION_CHECK_TIMES":  # half messages are taken apart for another reason
        assert may_name_notes(f"UNIQ_KEY\x01u\x02{name}\x01v\x02")


def test_an_ordinary_text_is_not_looked_at() -> None:
    assert not may_name_notes("UNIQ_KEY\x01u\x02WAIT\x01true\x02KEYS\x01k\x02TAGS\x01a\x02DELAY\x012\x02")


def test_whether_it_has_waited_is_seen_by_what_a_broker_noted() -> None:
    assert has_waited({"REAL_TOPIC": "t"})
    assert has_waited({"TIMER_OUT_MS": "5"})
    assert not has_waited(SENDERS)


def test_a_note_about_the_first_copy_counts_where_it_is_about_this_message() -> None:
    assert came_back({"RETRY_TOPIC": "t"}, "%RETRY%g")
    assert came_back({"RETRY_TOPIC": "t"}, "t"), "a consumer has restored its topic"
    assert not came_back({"RETRY_TOPIC": "old"}, "t")
    assert not came_back({}, "t")
