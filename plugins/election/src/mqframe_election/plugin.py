"""The role `elected`, as a plugin: a member of a group that chooses its leader itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mqframe.hooks.interfaces import BrokerRole
from mqframe.hooks.specs import Factories, hookimpl

if TYPE_CHECKING:
    from mqframe_replication.broker.hand_set_role import HandSetRole

    from mqframe.broker.sections import BrokerSections
    from mqframe.hooks.manager import PluginManager
    from mqframe.net.clock import LoopClock
    from mqframe_election.broker.role_by_election import RoleByElection


class RoleOfElections(BrokerRole):
    """`elected`."""

    def group_role(self, sections: BrokerSections) -> HandSetRole:
        """As `BrokerRole.group_role`: a program that has one broker of its own elects nobody."""
        from mqframe_replication.broker.hand_set_role import HandSetRole
        from mqframe_replication.sections import replication_of

        return HandSetRole(replication_of(sections))

    def decider(
        self,
        sections: BrokerSections,
        clock: LoopClock,
        plugins: PluginManager,
        on_lost: Callable[[], object],
    ) -> RoleByElection:
        """As `BrokerRole.decider`: where a broker cannot be started, another one leads."""
        from mqframe.net.clock import boot_id
        from mqframe_election.broker.role_by_election import RoleByElection

        return RoleByElection(sections, clock, plugins, boot=boot_id())


@hookimpl
def register_broker_roles() -> Factories:
    """`elected`."""
    return {"elected": RoleOfElections}
