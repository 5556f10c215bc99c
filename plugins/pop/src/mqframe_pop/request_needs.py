"""What requests about popped messages need, for access control: of headers and of bodies."""

from __future__ import annotations

from typing import Final

import msgspec

from mqframe.core.requests.needs import Action, Need, Needs, consumed_need, group_need, of_body, topic_need
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.frame import Frame

_SUB: Final = (Action.SUB,)


class _Ack(msgspec.Struct):
    consumer_group: str = msgspec.field(name="c")
    topic: str = msgspec.field(name="t")


class _Acks(Body):
    acks: list[_Ack] = []


def _of_acks(body: _Acks) -> list[Need]:
    both = ((topic_need(ack.topic, _SUB), group_need(ack.consumer_group, _SUB)) for ack in body.acks)
    return [need for each in both for need in each]


ACKS: Final = of_body(_Acks, _of_acks)


def popped(*actions: Action) -> Needs:
    """The consumer group, and the topic that was popped; its retry topic for the group stands for it."""

    def find(frame: Frame) -> list[Need]:
        ext = frame.ext or {}
        name, owner = ext.get("topic", ""), ext.get("consumerGroup", "")
        return [group_need(owner, actions), consumed_need(name, owner, actions)]

    return Needs(find)
