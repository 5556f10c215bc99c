"""What brokers answer that are of no group that elects its leader, where operators ask about that."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mqframe.broker.service import BrokerPart
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal, StoreError
from mqframe.core.requests.admin import GetBrokerEpochCache
from mqframe.core.requests.election import ForceElection
from mqframe.core.requests.serving import Call, serves

EPOCHS: Final = "epochFileCheckpoint"
"""In the store's folder, the epochs of its log. The name that Apache's brokers give it."""
REPLICA: Final = "replica.json"
"""Beside it, what a broker of an elected group knows of that group."""


class NoFollowerPart(BrokerPart):
    """A broker that cannot be forced to lead: of no elected group, or the leader of one."""

    @serves(ForceElection)
    def force_election(self, fields: ForceElection, call: Call) -> None:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            "nothing is forced: this broker leads its group, or is of none that elects (replication.role ="
            " ELECTED); ask a broker that follows",
        )


class NoEpochsPart(BrokerPart):
    """A broker of no elected group."""

    @serves(GetBrokerEpochCache)
    def epochs(self, fields: GetBrokerEpochCache, call: Call) -> None:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            "the log of this broker has no epochs: it is of no group that elects (replication.role ="
            " ELECTED)",
        )


def refuse_store_of_group(directory: Path) -> None:
    """Raise `StoreError` where the store in `directory` is of a broker of an elected group."""
    if (directory / REPLICA).exists():
        raise StoreError(
            f"the store in {directory} is of a broker of an elected group; written to by itself, its"
            " log would differ from theirs under the same epochs. To leave the group for good, move"
            f" {EPOCHS} and {REPLICA} away first; to stay, set replication.role = ELECTED"
        )
