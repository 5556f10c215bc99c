from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_idempotence import NoKey, WrongUse, business_key, message_id, property_key
from mqframe_idempotence.keys import KEY_CHARACTERS_MAX, KeyRule, checked_scope, fitting
from mqframe_testing.consuming import received


def test_the_message_id_is_the_same_for_all_copies() -> None:
    first = received(0, UNIQ_KEY="u1")
    again = received(9, UNIQ_KEY="u1", ORIGIN_MESSAGE_ID=first.offset_message_id)
    assert message_id(first) == message_id(again) == "u1"


def test_without_a_unique_key_it_is_the_broker_s_id_of_the_first_copy() -> None:
    first = received(0)
    again = received(9, ORIGIN_MESSAGE_ID=first.offset_message_id)
    assert message_id(first) == message_id(again) == first.offset_message_id
    assert message_id(received(1)) != message_id(first)


def test_keys_and_properties_are_keys() -> None:
    message = received(0, KEYS="order-1 order-2", invoice="i-7")
    assert business_key(message) == KeyRule("keys").key_of(message) == "order-1 order-2"
    assert property_key("invoice")(message) == KeyRule("property:invoice").key_of(message) == "i-7"
    assert KeyRule(lambda m: f"{m.topic}/{m.properties['invoice']}").key_of(message) == "orders/i-7"


@pytest.mark.parametrize("key", ["keys", "property:invoice", lambda message: "", lambda message: None])
def test_a_message_without_a_key_is_refused_or_let_through(key: Any) -> None:
    message = received(3, UNIQ_KEY="u1")
    with pytest.raises(
        NoKey, match=r"message u1 of topic orders \(queue 0, offset 3\) has no key; .*missing="
    ):
        KeyRule(key).key_of(message)
    assert KeyRule(key, "process").key_of(message) is None


def test_a_key_is_text() -> None:
    with pytest.raises(NoKey, match="is int, not str"):
        KeyRule(lambda message: 17).key_of(received(0))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("key", ["id", "property:", 7, None])
def test_unknown_words_are_refused(key: Any) -> None:
    with pytest.raises(WrongUse, match="message_id"):
        KeyRule(key)


def test_an_unknown_missing_is_refused() -> None:
    with pytest.raises(WrongUse, match="'skip'"):
        KeyRule(missing="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", ["", "x" * 51, "a:b", "a b", "a\n"])
def test_scopes_are_short_words(scope: str) -> None:
    with pytest.raises(WrongUse, match="scope"):
        checked_scope(scope)


@given(st.text(max_size=300), st.text(max_size=300))
def test_what_fits_is_short_and_differs_where_keys_do(one: str, other: str) -> None:
    assert len(fitting(one)) <= KEY_CHARACTERS_MAX
    assert (fitting(one) == fitting(other)) == (one == other)
    assert fitting(fitting("x" * 300)) != fitting("x" * 300), "a digest is no key of somebody else's"


@pytest.mark.parametrize("key", ["order-17", "ключ", "x" * KEY_CHARACTERS_MAX, "two words"])
def test_usual_keys_stay_readable(key: str) -> None:
    assert fitting(key) == key
