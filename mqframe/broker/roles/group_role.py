"""What a broker is among those with the same log, as it is made: what a role gives it, and is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import attrs

from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.shared_log import SharedLog
from mqframe.broker.state import BrokerState
from mqframe.core.requests.serving import Handler
from mqframe.net.access.access import Access
from mqframe.net.client import Client

Quiesce = Callable[[Mapping[int, Handler]], Awaitable[None]]
"""Has the broker take no more messages and write none, and answer requests by these handlers."""


class RolePlace(NamedTuple):
    """The broker that a role is made for. `client`: what it asks others by."""

    sections: BrokerSections
    state: BrokerState
    client: Client
    registration: NameServerRegistration
    quiesce: Quiesce


@attrs.frozen
class Replication:
    """What a role adds to a broker.

    `parts`: start first, and stop first. `push`: sends slaves what was appended; `enforce`: has access
    control count for what is copied; `watch`: the handlers that are served in place of those of the broker.
    """

    parts: Sequence[BrokerPart]
    push: Callable[[], object] = lambda: None
    enforce: Callable[[Access], None] = lambda access: None
    watch: Callable[[Mapping[int, Handler]], dict[int, Handler]] = dict


class GroupRole(Protocol):
    """The role of one broker, from the opening of its store to its stop."""

    @property
    def log(self) -> SharedLog:
        """How its store and its tables are. Asked for once, before they are made."""

    def replication(self, place: RolePlace) -> Replication:
        """What it adds to the broker in `place`. Called once. Raises `StoreError`, `SettingError`."""
