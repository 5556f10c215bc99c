"""The epochs of a broker's log, as mqadmin's `getBrokerEpoch` shows them."""

from __future__ import annotations

from typing import Final

from mqframe.broker.service import BrokerPart
from mqframe.broker.tables.identity import Identity
from mqframe.core.cluster.broker_info import EpochEntry, EpochEntryCache
from mqframe.core.requests.admin import GetBrokerEpochCache
from mqframe.core.requests.serving import Call, serves
from mqframe.store.message_store import MessageStore
from mqframe_election.broker.roles import ElectedRole
from mqframe_election.rules.history import EpochHistory

_TO_THE_LOGS_END: Final = 2**63 - 1
"""What Apache's brokers give as the end of the last epoch; mqadmin puts the log's end in its place."""


class EpochsPart(BrokerPart):
    """Says the epochs of broker `number` of an elected group."""

    def __init__(self, number: int, identity: Identity, store: MessageStore, role: ElectedRole) -> None:
        self._number = number
        self._identity = identity
        self._store = store
        self._role = role

    @serves(GetBrokerEpochCache)
    def epochs(self, fields: GetBrokerEpochCache, call: Call) -> EpochEntryCache:
        return EpochEntryCache(
            broker_id=self._number,
            broker_name=self._identity.name,
            cluster_name=self._identity.cluster,
            epoch_list=_entries(self._role.replica.history),
            max_offset=self._store.log.max_offset,
        )


def _entries(history: EpochHistory) -> list[EpochEntry]:
    ends = [*(each.start for each in history.terms[1:]), _TO_THE_LOGS_END]
    return [EpochEntry(end, *each) for end, each in zip(ends, history.terms, strict=False)]
