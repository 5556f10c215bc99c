"""JSON bodies of users and policies (sources: UserInfo.java, AclInfo.java, AclConfig.java)."""

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


class PlainAccount(Body, omit_defaults=True):
    """An account of 4.9. Permissions are written "orders=PUB|SUB", those by default "DENY" or "SUB"."""

    access_key: str | None = None
    admin: bool = False
    default_group_perm: str | None = None
    default_topic_perm: str | None = None
    group_perms: list[str] | None = None
    secret_key: str | None = None
    topic_perms: list[str] | None = None
    white_remote_address: str | None = None

    def __repr__(self) -> str:
        return f"PlainAccount({self.access_key!r})"


class AclConfig(Body):
    """All accounts of 4.9, and from where nobody is asked."""

    global_white_addrs: list[str] = []
    plain_access_configs: list[PlainAccount] = []
