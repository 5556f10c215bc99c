"""Subscriptions of consumers: a filter by topic, and the table in which runtime and pulls look them up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

import attrs

from mqframe.core.errors import FixError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.filter_expression import MessageChoice, Sql, filter_of
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_topic

Expression = str | Sql
""" "*", tags joined by "||", or an SQL92 expression."""


@attrs.frozen
class TopicSubscription:
    """One subscribed topic, and the filter that chooses among its messages. `version`: ms since 1970, grows
    when the filter changes."""

    topic: str
    filter: MessageChoice
    version: int


def next_version(before: TopicSubscription | None, now_ms: int) -> int:
    """The version of a subscription that takes the place of `before`."""
    return now_ms if before is None else max(now_ms, before.version + 1)


S = TypeVar("S", bound=TopicSubscription)


class SubscriptionTable(Generic[S]):
    """The subscriptions of a member: those of the application by topic, which change while it runs, and
    `retry`, that of the group's retry topic, where failed messages come back. `paused`: topics and listeners
    that get nothing for now."""

    __slots__ = ("by_topic", "paused", "retry")

    def __init__(self, by_topic: Mapping[str, S], retry: S | None = None) -> None:
        self.by_topic = by_topic
        self.retry = retry
        self.paused: list[object] = []

    def stands(self, topic: str) -> bool:
        """Whether nothing of `topic` is wanted for now."""
        listener = getattr(self.by_topic.get(topic), "listener", topic)
        return topic in self.paused or listener in self.paused

    def find(self, topic: str) -> S | None:
        """The subscription of `topic`, `None` when there is none (any more)."""
        found = self.by_topic.get(topic)
        if found is None and self.retry is not None and topic == self.retry.topic:
            return self.retry
        return found

    def own(self) -> list[S]:
        """The subscriptions of the application, sorted by topic."""
        return [self.by_topic[topic] for topic in sorted(self.by_topic)]

    def all(self) -> list[S]:
        """All subscriptions, sorted by topic."""
        found = self.own() if self.retry is None else [*self.own(), self.retry]
        return sorted(found, key=lambda each: each.topic)

    def data(self) -> list[SubscriptionData]:
        """All subscriptions as heartbeats and operators' tools have them."""
        return [each.filter.subscription(each.topic, each.version) for each in self.all()]

    def topics(self) -> list[str]:
        """The topics of `all`."""
        return [each.topic for each in self.all()]


class Subscriptions:
    """What a consumer that polls has subscribed, or assigned to itself, never both.

    `by_topic`: of every topic that is subscribed, or has assigned queues; `queues`: what the application
    assigned, `None`: nothing, so that queues come by rebalances. `now_ms`: the wall clock."""

    def __init__(self, group: str, now_ms: Callable[[], int]) -> None:
        self._group = group
        self._now_ms = now_ms
        self.by_topic: dict[str, TopicSubscription] = {}
        self.queues: list[MessageQueue] | None = None

    def subscribe(self, topic: str, expression: Expression) -> None:
        """Subscribe what `expression` chooses of `topic`. Raises `FixError`."""
        self._not_assigned("subscribe")
        check_topic(topic)
        self.by_topic[topic] = self._subscription(topic, expression)

    def unsubscribe(self, topic: str) -> bool:
        """End the subscription of `topic`; whether there was one. Raises `FixError` after `assign`."""
        self._not_assigned("unsubscribe")
        return self.by_topic.pop(topic, None) is not None

    def assign(
        self, queues: Collection[MessageQueue], expression: Expression | Mapping[str, Expression]
    ) -> list[MessageQueue]:
        """Assign exactly `queues`; returns them sorted. Raises `FixError`."""
        if self.queues is None and self.by_topic:
            raise FixError(f"the consumer of group {self._group} uses `subscribe`, which excludes `assign`")
        if not queues:
            raise FixError("no queues to assign; `pause` keeps queues from being pulled")
        found = {}
        for topic in sorted({queue.topic for queue in queues}):
            check_topic(topic)
            own = expression.get(topic, "*") if isinstance(expression, Mapping) else expression
            found[topic] = self._subscription(topic, own)
        self.by_topic.clear()
        self.by_topic.update(found)
        self.queues = sorted(set(queues))
        return self.queues

    def subscriptions(self) -> list[SubscriptionData]:
        """The subscriptions of heartbeats, sorted by topic; of assigned queues brokers need not know."""
        return SubscriptionTable(self.by_topic).data() if self.queues is None else []

    def _not_assigned(self, what: str) -> None:
        if self.queues is not None:
            raise FixError(f"the consumer of group {self._group} uses `assign`, which excludes `{what}`")

    def _subscription(self, topic: str, expression: Expression) -> TopicSubscription:
        before = self.by_topic.get(topic)
        chosen = filter_of(expression)
        if before is not None and before.filter is chosen:
            return before
        return TopicSubscription(topic, chosen, next_version(before, self._now_ms()))
