"""Names in properties of messages."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_namespaces.rules.names import stripped, wrapped
from mqframe_namespaces.rules.properties import renamed_properties, sent_properties

from mqframe.core.messages.properties import decode_properties, encode_properties

WRAP, STRIP = partial(wrapped, "shop"), partial(stripped, "shop")
NAMES = st.sampled_from(["PGROUP", "RETRY_TOPIC", "XPGROUP", "TAGS", "RETRY_TOPIC2"])
PROPERTIES = st.dictionaries(
    NAMES | st.text("abP", min_size=1, max_size=3), st.text("ab%PGROUP ", min_size=1)
)


@given(PROPERTIES)
def test_only_those_that_hold_names_change(properties: dict[str, str]) -> None:
    found = decode_properties(renamed_properties(encode_properties(properties), WRAP))
    named = ("PGROUP", "RETRY_TOPIC")
    assert found == {name: WRAP(value) if name in named else value for name, value in properties.items()}


@given(PROPERTIES)
def test_they_come_back_as_they_were(properties: dict[str, str]) -> None:
    text = encode_properties(properties)
    if all(STRIP(WRAP(value)) == value for value in properties.values()):
        assert renamed_properties(renamed_properties(text, WRAP), STRIP) == text


@pytest.mark.parametrize("text", ["", "a\x01b", "a\x01b\x02"])
def test_what_is_sent_says_the_namespace(text: str) -> None:
    end = "\x02" if text and text[-1] != "\x02" else ""
    assert sent_properties(text, "shop", WRAP) == f"{text}{end}INSTANCE_ID\x01shop\x02"


def test_a_copy_that_says_it_already_is_left_as_it_is() -> None:
    text = "INSTANCE_ID\x01shop\x02RETRY_TOPIC\x01orders\x02"
    assert sent_properties(text, "shop", WRAP) == "INSTANCE_ID\x01shop\x02RETRY_TOPIC\x01shop%orders\x02"
