"""The expressions by which groups filter (source: ConsumerFilterManager.java).

| now   | event                                | then  |                                               |
|-------|--------------------------------------|-------|-----------------------------------------------|
| none  | a heartbeat names an expression      | alive | unless it does not compile                    |
| alive | a newer one names another            | alive | the new one; none when it does not compile    |
| alive | a newer one names the same           | alive | its version is the new one                    |
| alive | an older one                         | alive | nothing changes                               |
| alive | a heartbeat leaves the topic out     | dead  |                                               |
| alive | the last member leaves               | dead  |                                               |
| alive | the broker starts                    | dead  | for 30 s, but not before it was born          |
| dead  | one of its version or a newer one    | alive |                                               |
| dead  | 24 h passed, and the table is saved  | none  |                                               |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.filtering.bloom_filter import BloomFilter
from mqframe.core.filtering.bodies import FilterData, FilterDataTable, SubscriptionData, TopicFilterData
from mqframe.core.filtering.subscription import is_tag_type

KEPT_DEAD_MS: Final = 24 * 3600 * 1000
DEAD_AT_START_MS: Final = 30_000


class FilterTable:
    """Expressions by topic and group. `changes` grows with every change.

    `compiles`: whether an expression (type, text) is one; asked when one is new.
    """

    __slots__ = ("_bloom", "_by_topic", "_clock", "_compiles", "changes")

    def __init__(
        self,
        clock: Clock,
        compiles: Callable[[str, str], bool] = lambda kind, expression: True,
        bloom: BloomFilter | None = None,
    ) -> None:
        self._clock = clock
        self._bloom = bloom or BloomFilter()
        self._by_topic: dict[str, dict[str, FilterData]] = {}
        self.changes = 0
        self._compiles = compiles

    def get(self, topic: str, group: str) -> FilterData | None:
        """What `group` wants of `topic`, alive or dead; `None` when it never said so, or said it wrongly."""
        return self._by_topic.get(topic, {}).get(group)

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """A heartbeat of `group` names these subscriptions, and no others."""
        topics = set()
        for each in subscriptions:
            topics.add(each.topic)
            if not is_tag_type(each.expression_type) and each.sub_string:
                self._register(group, each)
        for data in self._of_group(group):
            if data.topic not in topics:
                self._die(data, self._clock.now_ms())

    def unregister(self, group: str) -> None:
        """The last member of `group` left."""
        for data in self._of_group(group):
            self._die(data, self._clock.now_ms())

    def dump(self) -> FilterDataTable:
        """Everything, as it is saved; what was dead for a day is forgotten."""
        self._clean()
        return FilterDataTable(
            filter_data_by_topic={
                topic: TopicFilterData(group_filter_data=dict(groups), topic=topic)
                for topic, groups in self._by_topic.items()
            }
        )

    def load(self, table: FilterDataTable) -> None:
        """Take over what was saved, unless another size of bloom filter was in use."""
        found = {topic: dict(each.group_filter_data) for topic, each in table.filter_data_by_topic.items()}
        every = [data for groups in found.values() for data in groups.values()]
        if not all(self._bloom.is_valid(data.bloom_filter_data) for data in every):
            return
        self._by_topic = found
        for data in every:
            if data.dead_time == 0:
                self._die(data, max(self._clock.now_ms() - DEAD_AT_START_MS, data.born_time))

    def _register(self, group: str, wanted: SubscriptionData) -> None:
        old = self.get(wanted.topic, group)
        if old is None or (
            wanted.sub_version > old.client_version
            and (old.expression, old.expression_type) != (wanted.sub_string, wanted.expression_type)
        ):
            self._replace(group, wanted, old is not None)
        elif wanted.sub_version >= old.client_version:
            if old.dead or wanted.sub_version > old.client_version:
                self.changes += 1
            old.client_version = wanted.sub_version
            old.dead, old.dead_time = False, 0

    def _replace(self, group: str, wanted: SubscriptionData, is_known: bool) -> None:
        kind, expression = wanted.expression_type or "", wanted.sub_string or ""
        groups = self._by_topic.setdefault(wanted.topic, {})
        if self._compiles(kind, expression):
            groups[group] = FilterData(
                bloom_filter_data=self._bloom.generate(f"{group}#{wanted.topic}"),
                born_time=self._clock.now_ms(),
                client_version=wanted.sub_version,
                consumer_group=group,
                expression=expression,
                expression_type=kind,
                topic=wanted.topic,
            )
            self.changes += 1
        elif is_known:
            del groups[group]  # the client is to hear that its new expression is none
            self.changes += 1

    def _of_group(self, group: str) -> Iterator[FilterData]:
        for groups in self._by_topic.values():
            data = groups.get(group)
            if data is not None:
                yield data

    def _die(self, data: FilterData, at_ms: int) -> None:
        if not data.dead:
            data.dead, data.dead_time = True, max(at_ms, data.born_time)
            self.changes += 1

    def _clean(self) -> None:
        limit = self._clock.now_ms() - KEPT_DEAD_MS
        for topic, groups in tuple(self._by_topic.items()):
            for group, data in tuple(groups.items()):
                if data.dead and data.dead_time <= limit:
                    del groups[group]
            if not groups:
                del self._by_topic[topic]
