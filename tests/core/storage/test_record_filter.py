"""Looking at a record's properties without taking the record apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.properties import encode_properties
from mqframe.core.storage.record import encode_record
from mqframe.core.storage.record_filter import RecordProperties, properties_text, record_filter

V4, V6 = encode_host("10.0.0.1:80"), encode_host("[::1]:80")


def record(
    properties: str, body: bytes = b"x", topic: str = "t", born: bytes = V4, store: bytes = V4
) -> bytes:
    return encode_record(
        topic=topic, queue_id=0, queue_offset=0, physical_offset=0, body=body, properties=properties.encode(),
        born_timestamp=1, born_host=born, store_timestamp=1, store_host=store,
    )  # fmt: skip


@pytest.mark.parametrize("born", [V4, V6])
@pytest.mark.parametrize("store", [V4, V6])
@pytest.mark.parametrize("topic", ["t", "t" * 200])
def test_properties_of_every_form_of_a_record(born, store, topic):
    text = "a\x01订单\x02b\x012\x02"
    assert properties_text(record(text, b"y" * 300, topic, born, store)) == text
    assert properties_text(memoryview(record("", b"y", topic, born, store))) == ""


word = st.text(
    st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=5
)


@given(st.dictionaries(word, word, max_size=6), word)
def test_looked_up_properties_are_those_of_the_whole(pairs, name):
    looked = RecordProperties(encode_properties(pairs))
    assert dict(looked) == pairs
    assert len(looked) == len(pairs)
    for each in [name, *pairs]:
        assert looked.get(each) == pairs.get(each)
        assert looked.get(each, "?") == pairs.get(each, "?")
        assert (each in looked) == (each in pairs)
        if each in pairs:
            assert looked[each] == pairs[each]


def test_a_filter_asks_the_condition():
    seen = []
    wanted = record_filter(lambda properties: bool(seen.append(properties.get("a"))) or True)
    assert wanted(record("a\x015\x02"))
    assert seen == ["5"]


def test_a_condition_that_asks_about_another_record_meanwhile():
    """As threads do that read for pulls."""
    seen = []

    def matches(properties):
        if not seen:
            seen.append("")
            wanted(record("a\x016\x02"))
        seen.append(properties.get("a"))
        return properties.get("a") == "5"

    wanted = record_filter(matches)
    assert wanted(record("a\x015\x02"))
    assert seen == ["", "6", "5"]


def test_a_condition_that_raises():
    def raising(properties):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        record_filter(raising)(record("a\x015\x02"))
    problems = []
    assert record_filter(raising, problems.append)(record("a\x015\x02")) is False
    assert record_filter(raising, problems.append)(b"no record") is False
    assert len(problems) == 2
