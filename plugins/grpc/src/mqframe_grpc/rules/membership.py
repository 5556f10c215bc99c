"""What a client's settings make it a member of, as a heartbeat of the remoting protocol says it.

Source: ClientActivity.java, MessagingProcessor.java.
"""

from __future__ import annotations

from typing import Final

from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.errors import FixError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.filter_expression import MessageChoice, Sql, SqlFilter
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

EXPRESSION_CHARS_MAX: Final = 16_384
_PULLS: Final = "CONSUME_ACTIVELY"
_PUSHED: Final = "CONSUME_PASSIVELY"


def choice_of(expression: m.FilterExpression) -> MessageChoice:
    """The messages that a client wants. Raises `Rejected` ILLEGAL_FILTER_EXPRESSION."""
    if len(expression.expression) > EXPRESSION_CHARS_MAX:
        raise Rejected(
            m.Code.ILLEGAL_FILTER_EXPRESSION,
            f"expression of {len(expression.expression)} characters; at most {EXPRESSION_CHARS_MAX} are read",
        )
    try:
        if expression.type == m.FilterType.SQL:
            return SqlFilter(Sql(expression.expression))
        return TagFilter(expression.expression or None)
    except FixError as problem:
        raise Rejected(m.Code.ILLEGAL_FILTER_EXPRESSION, str(problem)) from None


def heartbeat_of(client_id: str, settings: m.Settings, version: int) -> HeartbeatData:
    """The heartbeat of a client with these `settings`; `version`: of its subscriptions, ms since 1970.

    A producer is a member of groups that are called as its topics: so brokers find whom to ask about open
    transactions.
    """
    if settings.WhichOneof("pub_sub") == "publishing":
        topics = dict.fromkeys(topic.name for topic in settings.publishing.topics)
        return HeartbeatData(client_id, producer_data_set=list(map(ProducerData, topics)))
    wanted: dict[str, SubscriptionData] = {}
    for entry in settings.subscription.subscriptions:
        topic = entry.topic.name
        wanted[topic] = choice_of(entry.expression).subscription(topic, version)
    group = ConsumerData(
        settings.subscription.group.name,
        consume_type=consume_type(settings.client_type),
        subscription_data_set=list(wanted.values()),
    )
    return HeartbeatData(client_id, consumer_data_set=[group])


def member_of(client_id: str, group: str, kind: int) -> HeartbeatData:
    """The heartbeat of a client of which no more is known than this; subscriptions stay as they are.

    `kind`: of `ClientType`.
    """
    data = ConsumerData(group, consume_type=consume_type(kind))
    return HeartbeatData(client_id, consumer_data_set=[data], heartbeat_fingerprint=1, without_sub=True)


def consume_type(kind: int) -> str:
    """How operators are shown that a consumer reads; `kind`: of `ClientType`."""
    return _PULLS if kind in (m.ClientType.SIMPLE_CONSUMER, m.ClientType.PULL_CONSUMER) else _PUSHED
