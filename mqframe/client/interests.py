"""What a lite pull consumer wants: topics that are subscribed, or queues that are assigned, never both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from mqframe.core.bodies import SubscriptionData
from mqframe.core.errors import FixError
from mqframe.core.message import MessageQueue
from mqframe.core.message_choice import MessageChoice, Sql, filter_of
from mqframe.core.topics import check_topic

Expression = str | Sql
""" "*", tags joined by "||", or an SQL92 expression."""


class Interest(NamedTuple):
    """What is wanted of a topic, and since when (ms since 1970)."""

    topic: str
    wanted: MessageChoice
    version: int


class Interests:
    """`by_topic`: of every topic that is subscribed, or has assigned queues; `queues`: what the application
    assigned, `None`: it did not, so that queues come by rebalances. `now_ms`: the wall clock."""

    def __init__(self, group: str, now_ms: Callable[[], int]) -> None:
        self._group = group
        self._now_ms = now_ms
        self.by_topic: dict[str, Interest] = {}
        self.queues: list[MessageQueue] | None = None

    def subscribe(self, topic: str, expression: Expression) -> None:
        """Want what `expression` chooses of `topic`. Raises `FixError`."""
        self._not_assigned("subscribe")
        check_topic(topic)
        self.by_topic[topic] = self._interest(topic, expression)

    def unsubscribe(self, topic: str) -> bool:
        """Want nothing of `topic`; whether something was. Raises `FixError` where queues are assigned."""
        self._not_assigned("unsubscribe")
        return self.by_topic.pop(topic, None) is not None

    def assign(
        self, queues: Collection[MessageQueue], expression: Expression | Mapping[str, Expression]
    ) -> list[MessageQueue]:
        """Want exactly `queues`, which are given back sorted. Raises `FixError`."""
        if self.queues is None and self.by_topic:
            raise FixError(f"the consumer of group {self._group} uses `subscribe`, which excludes `assign`")
        if not queues:
            raise FixError("no queues to assign; `pause` keeps queues from being pulled")
        found = {}
        for topic in sorted({queue.topic for queue in queues}):
            check_topic(topic)
            own = expression.get(topic, "*") if isinstance(expression, Mapping) else expression
            found[topic] = self._interest(topic, own)
        self.by_topic.clear()
        self.by_topic.update(found)
        self.queues = sorted(set(queues))
        return self.queues

    def subscriptions(self) -> list[SubscriptionData]:
        """What heartbeats tell, sorted by topic; of assigned queues brokers need not know."""
        if self.queues is not None:
            return []
        return [
            each.wanted.subscription(topic, each.version) for topic, each in sorted(self.by_topic.items())
        ]

    def _not_assigned(self, what: str) -> None:
        if self.queues is not None:
            raise FixError(f"the consumer of group {self._group} uses `assign`, which excludes `{what}`")

    def _interest(self, topic: str, expression: Expression) -> Interest:
        before = self.by_topic.get(topic)
        wanted = filter_of(expression)
        if before is not None and before.wanted is wanted:
            return before
        now = self._now_ms()
        return Interest(topic, wanted, now if before is None else max(now, before.version + 1))
