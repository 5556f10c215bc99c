from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.properties import decode_properties
from mqframe.core.storage.dispatch_facts import index_keys, queue_code

LEVELS = parse_levels(DEFAULT_LEVELS)
names = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "XTAGS", "MYKEYS", "OTHER_UNIQ_KEY", "KEYS2", "a", ""])
values = st.text("ab KEYSTAGS_é", max_size=8)
pieces = st.lists(
    st.tuples(
        names,
        st.sampled_from(["\x01", "\x01", "\x01", ""]),
        values,
        st.sampled_from(["\x02", "\x02", "\x02", ""]),
    )
)


@given(pieces)
def test_agrees_with_splitting_all_properties(parts):
    text = "".join(name + one + value + two for name, one, value, two in parts)
    split = decode_properties(text)
    unique, keys, tag = split.get("UNIQ_KEY"), split.get("KEYS", ""), split.get("TAGS")
    expected = ([unique] if unique else []) + [key for key in keys.split(" ") if key]
    assert list(index_keys(text)) == expected
    assert queue_code("t", text, 1, LEVELS) == (java_hash(tag) if tag else 0)


def test_delay_topic():
    def code(text, topic="SCHEDULE_TOPIC_XXXX"):
        return queue_code(topic, text, 1000, LEVELS)

    assert code("DELAY\x013\x02TAGS\x01x\x02") == 11_000
    assert code("DELAY\x0199\x02") == 7_201_000
    assert code("DELAY\x010\x02TAGS\x01x\x02") == code("DELAY\x01no\x02TAGS\x01x\x02") == java_hash("x")
    assert code("DELAY\x013\x02TAGS\x01x\x02", "t") == java_hash("x")
