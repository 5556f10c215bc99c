"""All sections of settings that a broker has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from mqframe.broker.role_settings import Alone, RoleSettings
from mqframe.broker.settings import BrokerSettings
from mqframe.core.delay.levels import parse_levels
from mqframe.net.settings import NetSettings
from mqframe.store.settings import StoreSettings

S = TypeVar("S")


@attrs.frozen
class BrokerSections:
    """The settings of a broker, of its store, its connections, and how it is copied.

    `replication`: the section of its role; `added`: further ones that other distributions add. `services`:
    the sections of its services; those that are not among them are at their defaults. `origins`: by path
    ("store.flush"), where a value that is no default comes from, for people.

    Raises `SettingError` where they do not go together.
    """

    broker: BrokerSettings
    store: StoreSettings
    net: NetSettings = attrs.Factory(NetSettings)
    replication: RoleSettings = attrs.Factory(Alone)
    origins: Mapping[str, str] = attrs.Factory(dict)
    added: tuple[Any, ...] = ()
    services: tuple[Any, ...] = ()

    def __attrs_post_init__(self) -> None:
        self.replication.check(self.broker)

    def section(self, kind: type[S]) -> S:
        """The section of the class `kind` among those `added`; its defaults where nothing else was said."""
        return next((each for each in self.added if isinstance(each, kind)), None) or kind()

    def of_service(self, kind: type[S]) -> S:
        """The section of the class `kind` of a service; its defaults where nothing else was said."""
        return next((each for each in self.services if isinstance(each, kind)), None) or kind()

    @property
    def delays(self) -> tuple[int, ...]:
        """The delays of levels 1, 2, … in ms, which the store counts by, whoever delivers what waits."""
        return parse_levels(self.store.delay_levels)

    @property
    def is_slave(self) -> bool:
        """Whether the broker copies another one."""
        return self.replication.is_slave

    @property
    def role(self) -> str:
        """As `RoleSettings.shown_role`."""
        return self.replication.shown_role

    @property
    def broker_id(self) -> int:
        """As `RoleSettings.broker_id`."""
        return self.replication.broker_id
