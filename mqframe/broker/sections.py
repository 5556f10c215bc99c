"""All sections of settings that a broker has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from mqframe.broker.settings import BrokerSettings
from mqframe.core.delay.levels import parse_levels
from mqframe.core.errors import SettingError
from mqframe.net.settings import NetSettings
from mqframe.replication.election_settings import ElectionSettings
from mqframe.replication.settings import ASYNC_MASTER, ELECTED, NONE, SLAVE, ReplicationSettings
from mqframe.store.settings import StoreSettings

_ALONE: Final = ReplicationSettings()


@attrs.frozen
class BrokerSections:
    """The settings of a broker, of its store, its connections, how it is copied, and how leaders are chosen.

    `services`: the sections of its services; those that are not among them are at their defaults. `origins`:
    by path ("store.flush"), where a value that is no default comes from, for people.

    Raises `SettingError` where they do not go together.
    """

    broker: BrokerSettings
    store: StoreSettings
    net: NetSettings = attrs.Factory(NetSettings)
    replication: ReplicationSettings = _ALONE
    origins: Mapping[str, str] = attrs.Factory(dict)
    election: ElectionSettings = attrs.Factory(ElectionSettings)
    services: tuple[Any, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.replication.role == ELECTED:
            self._check_elected()
        is_slave = self.replication.role == SLAVE
        if is_slave and not self.replication.id:
            raise SettingError("replication.id (brokerId) = 0: a slave needs a number of its own, 1 or more")
        if is_slave and self.broker.services:
            raise SettingError(
                f"broker.services = {', '.join(self.broker.services)}: a slave runs none, since they write to"
                " its log; leave them out, and put them back when it becomes master"
            )
        if is_slave and not self.broker.nameservers:
            raise SettingError(
                "replication.role = SLAVE: a slave finds its master by name servers; set broker.nameservers"
                " (namesrvAddr)"
            )

    def _check_elected(self) -> None:
        if not self.replication.id:
            raise SettingError(
                "replication.id = 0: each broker of an elected group needs a number of its own for life, 1 or"
                " more"
            )
        if self.replication.port == 0:
            raise SettingError(
                "replication.port = 0: where a leader's log is copied has to be known before it is elected;"
                " leave it out (the broker's port and 1), or name one"
            )
        if not self.broker.nameservers:
            raise SettingError(
                "replication.role = ELECTED: clients find the leader by name servers; set broker.nameservers"
                " (namesrvAddr)"
            )

    @property
    def delays(self) -> tuple[int, ...]:
        """The delays of levels 1, 2, … in ms, which the store counts by, whoever delivers what waits."""
        return parse_levels(self.store.delay_levels)

    @property
    def is_slave(self) -> bool:
        """Whether the broker copies another one."""
        return self.replication.role == SLAVE

    @property
    def role(self) -> str:
        """The role by RocketMQ's names: of a broker that is alone that of a master that waits for nobody."""
        return ASYNC_MASTER if self.replication.role in (NONE, ELECTED) else self.replication.role

    @property
    def broker_id(self) -> int:
        """The number under which name servers know the broker: that of any master is 0."""
        return self.replication.id if self.is_slave else 0
