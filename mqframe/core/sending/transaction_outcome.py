"""How a transaction ended, in the numbers of the wire (source: MessageSysFlag.java)."""

from __future__ import annotations

from enum import IntEnum

from mqframe.core.codes import SysFlag


class TransactionOutcome(IntEnum):
    """What a producer says of its local transaction.

    COMMIT: consumers get the message; ROLLBACK: nobody ever does; UNKNOWN: the broker asks again later.
    """

    UNKNOWN = SysFlag.TRANSACTION_NONE
    COMMIT = SysFlag.TRANSACTION_COMMIT
    ROLLBACK = SysFlag.TRANSACTION_ROLLBACK
