"""PolicyAdmin: `AsyncPolicyAdmin` for plain threads.

Generated from mqframe_admin.client.policies, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence

from mqframe_admin.access.bodies import AclInfo
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.policies import AsyncPolicyAdmin


class PolicyAdmin(SyncSubject[AsyncPolicyAdmin]):
    """Policies of users (ACL 2.0). They belong to each server alone, so a change goes to all masters.

    `server`: "host:port" of one server instead, as of `UserAdmin`.
    """

    def set(
        self,
        user: str,
        resources: Iterable[str],
        *,
        actions: Sequence[str] = ("All",),
        allow: bool = True,
        sources: Sequence[str] = (),
        server: str = "",
    ) -> None:
        """Say what `user` may do, or may not, with each of `resources`, in the place of what was said of it.

        `resources`: "Topic:orders", "Topic:ord*", "Group:*", "Cluster:…" or "*"; `actions`: All, Pub, Sub,
        Create, Update, Delete, Get, List; `sources`: addresses or networks that this is for.
        """
        self._call(
            self._client.set,
            user,
            tuple(resources),
            actions=actions,
            allow=allow,
            sources=sources,
            server=server,
        )

    def delete(self, user: str, resource: str | None = None, *, server: str = "") -> None:
        """Take what is said of `resource` from `user`; by default everything."""
        self._call(self._client.delete, user, resource, server=server)

    def list(self, user: str = "", *, resource: str = "", server: str = "") -> builtins.list[AclInfo]:
        """Policies of users whose names begin with `user`, those whose resource contains `resource`."""
        return self._call(self._client.list, user, resource=resource, server=server)
