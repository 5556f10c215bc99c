"""What a group's settings at its brokers say of retries in order."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.client.instance import ClientInstance
from mqframe.core.bodies import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.loosejson import decode
from mqframe.core.requests.admin import GetSubscriptionGroupConfig
from mqframe.core.retry_rules import ordered_interval
from mqframe.log import get_logger

log = get_logger("client")


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
