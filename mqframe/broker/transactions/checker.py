"""Asking the producers of a group how a transaction ended: 39 (source: Broker2Client.java)."""

from __future__ import annotations

from mqframe.broker.identity import Identity
from mqframe.core import properties as p
from mqframe.core.client_registry import ClientRegistry
from mqframe.core.errors import ConnectionLost, TooMuchInFlight
from mqframe.core.host import encode_host
from mqframe.core.message import ReceivedMessage
from mqframe.core.record import encode_record
from mqframe.core.requests.messages import CheckTransactionState
from mqframe.core.topics import HALF_TOPIC
from mqframe.core.transaction_rules import real_place
from mqframe.net.peer import Peer
from mqframe.store.incoming import Stored

_TRIES_MAX = 3


class CheckBacks:
    """Sends check-backs to the members of producer groups in turn."""

    def __init__(self, clients: ClientRegistry[Peer], identity: Identity) -> None:
        self._clients = clients
        self._identity = identity
        self._turn = 0

    def ask(self, half: ReceivedMessage, stored: Stored, properties: dict[str, str]) -> bool:
        """Ask a producer about `half`, whose newest copy with `properties` is `stored`.

        Gives whether somebody was asked: no member of its group is connected, or none can take more.
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
        for number in range(min(_TRIES_MAX, len(members))):
            try:
                members[(self._turn + number) % len(members)].oneway(request, body)
            except (ConnectionLost, TooMuchInFlight):
                continue  # the next member knows as much
            return True
        return False

    def _record(self, half: ReceivedMessage, stored: Stored, properties: dict[str, str]) -> bytes:
        # As the half is, but with the place that its message is for.
        topic, queue_id = real_place(properties) or (half.topic, half.queue_id)
        return encode_record(
            topic=topic,
            queue_id=queue_id,
            queue_offset=stored.queue_offset,
            physical_offset=stored.commit_log_offset,
            body=half.stored_body,
            properties=p.encode_properties(properties).encode(),
            born_timestamp=half.born_timestamp,
            born_host=encode_host(half.born_host),
            store_timestamp=half.store_timestamp,
            store_host=encode_host(half.store_host),
            flag=half.flag,
            sys_flag=half.sys_flag,
            reconsume_times=half.reconsume_times,
        )
