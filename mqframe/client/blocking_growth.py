"""The part of the blocking administration that gives ordered topics their queues."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from mqframe.client.admin import AsyncAdmin
from mqframe.core.topic_growth import TopicGrowth

T = TypeVar("T")


class BlockingGrowth(ABC):
    """Arguments, results and errors are those of `AsyncAdmin`."""

    @property
    @abstractmethod
    def _admin(self) -> AsyncAdmin: ...

    @abstractmethod
    def _do(self, work: Coroutine[Any, Any, T]) -> T: ...

    def order_config(self, topic: str) -> dict[str, int]:
        """The fixed queue list of an ordered topic that operators made: queues by broker name, or nothing."""
        return self._do(self._admin.order_config(topic))

    def set_order_config(self, topic: str, queues: Mapping[str, int]) -> None:
        """Give `topic` another fixed queue list in all name servers; without `queues` it has none."""
        return self._do(self._admin.set_order_config(topic, queues))

    def begin_growth(self, topic: str, queues: int) -> TopicGrowth:
        """Give `topic` `queues` queues a broker that producers see, and consumers not yet."""
        return self._do(self._admin.begin_growth(topic, queues))

    def mark_growth(self, growth: TopicGrowth) -> TopicGrowth:
        """Note where the old queues end, once all producers know the new ones."""
        return self._do(self._admin.mark_growth(growth))

    def growth_left(self, growth: TopicGrowth, groups: Sequence[str] | None = None) -> dict[str, int]:
        """Messages in the old queues that each group has yet to consume."""
        return self._do(self._admin.growth_left(growth, groups))

    def finish_growth(
        self, growth: TopicGrowth, groups: Sequence[str] | None = None, *, force: bool = False
    ) -> None:
        """Let consumers see the new queues, once the old ones have drained."""
        return self._do(self._admin.finish_growth(growth, groups, force=force))
