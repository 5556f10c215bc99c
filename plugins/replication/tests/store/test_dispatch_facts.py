"""Facts of records in a row are those of each alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_replication.store.dispatch_facts import DispatchFacts

from mqframe.core.delay.levels import DEFAULT_LEVELS, parse_levels
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
# Neighbours that are nearly alike: of few texts, keys, and what stands before and behind.
near = st.tuples(
    st.sampled_from(["", "KEYS\x01k\x02", "KEYS\x01a b\x02", "OTHER_", "UNIQ_KEY\x01", "DELAY\x013\x02"]),
    st.sampled_from(["A1", "B2", "", "a\x02TAGS\x01z", "x\x01", "é9", "UNIQ_KEY\x01A1"]),
    st.sampled_from(
        ["\x02", "", "\x02TAGS\x01x\x02", "\x02TAGS\x01y\x02", "\x02UNIQ_KEY\x01C3\x02", "\x02KEYS\x01k"]
    ),
)


@given(
    st.lists(
        st.one_of(
            near.map(lambda one: f"{one[0]}UNIQ_KEY\x01{one[1]}{one[2]}"),
            pieces.map(lambda parts: "".join(map("".join, parts))),
        )
    ),
    st.lists(st.sampled_from(["t", "u", "SCHEDULE_TOPIC_XXXX"]), min_size=1),
)
def test_one_record_after_the_other_has_the_facts_that_it_has_alone(
    texts: list[str], topics: list[str]
) -> None:
    facts = DispatchFacts(LEVELS)
    for number, text in enumerate(texts):
        topic = topics[number % len(topics)]
        assert facts.of(topic, text, number) == (queue_code(topic, text, number, LEVELS), index_keys(text))
