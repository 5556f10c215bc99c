"""Messages handed to the store."""

from __future__ import annotations

from typing import Final

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


ENTRY_BYTES: Final = 20
"""Size of a consume-queue entry."""
