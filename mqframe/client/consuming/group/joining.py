"""What a consumer asks name servers and brokers before it joins: routes, filters, the group's retry interval.

Source: MQClientInstance.checkClientInBroker.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.route_cache import is_unknown_topic
from mqframe.client.consuming.expressions import check_expression
from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.cluster.client_bodies import CheckClientBody
from mqframe.core.cluster.route import MASTER_ID
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import (
    AnswerError,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    MqframeError,
    RouteError,
)
from mqframe.core.filtering.filter_expression import SQL92, check_version
from mqframe.core.requests.admin import GetSubscriptionGroupConfig
from mqframe.core.requests.consumers import CheckClientConfig
from mqframe.core.retry.redelivery import ordered_interval
from mqframe.core.wire import loose_json
from mqframe.core.wire.loose_json import decode
from mqframe.log import get_logger

log = get_logger("client")


async def check_filters(
    instance: ClientInstance, group: str, subscriptions: Iterable[TopicSubscription]
) -> None:
    """Have a broker of each topic look at the expression that `group` wants to filter by.

    Raises `AnswerError` when it does not parse or the broker does not filter, `FixError` when the broker is
    too old, or takes what is none. A broker that is away is passed over; the pulls will hear from it.
    """
    for each in subscriptions:
        if each.filter.expression_type != SQL92:
            continue
        body = loose_json.dumps(
            CheckClientBody(instance.client_id, group, None, each.filter.subscription(each.topic, 0))
        )
        try:
            address = await _some_broker(instance, each.topic)
            if address is None:
                check_expression(each.filter)
                continue
            answer = await instance.call(address, CheckClientConfig(), body)
        except (RouteError, ConnectError, ConnectionLost, CallTimeout) as problem:
            log.warning("expression was not checked", group=group, topic=each.topic, reason=str(problem))
            check_expression(each.filter)
            continue
        check_version(each.filter, answer.version, address)
        check_expression(each.filter)


async def _some_broker(instance: ClientInstance, topic: str) -> str | None:
    route = await instance.route(topic)
    for queue in route.read_queues():
        address = route.any_address(queue.broker_name, MASTER_ID)
        if address is not None:
            return address
    return None


async def look_up(instance: ClientInstance, group: str, topics: Iterable[str]) -> None:
    """Have the routes of `topics` in the cache; a topic that does not exist yet is logged and left out.

    Raises `RouteError` when no name server answers.
    """
    for topic in topics:
        try:
            await instance.route(topic)
        except RouteError as problem:
            if not is_unknown_topic(problem):
                raise
            # It may be made later. Whoever looks again says so, too, when it is a warning.
            log.info("topic has no route yet", group=group, topic=topic, reason=str(problem))


async def group_interval(instance: ClientInstance, group: str, addresses: Iterable[str]) -> int | None:
    """The wait between tries, ms, that the first broker to answer has for `group`; `None` without one.

    Brokers before 5.0 know no such setting.
    """
    for address in addresses:
        try:
            answer = await instance.call(address, GetSubscriptionGroupConfig(group))
            return ordered_interval(decode(memoryview(answer.body), SubscriptionGroupConfig))
        except AnswerError:
            return None
        except MqframeError as problem:
            log.info("settings of the group were not read", group=group, broker=address, reason=str(problem))
    return None
