"""Administration of users, on brokers that check who asks."""

from __future__ import annotations

import builtins
from typing import TypeVar

from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.fields import Request
from mqframe.core.wire import loose_json
from mqframe_admin.access.bodies import UserInfo
from mqframe_admin.access.requests import (
    AuthCreateUser,
    AuthDeleteUser,
    AuthListUser,
    AuthUpdateUser,
)
from mqframe_admin.client.calls import AdminCalls, body_of

T = TypeVar("T")


class AsyncUserAdmin:
    """Users (ACL 2.0). They belong to each server alone, so a change goes to all masters.

    `server`: "host:port" of one server instead, a broker's or a name server's; name servers that check who
    asks and share no process with a broker have users of their own.
    """

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def create(self, name: str, secret: str, *, everything: bool = False, server: str = "") -> None:
        """Make a user; `everything`: who may do everything, whatever policies say."""
        body = UserInfo(secret, "enable", "Super" if everything else "Normal", name)
        await change(self._calls, AuthCreateUser(name), loose_json.dumps(body), server)

    async def update(
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
        await change(self._calls, AuthUpdateUser(name), body, server)

    async def delete(self, name: str, *, server: str = "") -> None:
        """Delete a user with all policies."""
        await change(self._calls, AuthDeleteUser(name), b"", server)

    async def list(self, contains: str = "", *, server: str = "") -> builtins.list[UserInfo]:
        """The users whose names contain `contains`, sorted; secrets only for one who may do everything."""
        return await listed(self._calls, AuthListUser(contains or None), list[UserInfo], server)

    async def check_keys(self, *, server: str = "") -> None:
        """Return when `server`, by default the first master, knows who signs the requests of this client.

        What that user may do does not matter. Raises `AccessError` for keys that are not right. Who does not
        sign at all is known to servers that check nobody.
        """
        address = server or next(iter((await self._calls.masters()).values()))
        # A heartbeat of no group: no other request of clients is granted to whoever is known.
        await self._calls.call(address, HeartBeat(), HeartbeatData(self._calls.instance.client_id))


async def change(calls: AdminCalls, request: Request, body: bytes, server: str) -> None:
    """Send a change of users or policies to `server`, by default to all masters."""
    addresses = [server] if server else (await calls.masters()).values()
    await calls.call_all(addresses, request, body)


async def listed(calls: AdminCalls, request: Request, kind: type[list[T]], server: str) -> list[T]:
    """What `server` has, or the first master: a change goes to all."""
    address = server or next(iter((await calls.masters()).values()))
    answer = await calls.call(address, request)
    return body_of(answer, kind) if answer.body else []
