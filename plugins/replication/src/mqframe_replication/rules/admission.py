"""Whether a follower that says hello goes with its leader (replication.md §1.7)."""

from __future__ import annotations

import attrs

from mqframe_replication.rules.hello import PROTOCOL, Hello


@attrs.frozen
class Home:
    """A leader. `id`: its number among the brokers of its name; `file_bytes`: size of its log files."""

    cluster: str
    broker: str
    id: int
    file_bytes: int

    def refusal(self, hello: Hello) -> str:
        """Why this leader does not take a follower that says `hello`, a sentence; empty: it does."""
        if hello.protocol != PROTOCOL:
            return (
                f"the slave speaks version {hello.protocol} of the replication protocol, this master version"
                f" {PROTOCOL}: update the older of them"
            )
        if hello.cluster != self.cluster or hello.broker != self.broker:
            return (
                f"this master is {self.broker!r} of the cluster {self.cluster!r}, the slave is"
                f" {hello.broker!r} of {hello.cluster!r}: both need the same broker.cluster and broker.name"
            )
        if hello.id == self.id:
            return f"replication.id (brokerId) = {hello.id} is that of this master: give each broker its own"
        if hello.file_bytes != self.file_bytes:
            return (
                f"the slave's log files have {hello.file_bytes} bytes, this master's {self.file_bytes}: both"
                " need the same store.commit_log_file_bytes (mappedFileSizeCommitLog)"
            )
        return ""


def taken_id(hello: Hello, others: str) -> str:
    """What is said to a follower whose number is that of another one, connected from the address `others`."""
    return (
        f"replication.id (brokerId) = {hello.id} is that of a slave that is connected from {others}: give"
        " each broker its own. If that was this slave before it was started anew, it is forgotten in a moment"
    )
