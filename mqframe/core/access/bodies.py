"""JSON bodies of users and policies (sources: UserInfo.java, AclInfo.java)."""

from __future__ import annotations

from mqframe.core.wire.bodies import Body


class UserInfo(Body, omit_defaults=True):
    """A user. `user_type`: Super or Normal; `user_status`: enable or disable; `None`: as it is."""

    password: str | None = None
    user_status: str | None = None
    user_type: str | None = None
    username: str | None = None

    def __repr__(self) -> str:
        return f"UserInfo({self.username!r}, {self.user_type!r}, {self.user_status!r})"


class PolicyEntryInfo(Body, omit_defaults=True):
    """One line of a policy: whether what may be done with a resource, and from where.

    `resource`: "Topic:orders", "Topic:ord*", "Group:*", "Cluster:DefaultCluster" or "*"; `actions`: All, Pub,
    Sub, Create, Update, Delete, Get, List; `source_ips`: addresses and networks, none: from everywhere;
    `decision`: Allow or Deny.
    """

    resource: str
    actions: list[str] | None = None
    decision: str | None = None
    source_ips: list[str] | None = None


class PolicyInfo(Body, omit_defaults=True):
    """Lines of one type: Custom ones count before Default ones."""

    entries: list[PolicyEntryInfo] | None = None
    policy_type: str | None = None


class AclInfo(Body, omit_defaults=True):
    """All policies of a subject, "User:name"."""

    policies: list[PolicyInfo] | None = None
    subject: str | None = None
