"""The broker of a process that serves, of its settings: one by itself, or a member of an elected group."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs

from mqframe.broker.broker import Broker
from mqframe.broker.elected.roles import ElectedRole
from mqframe.broker.host import BrokerHost, MakeBroker
from mqframe.broker.role_by_operator import RoleByOperator
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.store_opening import made_beside
from mqframe.core.config.configuration import Resolved
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.access import Access
from mqframe.net.clock import LoopClock, boot_id
from mqframe.net.settings import NetSettings
from mqframe.replication.election_settings import ElectionSettings
from mqframe.replication.settings import ELECTED, ReplicationSettings
from mqframe.store.recovered_store import RecoveredStore
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.opening_progress import OpeningProgress
from mqframe_cli.processes.serving import end_process
from mqframe_cli.settings.configuration import given_origins, service_kinds


class BrokerParts(NamedTuple):
    """What a broker is made with. `access`: who may do what; `None`: everybody is served.

    `progress`: is told how far the opening of its store is.
    """

    clock: LoopClock
    plugins: PluginManager
    access: Access | None
    progress: OpeningProgress


def broker_of(resolved: Resolved, nameservers: tuple[str, ...], parts: BrokerParts) -> BrokerHost:
    """The broker of these settings. `nameservers`: of its process, in addition to those of the settings."""
    sections = _sections(resolved, nameservers)
    make = _maker(parts)
    if sections.replication.role == ELECTED:
        # Nobody else waits for the import of the election's machine.
        from mqframe.broker.role_by_election import RoleByElection

        return BrokerHost(make, RoleByElection(sections, parts.clock, parts.plugins, boot=boot_id()))
    decider = RoleByOperator(sections, parts.clock)
    decider.on_lost = end_process
    return BrokerHost(make, decider)


def _sections(resolved: Resolved, nameservers: tuple[str, ...]) -> BrokerSections:
    settings: Any = resolved.section(BrokerSettings)
    return BrokerSections(
        attrs.evolve(settings, nameservers=nameservers + settings.nameservers),
        resolved.section(StoreSettings),
        resolved.section(NetSettings),
        resolved.section(ReplicationSettings),
        given_origins(resolved),
        resolved.section(ElectionSettings),
        tuple(resolved.section(kind) for kind in service_kinds(resolved)),
    )


def _maker(parts: BrokerParts) -> MakeBroker:
    """Makes a broker of its settings, and of its role in an elected group, while the loop goes on."""
    clock, plugins, access, progress = parts

    async def make(sections: BrokerSections, elected: ElectedRole | None) -> Broker:
        def with_store(recovered: RecoveredStore) -> Broker:
            return Broker(sections, clock, plugins, elected, recovered)

        broker = await made_beside(sections, clock, with_store, progress)
        if access is not None:
            broker.enforce(access)
        return broker

    return make
