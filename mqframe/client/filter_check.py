"""Whether brokers can filter by the expressions of a consumer, asked before it joins.

Source: MQClientInstance.checkClientInBroker.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mqframe.client.offsets import Broker
from mqframe.core import loosejson
from mqframe.core.bodies import CheckClientBody
from mqframe.core.errors import CallTimeout, ConnectError, ConnectionLost, RouteError
from mqframe.core.message_choice import SQL92, MessageChoice, check_version
from mqframe.core.requests.consumers import CheckClientConfig
from mqframe.core.route import MASTER_ID
from mqframe.log import get_logger

log = get_logger("client")


class Subscribed(Protocol):
    """One topic that is subscribed to."""

    @property
    def topic(self) -> str:
        """Its name."""
        ...

    @property
    def wanted(self) -> MessageChoice:
        """Which of its messages are wanted."""
        ...


class Checker(Broker, Protocol):
    """The part of a `ClientInstance` that is used here."""

    client_id: str


async def check_filters(instance: Checker, group: str, subscriptions: Iterable[Subscribed]) -> None:
    """Have a broker of each topic look at the expression that `group` wants to filter by.

    Raises `AnswerError` when it does not parse or the broker does not filter, `FixError` when the broker is
    too old. A broker that is away is passed over; the pulls will hear from it.
    """
    for each in subscriptions:
        if each.wanted.expression_type != SQL92:
            continue
        body = loosejson.dumps(
            CheckClientBody(instance.client_id, group, None, each.wanted.subscription(each.topic, 0))
        )
        try:
            address = await _some_broker(instance, each.topic)
            if address is None:
                continue
            answer = await instance.call(address, CheckClientConfig(), body)
        except (RouteError, ConnectError, ConnectionLost, CallTimeout) as problem:
            log.warning("expression was not checked", group=group, topic=each.topic, reason=str(problem))
            continue
        check_version(each.wanted, answer.version, address)


async def _some_broker(instance: Checker, topic: str) -> str | None:
    route = await instance.route(topic)
    for queue in route.read_queues():
        address = route.any_address(queue.broker_name, MASTER_ID)
        if address is not None:
            return address
    return None
