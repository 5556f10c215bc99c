"""What the role of a broker adds to it; of a broker that is alone, nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.replication.master import MasterPart
from mqframe.broker.replication.roles import RolePart, noting_copies
from mqframe.broker.replication.slave import SlavePart
from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaRuntimeInfo
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig, GetBrokerHaStatus
from mqframe.core.requests.serving import Call, Handler, serves
from mqframe.net.client import Client
from mqframe.replication.settings import NONE
from mqframe.store.reading.reads import StoreReads


class AlonePart(BrokerPart):
    """A broker that nobody copies."""

    def __init__(self, store: StoreReads) -> None:
        self._store = store

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        return HaRuntimeInfo(master_commit_log_max_offset=self._store.max_offset)


@attrs.frozen
class Replication:
    """`push`: sends slaves what was appended; `is_open`: whether there is a port where the log is copied;
    `roles`: changes the role; `watch`: has the part know of requests that others serve."""

    parts: Sequence[BrokerPart]
    roles: RolePart
    push: Callable[[], object] = lambda: None
    is_open: bool = False
    watch: Callable[[Mapping[int, Handler]], dict[int, Handler]] = dict


def make_replication(
    sections: BrokerSections, state: BrokerState, client: Client, registration: NameServerRegistration
) -> Replication:
    """The parts of a broker for its role; `state.replicas` is there from then on, where sends wait."""
    settings = sections.replication

    def roles(part: BrokerPart) -> RolePart:
        return RolePart(settings, part, client, state)

    if sections.is_slave:
        slave = SlavePart(settings, state, client, registration)
        return Replication([slave, change := roles(slave)], change)
    if settings.role == NONE:
        alone = AlonePart(state.store)
        return Replication([alone, change := roles(alone)], change)
    master = MasterPart(sections, state)
    state.replicas = master.waits
    watch = partial(noting_copies, master, kind=GetAllSubscriptionGroupConfig)
    return Replication([master, change := roles(master)], change, master.push, is_open=True, watch=watch)
