"""Checks of open transactions: asks producers of the group for the outcome (source: Broker2Client.java)."""

from __future__ import annotations

from mqframe.core.cluster.client_registry import ClientRegistry
from mqframe.core.errors import ConnectionLost, TooMuchInFlight
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC
from mqframe.core.requests.messages import CheckTransactionState
from mqframe.core.requests.peer import Peer
from mqframe.core.storage.record import copy_record
from mqframe.core.storage.stored import Stored
from mqframe.hooks.interfaces import BrokerIdentity
from mqframe_transactions.rules.half_rules import real_place


class TransactionChecker:
    """Sends check-backs to the members of producer groups in turn."""

    def __init__(self, clients: ClientRegistry[Peer], identity: BrokerIdentity) -> None:
        self._clients = clients
        self._identity = identity
        self._turn = 0

    def ask(self, half: ReceivedMessage, stored: Stored, properties: dict[str, str]) -> bool:
        """Ask a producer about `half`, whose newest copy with `properties` is `stored`.

        Returns whether somebody was asked: no member of its group is connected, or none can take more.
        """
        members = tuple(self._clients.producers.get(properties.get(p.PRODUCER_GROUP, ""), ()))
        if not members:
            return False
        self._turn += 1
        unique = properties.get(p.UNIQUE_KEY)
        request = CheckTransactionState(
            tran_state_table_offset=stored.queue_offset,
            commit_log_offset=stored.commit_log_offset,
            topic=HALF_TOPIC,
            msg_id=unique,
            transaction_id=unique,
            offset_msg_id=self._identity.offset_id(stored.commit_log_offset),
            bname=self._identity.name,
        )
        body = self._record(half, stored, properties)
        for number in range(len(members)):
            try:
                members[(self._turn + number) % len(members)].oneway(request, body)
            except (ConnectionLost, TooMuchInFlight):
                continue  # the next member knows as much
            return True
        return False

    def _record(self, half: ReceivedMessage, stored: Stored, properties: dict[str, str]) -> bytes:
        # As the half is, but with the place that its message is for.
        topic, queue_id = real_place(properties) or (half.topic, half.queue_id)
        text = p.encode_properties(properties).encode()
        if len(text) > p.PROPERTIES_BYTES_MAX:  # it was stored without its last separator, which says nothing
            text = text[:-1]
        return copy_record(half, (topic, queue_id, stored.queue_offset), stored.commit_log_offset, text)
