"""What operators may see and change of a broker, as its services are handed it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.broker.tables.shared import Registry, Shared
from mqframe.broker.tables.statistics import Statistics
from mqframe.broker.tables.topic_limits import TopicLimits
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.codes import PERM_INHERIT, PERM_READ, PERM_WRITE
from mqframe.core.messages.names import DEFAULT_TOPIC
from mqframe.store.message_store import MessageStore


async def _nobody_to_tell() -> list[str]:
    return []


class SettingsOfBroker:
    """An `AdministeredSettings`: a change reaches the store and the topics that it concerns."""

    def __init__(self, live: LiveSettings, store: MessageStore, topics: TopicTable) -> None:
        self._live = live
        self._store = store
        self._topics = topics

    @property
    def sections(self) -> Sequence[Any]:
        """All sections that are in force, those of services too."""
        return self._live.all

    def origins(self) -> Mapping[str, str]:
        """Where each value that is no default comes from, by key."""
        return self._live.origins()

    def change(self, lines: str, note: str = "", unset: Collection[str] = ()) -> set[str]:
        """As `LiveSettings.change`."""
        changed = self._live.change(lines, note, unset)
        self._store.change(self._live.store)
        if "brokerPermission" in changed:
            self._topics.touch()  # name servers must hear of it
        if "autoCreateTopicEnable" in changed and self._live.current.auto_create_topics:
            # The topic that senders look for when theirs has no route: a broker made it at its start, or not.
            queues, perm = self._live.current.default_topic_queues, PERM_READ | PERM_WRITE | PERM_INHERIT
            self._topics.ensure(DEFAULT_TOPIC, queues, perm=perm)
        return changed

    @property
    def slave_reads(self) -> bool:
        """Whether readers are sent to slaves."""
        return bool(self._live.replication.slave_reads)

    @property
    def server_side_reset(self) -> bool:
        """Whether the broker keeps the offsets that operators set, until members ask for them."""
        return self._live.current.server_side_reset

    @property
    def auto_create_groups(self) -> bool:
        """Whether groups are made on first use."""
        return self._live.current.auto_create_groups

    @property
    def topic_queues_max(self) -> int:
        """Most queues of a topic."""
        return self._live.current.topic_queues_max

    @property
    def attributes_max(self) -> int:
        """Most attributes of a topic or group."""
        return self._live.current.attributes_max

    @property
    def group_rules_max(self) -> int:
        """Most pairs of topic and group for which operators said how to read, and for which that not."""
        return self._live.current.group_rules_max


class StoreOfBroker:
    """An `AdministeredStore`."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    def topics(self) -> set[str]:
        """The topics that there are queues of, whether or not they are in the table of topics."""
        return {topic for topic, _ in self._store.queues}

    async def delete_queues(self, topic: str) -> None:
        """Delete the queues of `topic`, and nothing else of it. Raises `OSError` as the disk does."""
        await self._store.delete_topic(topic)

    def clean(self) -> None:
        """Delete what is past its time, whatever the hour."""
        self._store.clean(any_hour=True)


class Administration:
    """A `BrokerAdministration`.

    Once the broker's parts are made it is given `announced`, which waits until name servers know of all
    topics and returns those that do not yet; `on_topic_deleted`; and `on_reset`, which are notified of each
    queue whose offset was set.
    """

    def __init__(self, shared: Shared) -> None:
        self.store = StoreOfBroker(shared.store)
        self.tables: Registry = shared.registry
        live, topics = shared.conditions.live, shared.registry.topics
        self.settings = SettingsOfBroker(live, shared.store, topics)
        self.traffic: Statistics = shared.conditions.statistics
        self.check_topic = TopicLimits(topics, live).check
        self.announced: Callable[[], Awaitable[Sequence[str]]] = _nobody_to_tell
        self.on_topic_deleted: Callable[[str], object] = lambda topic: None
        self.on_reset: Sequence[Callable[[str, str, int], object]] = ()

    async def delete_topic(self, name: str) -> None:
        """Delete a topic, and all that is known of it. Raises `OSError` as the disk does."""
        await self.store.delete_queues(name)
        topics, _, offsets, clients = self.tables
        topics.remove(name)
        offsets.remove_topic(name, clients.consumers.keys())
        self.on_topic_deleted(name)
        self.traffic.forget_topic(name)

    def delete_group(self, name: str) -> None:
        """Forget a consumer group, and what was counted of it; its offsets stay."""
        self.tables.groups.remove(name)
        self.traffic.forget_group(name)

    def reset_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Have `group` go on from `offset` of a queue; all services are notified."""
        self.tables.offsets.reset(group, topic, queue_id, offset)
        for notify in self.on_reset:
            notify(group, topic, queue_id)
