"""Administration of users and their policies, on brokers that check who asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from mqframe.client.admin.calls import AdminCalls, body_of
from mqframe.core.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.requests.access import (
    AuthCreateUser,
    AuthDeleteAcl,
    AuthDeleteUser,
    AuthListAcl,
    AuthListUser,
    AuthUpdateAcl,
    AuthUpdateUser,
)
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.fields import Request
from mqframe.core.wire import loose_json

T = TypeVar("T")
_SUBJECT: Final = "User:"


class UserAdmin(AdminCalls):
    """Users and policies (ACL 2.0). They belong to each server alone, so a change goes to all masters.

    `server`: "host:port" of one server instead, a broker's or a name server's; name servers that check who
    asks and share no process with a broker have users of their own.
    """

    async def create_user(
        self, name: str, secret: str, *, everything: bool = False, server: str = ""
    ) -> None:
        """Make a user; `everything`: who may do everything, whatever policies say."""
        body = UserInfo(secret, "enable", "Super" if everything else "Normal", name)
        await self._change(AuthCreateUser(name), loose_json.dumps(body), server)

    async def update_user(
        self,
        name: str,
        *,
        secret: str | None = None,
        everything: bool | None = None,
        enabled: bool | None = None,
        server: str = "",
    ) -> None:
        """Change what is given of a user. Who is not enabled is refused like one that is not known."""
        kind = None if everything is None else "Super" if everything else "Normal"
        status = None if enabled is None else "enable" if enabled else "disable"
        body = loose_json.dumps(UserInfo(secret, status, kind, name))
        await self._change(AuthUpdateUser(name), body, server)

    async def delete_user(self, name: str, *, server: str = "") -> None:
        """Delete a user with all policies."""
        await self._change(AuthDeleteUser(name), b"", server)

    async def users(self, contains: str = "", *, server: str = "") -> list[UserInfo]:
        """The users whose names contain `contains`, sorted; secrets only for one who may do everything."""
        return await self._all(AuthListUser(contains or None), list[UserInfo], server)

    async def check_keys(self, *, server: str = "") -> None:
        """Return when `server`, by default the first master, knows who signs the requests of this client.

        What that user may do does not matter. Raises `AccessError` for keys that are not right. Who does not
        sign at all is known to servers that check nobody.
        """
        address = server or next(iter((await self.masters()).values()))
        # A heartbeat of no group: no other request of clients is granted to whoever is known.
        await self._call(address, HeartBeat(), HeartbeatData(self._instance.client_id))

    async def set_policy(
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
        await self._change(AuthUpdateAcl(_SUBJECT + user), loose_json.dumps(body), server)

    async def remove_policy(self, user: str, resource: str | None = None, *, server: str = "") -> None:
        """Take what is said of `resource` from `user`; by default everything."""
        await self._change(AuthDeleteAcl(_SUBJECT + user, resource=resource), b"", server)

    async def policies(self, user: str = "", *, resource: str = "", server: str = "") -> list[AclInfo]:
        """Policies of users whose names begin with `user`, those whose resource contains `resource`."""
        request = AuthListAcl(_SUBJECT + user if user else None, resource or None)
        return await self._all(request, list[AclInfo], server)

    async def _change(self, request: Request, body: bytes, server: str) -> None:
        addresses = [server] if server else (await self.masters()).values()
        await self._call_all(addresses, request, body)

    async def _all(self, request: Request, kind: type[list[T]], server: str) -> list[T]:
        """What one server has, or the first master: a change goes to all."""
        address = server or next(iter((await self.masters()).values()))
        answer = await self._call(address, request)
        return body_of(answer, kind) if answer.body else []
