"""What a broker reads of the section of settings that chooses its role, of whichever plugin that is."""

from __future__ import annotations

from typing import ClassVar, Final, Protocol, Self

import attrs

from mqframe.broker.settings import BrokerSettings

ASYNC_MASTER: Final = "ASYNC_MASTER"
SLAVE: Final = "SLAVE"
"""Roles by RocketMQ's names, as brokers tell them to others."""


ROLE_SECTION: Final = "replication"


class RoleSettings(Protocol):
    """The section `replication`: an attrs class made by `settings`, or `Alone`."""

    @property
    def plugin(self) -> str:
        """The name of the role among plugins of the kind `broker_role`."""

    @property
    def is_slave(self) -> bool:
        """Whether the broker copies another one."""

    @property
    def shown_role(self) -> str:
        """The role by RocketMQ's names: of a broker that is alone that of a master that waits for nobody."""

    @property
    def broker_id(self) -> int:
        """The number under which name servers know the broker: that of any master is 0."""

    @property
    def slave_reads(self) -> bool | None:
        """Whether a master sends readers to slaves; false: slaves refuse them; `None`: neither."""

    @property
    def offset_check(self) -> bool:
        """Whether a slave tells consumers where a queue begins and ends, as a master does."""

    def check(self, broker: BrokerSettings) -> None:
        """Raises `SettingError` where these and those of the broker do not go together."""

    def on_any_port(self) -> Self:
        """These settings of a broker whose port was any free one, for the next broker in its place."""


@attrs.frozen
class Alone:
    """The `RoleSettings` of a broker that is alone; there is nothing to set."""

    SECTION: ClassVar[str] = ROLE_SECTION
    plugin: ClassVar[str] = "none"
    is_slave: ClassVar[bool] = False
    shown_role: ClassVar[str] = ASYNC_MASTER
    broker_id: ClassVar[int] = 0
    slave_reads: ClassVar[None] = None
    offset_check: ClassVar[bool] = False

    def check(self, broker: BrokerSettings) -> None:
        """As `RoleSettings.check`: it goes with everything."""

    def on_any_port(self) -> Self:
        """As `RoleSettings.on_any_port`."""
        return self
