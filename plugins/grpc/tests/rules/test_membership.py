from __future__ import annotations

import pytest
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.membership import choice_of, heartbeat_of, member_of

from mqframe.core.filtering.filter_expression import SqlFilter
from mqframe.core.filtering.tag_filter import TagFilter


def expression(text: str, kind: m.FilterType = m.FilterType.TAG) -> m.FilterExpression:
    return m.FilterExpression(type=kind, expression=text)


def test_expressions_of_both_kinds() -> None:
    tags = choice_of(expression("a || b"))
    assert isinstance(tags, TagFilter)
    assert tags.tags == ("a", "b")
    assert choice_of(expression("")).expression == "*"
    # As a tag it looks like SQL; the client said what it is.
    assert isinstance(choice_of(expression("a = 1")), TagFilter)
    sql = choice_of(expression("a > 1", m.FilterType.SQL))
    assert isinstance(sql, SqlFilter)
    assert sql.expression == "a > 1"


@pytest.mark.parametrize(
    ("text", "kind"), [("||", m.FilterType.TAG), ("* || a", m.FilterType.TAG), (" ", m.FilterType.SQL)]
)
def test_expressions_that_are_none(text: str, kind: m.FilterType) -> None:
    with pytest.raises(Rejected) as raised:
        choice_of(expression(text, kind))
    assert raised.value.code is m.Code.ILLEGAL_FILTER_EXPRESSION


def test_a_producer_is_in_a_group_for_each_topic_once() -> None:
    topics = [m.Resource(name=name) for name in ("orders", "lines", "orders")]
    beat = heartbeat_of("p@1", m.Settings(publishing=m.Publishing(topics=topics)), 5)
    assert beat.client_id == "p@1"
    assert [each.group_name for each in beat.producer_data_set] == ["orders", "lines"]
    assert beat.consumer_data_set == []


def test_a_consumer_is_in_its_group_with_its_subscriptions() -> None:
    entries = [
        m.SubscriptionEntry(topic=m.Resource(name="orders"), expression=expression("a||b")),
        m.SubscriptionEntry(topic=m.Resource(name="lines"), expression=expression("n = 1", m.FilterType.SQL)),
    ]
    settings = m.Settings(subscription=m.Subscription(group=m.Resource(name="g"), subscriptions=entries))
    [group] = heartbeat_of("c@1", settings, 5).consumer_data_set
    assert (group.group_name, group.consume_type, group.message_model) == (
        "g", "CONSUME_PASSIVELY", "CLUSTERING",
    )  # fmt: skip
    assert [
        (each.topic, each.expression_type, each.sub_string, each.tags_set, each.sub_version)
        for each in group.subscription_data_set
    ] == [("orders", "TAG", "a||b", ["a", "b"], 5), ("lines", "SQL92", "n = 1", [], 5)]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (m.ClientType.PUSH_CONSUMER, "CONSUME_PASSIVELY"),
        (m.ClientType.SIMPLE_CONSUMER, "CONSUME_ACTIVELY"),
        (m.ClientType.PULL_CONSUMER, "CONSUME_ACTIVELY"),
    ],
)
def test_operators_are_shown_how_a_consumer_reads(kind: m.ClientType, shown: str) -> None:
    subscription = m.Subscription(group=m.Resource(name="g"))
    [data] = heartbeat_of("c", m.Settings(client_type=kind, subscription=subscription), 1).consumer_data_set
    assert data.consume_type == shown


def test_a_member_of_which_nothing_is_known_keeps_its_subscriptions() -> None:
    beat = member_of("c@1", "g", m.ClientType.SIMPLE_CONSUMER)
    [data] = beat.consumer_data_set
    assert (beat.client_id, data.group_name, data.consume_type) == ("c@1", "g", "CONSUME_ACTIVELY")
    assert beat.without_sub
    assert beat.heartbeat_fingerprint != 0
