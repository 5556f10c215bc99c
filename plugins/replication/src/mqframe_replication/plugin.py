"""What this distribution brings: the roles `alone`, `async_master`, `sync_master` and `slave`, a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mqframe.hooks.interfaces import BrokerRole
from mqframe.hooks.specs import Factories, hookimpl

if TYPE_CHECKING:
    from mqframe.broker.sections import BrokerSections
    from mqframe.hooks.manager import PluginManager
    from mqframe.net.clock import LoopClock
    from mqframe_replication.broker.hand_set_role import HandSetRole
    from mqframe_replication.broker.role_by_operator import RoleByOperator

COMMAND_HELP: Final = {"replica": "Masters and slaves: who follows whom, and how far behind."}
"""What lists say of it without importing it."""


class RoleOfOperators(BrokerRole):
    """Each of them: operators change one for another while the broker runs."""

    def group_role(self, sections: BrokerSections) -> HandSetRole:
        """As `BrokerRole.group_role`."""
        from mqframe_replication.broker.hand_set_role import HandSetRole
        from mqframe_replication.sections import replication_of

        return HandSetRole(replication_of(sections))

    def decider(
        self,
        sections: BrokerSections,
        clock: LoopClock,
        plugins: PluginManager,
        on_lost: Callable[[], object],
    ) -> RoleByOperator:
        """As `BrokerRole.decider`."""
        from mqframe_replication.broker.role_by_operator import RoleByOperator

        decider = RoleByOperator(sections, clock)
        decider.on_lost = on_lost
        return decider


@hookimpl
def register_broker_roles() -> Factories:
    """All four."""
    return dict.fromkeys(("alone", "async_master", "sync_master", "slave"), RoleOfOperators)


@hookimpl
def register_commands() -> Factories:
    """`mqframe replica`."""
    return {"replica": "mqframe_replication.commands:app"}
