"""The role `none`: a broker that is alone, and stays that."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.host import BrokerHost
from mqframe.broker.roles.alone import AloneRole
from mqframe.broker.roles.group_role import GroupRole
from mqframe.broker.sections import BrokerSections
from mqframe.hooks.interfaces import BrokerRole
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock


class NobodyDecides:
    """The `RoleDecider` of a broker whose role never changes. `role`: makes that of each broker."""

    host: BrokerHost
    pause = ""

    def __init__(self, sections: BrokerSections, role: Callable[[BrokerSections], GroupRole]) -> None:
        self._sections = sections
        self._role = role

    async def start(self) -> None:
        """As `RoleDecider.start`."""
        await self.host.make(self._sections, self._role(self._sections))
        await self.host.serve()
        self._sections = self.host.on_its_ports(self._sections)

    async def stop(self) -> None:
        """As `RoleDecider.stop`."""
        async with self.host.changing:
            if problem := await self.host.end():
                raise problem

    def abandon(self) -> None:
        """As `RoleDecider.abandon`."""


class LoneRole(BrokerRole):
    """`none`."""

    def group_role(self, sections: BrokerSections) -> GroupRole:
        """As `BrokerRole.group_role`."""
        return AloneRole()

    def decider(
        self,
        sections: BrokerSections,
        clock: LoopClock,
        plugins: PluginManager,
        on_lost: Callable[[], object],
    ) -> NobodyDecides:
        """As `BrokerRole.decider`."""
        return NobodyDecides(sections, self.group_role)
