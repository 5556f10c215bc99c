"""Topics with a fixed queue list (`orderTopicConf`), set by operators or learnt from registrations."""

from __future__ import annotations

from collections.abc import Mapping

from mqframe.core.cluster.order_config import ORDER_TOPIC_NAMESPACE, is_fifo, learnt_changes
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.log import get_logger
from mqframe.nameserver.kv_config import LEARNT_ORDER_NAMESPACE, KvConfig

log = get_logger("nameserver")

_FIFO_NAMESPACE = "MQFRAME_FIFO_TOPICS"


class OrderedTopics:
    """The lists that operators made, and those learnt from what brokers registered. Both outlive a restart
    where key-value configuration does."""

    def __init__(self, kv: KvConfig) -> None:
        self._kv = kv

    def queues_of(self, topic: str, marked: bool) -> str | None:
        """The list of `topic`, such as "broker-a:4;broker-b:4".

        A topic of type FIFO always has one. Where `marked` holds (`orderMessageEnable`), so have topics that
        are marked as ordered and those that an operator made a list for; that one comes first.
        """
        if marked:
            made = self._kv.get(ORDER_TOPIC_NAMESPACE, topic)
            if made is not None:
                return made
        elif self._kv.get(_FIFO_NAMESPACE, topic) is None:
            return None
        return self._kv.get(LEARNT_ORDER_NAMESPACE, topic)

    def note(self, broker_name: str, topics: Mapping[str, TopicConfig]) -> bool:
        """The master `broker_name` has registered `topics`; whether there is something new to `save`."""
        found = False
        kept = self._kv.namespace(LEARNT_ORDER_NAMESPACE) or {}
        for topic, text in learnt_changes(kept, broker_name, topics).items():
            self._kv.note(LEARNT_ORDER_NAMESPACE, topic, text)
            found = True
        for name, config in topics.items():
            topic = config.topic_name or name
            known = self._kv.get(_FIFO_NAMESPACE, topic) is not None
            if known is not is_fifo(config):
                self._kv.note(_FIFO_NAMESPACE, topic, None if known else broker_name)
                found = True
        return found

    def forget(self, topic: str) -> None:
        """The topic was deleted."""
        namespaces = (LEARNT_ORDER_NAMESPACE, _FIFO_NAMESPACE)
        if any(self._kv.get(namespace, topic) is not None for namespace in namespaces):
            for namespace in namespaces:
                self._kv.note(namespace, topic, None)
            self.save()

    def save(self) -> None:
        """Keep what was noted."""
        try:
            self._kv.save()
        except OSError as problem:
            # It is known until this server ends; brokers tell it again to the next one.
            log.warning("queue lists of ordered topics could not be saved", reason=str(problem))
