"""Messages handed to the store, and what is found by key."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from mqframe.core.wire.frame import Body


class Incoming(msgspec.Struct, gc=False):
    """One message to store; for a batch what all its messages share (body and properties are left empty).

    `properties`: complete text form; hosts: packed (`core.wire.addresses`); times: ms.
    """

    topic: str
    queue_id: int
    body: Body
    properties: str
    born_timestamp: int
    born_host: bytes
    store_host: bytes
    flag: int = 0
    sys_flag: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0


class QueryFound(NamedTuple):
    """Records with a key, newest first; how far the index reaches (ms, bytes)."""

    records: list[bytes]
    last_timestamp: int
    last_offset: int


ENTRY_BYTES: Final = 20
"""Size of a consume-queue entry."""
