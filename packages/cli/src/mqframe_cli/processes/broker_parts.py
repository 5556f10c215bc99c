"""The broker of a process that serves, of its settings: one by itself, or a member of an elected group."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import attrs

from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost, MakeBroker, RoleDecider
from mqframe.broker.role_settings import ROLE_SECTION, Alone
from mqframe.broker.roles.group_role import GroupRole
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.store_opening import made_beside
from mqframe.core.config.configuration import Resolved
from mqframe.hooks.interfaces import BrokerRole
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.names import install_line
from mqframe.log import get_logger
from mqframe.net.access.access import Access
from mqframe.net.clock import LoopClock
from mqframe.net.settings import NetSettings
from mqframe.store.recovered_store import RecoveredStore
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.opening_progress import OpeningProgress
from mqframe_cli.processes.serving import end_process
from mqframe_cli.settings.configuration import added_kinds, given_origins, service_kinds

log: Final = get_logger("broker")
COMPILED: Final = "speedups"
"""The service that is not there where there is no wheel of it, and that no broker needs."""


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
    _tell_what_is_missing(sections.broker, parts.plugins)
    role: BrokerRole = parts.plugins.create("broker_role", sections.replication.plugin)
    decider: RoleDecider = role.decider(sections, parts.clock, parts.plugins, end_process)
    return BrokerHost(_maker(parts), decider)


def _tell_what_is_missing(settings: BrokerSettings, plugins: PluginManager) -> None:
    """Say in the log that Python serves all sends and pulls, where nobody chose that."""
    brings = KNOWN_DISTRIBUTIONS["broker_service", COMPILED]
    if brings in plugins.not_installed() and COMPILED not in settings.services_blocked:
        log.info(f"no {COMPILED}", why=f"{brings} is not installed; install it with: {install_line(brings)}")


def _sections(resolved: Resolved, nameservers: tuple[str, ...]) -> BrokerSections:
    settings: Any = resolved.section(BrokerSettings)
    added = {kind.SECTION: resolved.section(kind) for kind in added_kinds(resolved)}
    return BrokerSections(
        attrs.evolve(settings, nameservers=nameservers + settings.nameservers),
        resolved.section(StoreSettings),
        resolved.section(NetSettings),
        added.pop(ROLE_SECTION, None) or Alone(),
        given_origins(resolved),
        tuple(added.values()),
        tuple(resolved.section(kind) for kind in service_kinds(resolved)),
    )


def _maker(parts: BrokerParts) -> MakeBroker:
    """Makes a broker of its settings, and of its role, while the loop goes on."""
    clock, plugins, access, progress = parts

    async def make(sections: BrokerSections, role: GroupRole | None) -> Broker:
        def with_store(recovered: RecoveredStore) -> Broker:
            return Broker(sections, clock, plugins, role, recovered)

        broker = await made_beside(sections, clock, with_store, progress, plugins)
        if access is not None:
            broker.enforce(access)
        return broker

    return make
