"""What becomes of requests that write, at a slave and before their answers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal


class AtSlaves(Enum):
    """What a slave does with requests of a kind: it copies its master's log and tables (replication.md §5).

    The codes of refusals are those of Apache's brokers of 4.9.
    """

    SERVED = (ResponseCode.SUCCESS, "")
    PULLS = (ResponseCode.SYSTEM_BUSY, "pull from its master")
    """Served, unless readers are to go to its master; the code is that of brokers of 5.x."""
    MESSAGES = (ResponseCode.SERVICE_NOT_AVAILABLE, "it takes no messages; send to its master")
    TABLES = (ResponseCode.SYSTEM_ERROR, "its tables are those of its master; change them there")
    TRANSACTIONS = (
        ResponseCode.SLAVE_NOT_AVAILABLE,
        "transactions end at its master, which asks about open ones",
    )

    def __init__(self, code: ResponseCode, why: str) -> None:
        self.code = code
        self.why = why

    @property
    def refuses(self) -> bool:
        """Whether such requests are always refused."""
        return self not in (AtSlaves.SERVED, AtSlaves.PULLS)


class Saved(Enum):
    """What is on disk before a request of a kind is answered."""

    NOTHING = "nothing, or its handler sees to it"
    TABLES = "topics, groups, modes, settings"
    PROGRESS = "how far groups are"


def not_saved() -> Refusal:
    """What a change is answered with that is not on disk."""
    return Refusal(
        ResponseCode.SYSTEM_ERROR,
        "the change is in force, but it cannot be saved and ends with the broker: see the broker's"
        " log, free some space or mend the disk, and ask again",
    )


def unaware_remark(nameservers: Sequence[str]) -> str | None:
    """What the answer to a change remarks; `nameservers`: those that do not know of it yet.

    It is a success to every client, whatever its remark says.
    """
    return f"name servers that do not know of it yet: {', '.join(nameservers)}" if nameservers else None
