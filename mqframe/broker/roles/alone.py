"""A broker that is alone: nobody copies it."""

from __future__ import annotations

from mqframe.broker.roles.group_role import Replication, RolePlace
from mqframe.broker.roles.unelected import NoEpochsPart, NoFollowerPart, refuse_store_of_group
from mqframe.broker.service import BrokerPart
from mqframe.broker.shared_log import SharedLog
from mqframe.core.cluster.broker_info import HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.admin import ExchangeBrokerHaInfo, GetBrokerHaStatus
from mqframe.core.requests.roles import DemoteBroker, PromoteBroker
from mqframe.core.requests.serving import Call, serves
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
from mqframe.hooks.names import install_line
from mqframe.store.message_store import MessageStore


class AlonePart(BrokerPart):
    """A broker that nobody copies."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        return HaRuntimeInfo(master_commit_log_max_offset=self._store.log.max_offset)

    @serves(ExchangeBrokerHaInfo)
    def ha_address(self, fields: ExchangeBrokerHaInfo, call: Call) -> None:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR, "nobody can copy this broker: replication.role (brokerRole) is NONE"
        )


class FixedRolePart(BrokerPart):
    """A broker whose role nobody can change."""

    @serves(PromoteBroker, DemoteBroker)
    def change_role(self, fields: PromoteBroker | DemoteBroker, call: Call) -> None:
        line = install_line(KNOWN_DISTRIBUTIONS["broker_role", "slave"])
        raise Refusal(
            ResponseCode.INVALID_PARAMETER,
            "the role is not changed: this broker is alone, without a section replication, or without the"
            f" plugin that this is of; install that with: {line}",
        )


class AloneRole:
    """The `GroupRole` of a broker without a section of settings for it."""

    log = SharedLog()

    def replication(self, place: RolePlace) -> Replication:
        """As `GroupRole.replication`."""
        refuse_store_of_group(place.state.directory)
        return Replication([AlonePart(place.state.store), FixedRolePart(), NoFollowerPart(), NoEpochsPart()])
