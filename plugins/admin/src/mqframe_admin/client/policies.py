"""Administration of policies: what users may do on brokers that check who asks."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Final

from mqframe.core.wire import loose_json
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo
from mqframe_admin.access.requests import AuthDeleteAcl, AuthListAcl, AuthUpdateAcl
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.users import change, listed

_SUBJECT: Final = "User:"


class AsyncPolicyAdmin:
    """Policies of users (ACL 2.0). They belong to each server alone, so a change goes to all masters.

    `server`: "host:port" of one server instead, as of `AsyncUserAdmin`.
    """

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def set(
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
        decision = "Allow" if allow else "Deny"
        entries = [
            PolicyEntryInfo(each, list(actions), decision, list(sources) or None) for each in resources
        ]
        body = AclInfo([PolicyInfo(entries, "Custom")], _SUBJECT + user)
        await change(self._calls, AuthUpdateAcl(_SUBJECT + user), loose_json.dumps(body), server)

    async def delete(self, user: str, resource: str | None = None, *, server: str = "") -> None:
        """Take what is said of `resource` from `user`; by default everything."""
        await change(self._calls, AuthDeleteAcl(_SUBJECT + user, resource=resource), b"", server)

    async def list(self, user: str = "", *, resource: str = "", server: str = "") -> builtins.list[AclInfo]:
        """Policies of users whose names begin with `user`, those whose resource contains `resource`."""
        request = AuthListAcl(_SUBJECT + user if user else None, resource or None)
        return await listed(self._calls, request, list[AclInfo], server)
