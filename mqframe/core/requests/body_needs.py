"""Needs of requests that name their topics and groups in the body: the few fields of it that count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mqframe.core.requests.needs import Action, Need, group_need, of_body, topic_need
from mqframe.core.wire.bodies import Body

_SUB: Final = (Action.SUB,)


class _OfTopic(Body):
    topic: str


class _Consumer(Body):
    group_name: str
    subscription_data_set: list[_OfTopic] = []


class _Heartbeat(Body):
    consumer_data_set: list[_Consumer] = []


class _Lock(Body):
    consumer_group: str
    mq_set: list[_OfTopic] = []


class _Check(Body):
    group: str | None = None
    subscription_data: _OfTopic | None = None


def _heartbeat(body: _Heartbeat) -> Iterator[Need]:
    for consumer in body.consumer_data_set:
        yield group_need(consumer.group_name, _SUB)
        for subscription in consumer.subscription_data_set:
            # Every member subscribes to the retry topic of its group.
            yield topic_need(subscription.topic, _SUB)


def _lock(body: _Lock) -> Iterator[Need]:
    yield group_need(body.consumer_group, _SUB)
    for queue in body.mq_set:
        yield topic_need(queue.topic, _SUB)


def _check(body: _Check) -> Iterator[Need]:
    if body.group:
        yield group_need(body.group, _SUB)
    if body.subscription_data is not None:
        yield topic_need(body.subscription_data.topic, _SUB)


HEARTBEAT: Final = of_body(_Heartbeat, _heartbeat)
LOCK: Final = of_body(_Lock, _lock)
CHECK: Final = of_body(_Check, _check)
