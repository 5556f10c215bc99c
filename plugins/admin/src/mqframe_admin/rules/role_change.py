"""What brokers tell of changes of their roles, and keep of them."""

from __future__ import annotations

from mqframe.core.wire.bodies import Body

CHANGED_ROLE = "changedRole.json"
"""The file of `ChangedRole`, in the directory of a broker's other tables."""


class RoleChange(Body):
    """The answer to a change: what the broker is about to be.

    `log_end`: where its log ends, bytes; `slaves`: "host:port:offset" of each slave that was connected;
    `objections`: what stood against it, and was overruled.
    """

    broker_id: int
    log_end: int
    objections: list[str] = []
    role: str = ""
    slaves: list[str] = []


class ChangedRole(Body):
    """The role that a broker has since an operator changed it, and the one that it was configured with then.

    It counts until another one is configured.
    """

    broker_id: int
    changed_ms: int
    configured_id: int
    configured_role: str
    role: str

    def counts_with(self, configured_role: str, configured_id: int) -> bool:
        """Whether it is in force where the broker is configured so."""
        return (self.configured_role, self.configured_id) == (configured_role, configured_id)
