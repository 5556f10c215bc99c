"""What nearly every part of a broker uses, in groups by subject."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.broker.tables.statistics import Statistics
from mqframe.core.cluster.client_registry import ClientRegistry
from mqframe.core.cluster.group_table import GroupTable
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.requests.peer import Peer
from mqframe.net.clock import LoopClock
from mqframe.store.message_store import MessageStore


class Registry(NamedTuple):
    """What a broker knows of its cluster: topics, consumer groups, their offsets, connected clients."""

    topics: TopicTable
    groups: GroupTable
    offsets: OffsetTable
    clients: ClientRegistry[Peer]


class Conditions(NamedTuple):
    """Under which a broker runs: who it is, the settings in force, the time, and what it counted so far."""

    identity: Identity
    live: LiveSettings
    clock: LoopClock
    statistics: Statistics


class Shared(NamedTuple):
    """What a part is handed that answers from the messages, the tables and the settings of its broker."""

    store: MessageStore
    registry: Registry
    conditions: Conditions
