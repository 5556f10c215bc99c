from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from mqframe.core.cluster.order_config import is_fifo, learnt_changes, order_text, parse_order
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.errors import RouteError


def topic(name="t", queues=4, *, order=False, kind=None) -> dict[str, TopicConfig]:
    attributes = {"message.type": kind} if kind else {}
    return {name: TopicConfig(topic_name=name, write_queue_nums=queues, order=order, attributes=attributes)}


names = st.text("abc-@", min_size=1, max_size=5)


@given(st.dictionaries(names, st.integers(0, 99)))
def test_lists_are_read_as_they_were_written(queues) -> None:
    assert parse_order("t", order_text(queues)) == queues


@pytest.mark.parametrize("text", ["a", "a:x", "a:1;b:", "a:-1"])
def test_what_is_no_list_is_named(text) -> None:
    with pytest.raises(RouteError, match="order configuration of topic t"):
        parse_order("t", text)


@pytest.mark.parametrize(
    ("kind", "expected"), [("FIFO", True), ("fifo", True), ("NORMAL", False), (None, False)]
)
def test_type(kind, expected) -> None:
    assert is_fifo(topic(kind=kind)["t"]) is expected


@pytest.mark.parametrize("way", [{"order": True}, {"kind": "FIFO"}])
def test_brokers_are_added_and_stay(way) -> None:
    kept: dict[str, str] = {}
    kept.update(learnt_changes(kept, "b", topic(**way)))  # type: ignore[arg-type]
    assert kept == {"t": "b:4"}
    assert learnt_changes(kept, "b", topic(**way)) == {}
    assert learnt_changes(kept, "a", topic(queues=2, **way)) == {"t": "a:2;b:4"}
    assert learnt_changes(kept, "b", topic(queues=8, **way)) == {"t": "b:8"}
    assert learnt_changes({"t": "a:2;b:4"}, "a", {}) == {}


def test_a_broker_leaves_the_list_when_it_registers_the_topic_as_another_kind() -> None:
    assert learnt_changes({"t": "a:2;b:4"}, "b", topic()) == {"t": "a:2"}
    assert learnt_changes({"t": "b:4"}, "b", topic()) == {"t": None}
    assert learnt_changes({}, "b", topic()) == {}


def test_a_broker_that_may_not_be_written_to_leaves_the_list() -> None:
    readable = {name: structs.replace(each, perm=4) for name, each in topic(kind="FIFO").items()}
    assert learnt_changes({"t": "a:2;b:4"}, "b", readable) == {"t": "a:2"}
    assert learnt_changes({"t": "a:2"}, "b", readable) == {}


def test_topics_of_groups_have_no_list() -> None:
    for name in ("%RETRY%g", "%DLQ%g"):
        assert learnt_changes({}, "b", topic(name, order=True)) == {}
