from __future__ import annotations

import pytest

from mqframe.core.errors import FixError
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import ReceivedMessage


def message(properties: bytes) -> ReceivedMessage:
    return ReceivedMessage("t", 0, 0, 0, 1, 0, 0, b"", b"", 0, 0, 0, 0, 0, b"x", properties)


@pytest.mark.parametrize("expression", [None, "", "*"])
def test_all(expression) -> None:
    wanted = TagFilter(expression)
    assert (wanted.expression, wanted.tags, wanted.codes) == ("*", (), [])


def test_tags_are_trimmed_and_keep_their_order() -> None:
    wanted = TagFilter(" paid||refunded || paid || ")
    assert wanted.tags == ("paid", "refunded")
    assert wanted.codes == [java_hash("paid"), java_hash("refunded")]


@pytest.mark.parametrize("expression", ["||", " || ", " ", "a || *"])
def test_expressions_that_mean_nothing(expression) -> None:
    with pytest.raises(FixError, match="expression"):
        TagFilter(expression)


def test_equal_hashes_are_told_apart() -> None:
    # "Aa" and "BB" have the same hash, so a broker lets both through.
    assert java_hash("Aa") == java_hash("BB")
    found = [message(b"TAGS\x01Aa\x02"), message(b"TAGS\x01BB\x02"), message(b"KEYS\x01Aa\x02"), message(b"")]
    assert TagFilter("Aa").choose(found) == found[:1]
    assert TagFilter("*").choose(found) == found


def test_what_a_heartbeat_says() -> None:
    data = TagFilter("a || b").subscription("orders", 17)
    assert (data.topic, data.sub_string, data.sub_version, data.tags_set) == (
        "orders",
        "a || b",
        17,
        ["a", "b"],
    )
    assert data.code_set == [97, 98]
    assert data.expression_type == "TAG"
