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
| dead  | another comes for which no room is   | none  |                                               |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from mqframe.core.clock import Clock
from mqframe.core.errors import Refusal
from mqframe.core.filtering.bloom_filter import BloomFilter
from mqframe.core.filtering.bodies import FilterData, FilterDataTable, SubscriptionData, TopicFilterData
from mqframe.core.filtering.subscription import is_tag_type
from mqframe.core.measuring.budget import admit_all

KEPT_DEAD_MS: Final = 24 * 3600 * 1000
DEAD_AT_START_MS: Final = 30_000


class FilterTable:
    """Expressions by topic and group. `changes` grows with every change.

    `compiles`: whether an expression (type, text) is one; asked when one is new. `admit`: raises where there
    is no room for so many more.
    """

    __slots__ = ("_bloom", "_by_group", "_by_topic", "_clock", "_compiles", "admit", "changes", "count")

    def __init__(
        self,
        clock: Clock,
        compiles: Callable[[str, str], bool] = lambda kind, expression: True,
        bloom: BloomFilter | None = None,
    ) -> None:
        self._clock = clock
        self._bloom = bloom or BloomFilter()
        self._by_topic: dict[str, dict[str, FilterData]] = {}
        self._by_group: dict[str, dict[str, None]] = {}
        self.admit: Callable[[int], None] = admit_all
        self.count = 0
        self.changes = 0
        self._compiles = compiles

    def get(self, topic: str, group: str) -> FilterData | None:
        """What `group` wants of `topic`, alive or dead; `None` when it never said so, or said it wrongly."""
        return self._by_topic.get(topic, {}).get(group)

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """A heartbeat of `group` names these subscriptions, and no others.

        Raises `Refusal` where there is no room for one that is new.
        """
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
        self._clean(self._clock.now_ms() - KEPT_DEAD_MS)
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
        self._by_topic, self._by_group = found, {}
        self.count = len(every)
        for topic, groups in found.items():
            for group in groups:
                self._by_group.setdefault(group, {})[topic] = None
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
        if self._compiles(kind, expression):
            if not is_known:
                self._make_room()
                self.count += 1
            self._by_group.setdefault(group, {})[wanted.topic] = None
            self._by_topic.setdefault(wanted.topic, {})[group] = FilterData(
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
            self._forget(wanted.topic, group)  # the client is to hear that its new expression is none
            self.changes += 1

    def _make_room(self) -> None:
        """Raise unless there is room for one more, for which dead ones go."""
        try:
            self.admit(1)
        except Refusal:
            self._clean(self._clock.now_ms())
            self.admit(1)

    def _forget(self, topic: str, group: str) -> None:
        for outer, first, second in ((self._by_topic, topic, group), (self._by_group, group, topic)):
            inner: dict[str, Any] = outer[first]
            del inner[second]
            if not inner:
                del outer[first]
        self.count -= 1

    def _of_group(self, group: str) -> list[FilterData]:
        return [self._by_topic[topic][group] for topic in self._by_group.get(group, ())]

    def _die(self, data: FilterData, at_ms: int) -> None:
        if not data.dead:
            data.dead, data.dead_time = True, max(at_ms, data.born_time)
            self.changes += 1

    def _clean(self, died_until_ms: int) -> None:
        for topic, groups in tuple(self._by_topic.items()):
            for group, data in tuple(groups.items()):
                if data.dead and data.dead_time <= died_until_ms:
                    self._forget(topic, group)
