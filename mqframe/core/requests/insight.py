"""Requests by which operators look into groups and members, and move their offsets.

Source: RequestCode.java, protocol/header.
"""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import Since
from mqframe.core.requests.fields import Int, Long, Request, request
from mqframe.core.requests.needs import Action, cluster, group, topic


@request(220, body="OffsetTableBody", needs=group(Action.UPDATE, field="group") & topic(Action.UPDATE))
class ResetConsumerClientOffset(Request):
    """Broker to consumer: go on from these offsets. Members written in C++ get a list instead of a map."""

    topic: str
    group: str
    timestamp: Long
    is_force: bool = False


@request(221, answer_body="ConsumerStatus", needs=group(Action.GET, field="group") & topic(Action.GET))
class GetConsumerStatusFromClient(Request):
    """Broker to consumer: which offsets do you remember?"""

    topic: str
    group: str


@request(307, answer_body="ConsumerRunningInfo", needs=group(Action.GET))
class GetConsumerRunningInfo(Request):
    """What a member does at the moment; brokers hand the question on to it."""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


@request(309, body="a stored message", answer_body="DirectResult", needs=cluster(Action.UPDATE))
class ConsumeMessageDirectly(Request):
    """Have one member consume one stored message now. `msg_id`: the broker's id of the message.

    The broker fills in its name, the flags and the message, and hands the request on.
    """

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: Annotated[str | None, Since("5.0.0", alters=False)] = None
    topic_sys_flag: Annotated[Int | None, Since("5.0.0", alters=False)] = None
    group_sys_flag: Annotated[Int | None, Since("5.0.0", alters=False)] = None
