"""What operators may see and change of a broker, for services that answer them.

Changes count at once, and are on disk before the answer to a request that says so (`@request(saved=…)`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any, Protocol

from mqframe.core.cluster.group_table import GroupTable
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.measuring.sampled import Sampled


class AdministeredTables(Protocol):
    """What the broker has by name, to be changed."""

    @property
    def topics(self) -> TopicTable:
        """The topics."""

    @property
    def groups(self) -> GroupTable:
        """The consumer groups."""

    @property
    def offsets(self) -> OffsetTable:
        """How far groups are."""


class AdministeredSettings(Protocol):
    """The settings of the broker: all of them as they are shown, and those that answers to operators heed."""

    @property
    def sections(self) -> Sequence[Any]:
        """All sections that are in force, those of services too."""

    def origins(self) -> Mapping[str, str]:
        """Where each value that is no default comes from, by key."""

    def change(self, lines: str, note: str = "", unset: Collection[str] = ()) -> Collection[str]:
        """Undo earlier changes of `unset`, and apply `key=value` lines (`mqframe.core.config.live`).

        All or none; returns the keys. `note`: when and by whom. Raises `FixedSetting` for what only a restart
        changes, `Refusal` 29 for an unknown key and bad values.
        """

    @property
    def slave_reads(self) -> bool:
        """Whether readers are sent to slaves."""

    @property
    def server_side_reset(self) -> bool:
        """Whether the broker keeps the offsets that operators set, until members ask for them."""

    @property
    def auto_create_groups(self) -> bool:
        """Whether groups are made on first use."""

    @property
    def topic_queues_max(self) -> int:
        """Most queues of a topic."""

    @property
    def attributes_max(self) -> int:
        """Most attributes of a topic or group."""

    @property
    def group_rules_max(self) -> int:
        """Most pairs of topic and group for which operators said how to read, and for which that not."""


class AdministeredStore(Protocol):
    """Files of messages, to be deleted."""

    def topics(self) -> Collection[str]:
        """The topics that there are queues of, whether or not they are in the table of topics."""

    async def delete_queues(self, topic: str) -> None:
        """Delete the queues of `topic`, and nothing else of it. Raises `OSError` as the disk does."""

    def clean(self) -> None:
        """Delete what is past its time, whatever the hour."""


class TrafficCounts(Protocol):
    """What the broker counted of messages."""

    def put_rate(self, topic: str) -> float:
        """Messages a second put into `topic`, over the last minute."""

    def get_rate(self, group: str, topic: str) -> float:
        """Messages of `topic` a second given to `group`, over the last minute."""

    def count(self, name: str, key: str) -> Sampled | None:
        """The count that BrokerStatsManager.java calls `name`, of `key`; `None` when there is none.

        A key is a topic, "topic@group", or the name of the cluster.
        """


class BrokerAdministration(Protocol):
    """What operators may do with a broker. What it does is done to all that depends on it."""

    @property
    def tables(self) -> AdministeredTables:
        """Topics, groups, offsets."""

    @property
    def settings(self) -> AdministeredSettings:
        """The settings."""

    @property
    def store(self) -> AdministeredStore:
        """Files of messages."""

    @property
    def traffic(self) -> TrafficCounts:
        """Messages in and out."""

    def check_topic(self, topic: TopicConfig) -> None:
        """Raise `Refusal` 29 for a topic that an operator may not make, or with more than one may have."""

    def announced(self) -> Awaitable[Sequence[str]]:
        """Wait until name servers know of all topics; returns those that do not yet."""

    async def delete_topic(self, name: str) -> None:
        """Delete a topic: its queues, its offsets, and what was counted of it; pulls that wait are answered.

        Raises `OSError` when the disk does not let its queues be deleted; nothing else is done then.
        """

    def delete_group(self, name: str) -> None:
        """Forget a consumer group, and what was counted of it; its offsets stay."""

    def reset_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Have `group` go on from `offset` of a queue; all services are notified."""
