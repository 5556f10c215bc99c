"""The role `none`: a broker that is alone, and stays that."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.host import BrokerHost
from mqframe.broker.roles.alone import AloneRole
from mqframe.broker.sections import BrokerSections
from mqframe.hooks.interfaces import BrokerRole
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.net.clock import LoopClock


class NobodyDecides:
    """The `RoleDecider` of a broker whose role never changes."""

    host: BrokerHost
    pause = ""

    def __init__(self, sections: BrokerSections) -> None:
        self._sections = sections

    async def start(self) -> None:
        """As `RoleDecider.start`."""
        await self.host.make(self._sections, AloneRole())
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

    def group_role(self, sections: BrokerSections) -> AloneRole:
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
        return NobodyDecides(sections)


@hookimpl
def register_broker_roles() -> Factories:
    """`none`."""
    return {"none": LoneRole}
