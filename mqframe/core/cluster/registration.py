"""What a broker tells a name server of itself, and what it is told (wire.md §3.4)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from mqframe.core.cluster.topic_bodies import TopicConfigTable

MASTER_ID: Final = 0
BROKER_TIMEOUT_MS: Final = 120_000
"""How long a broker that declared nothing else is kept without a sign of life."""


class Registration(msgspec.Struct, frozen=True):
    """What a broker registers at a name server.

    `connection`: stands for the connection it came by, any object; `acting_master`: `None` from brokers that
    do not know the option; `timeout_ms`: how long silence is allowed.
    """

    cluster: str
    name: str
    address: str
    broker_id: int
    ha_address: str
    topics: TopicConfigTable
    connection: Any = None
    filter_servers: list[str] | None = None
    zone: str | None = None
    timeout_ms: int = BROKER_TIMEOUT_MS
    acting_master: bool | None = None


class Registered(NamedTuple):
    """What a slave knows of its master; empty for a master.

    `holder`: the broker that keeps the id, where this registration was ignored; `None` where it counts.
    """

    master_address: str | None = None
    ha_address: str | None = None
    holder: str | None = None
