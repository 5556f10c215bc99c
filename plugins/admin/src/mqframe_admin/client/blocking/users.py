"""UserAdmin: `AsyncUserAdmin` for plain threads.

Generated from mqframe_admin.client.users, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

import builtins

from mqframe_admin.access.bodies import UserInfo
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.users import AsyncUserAdmin


class UserAdmin(SyncSubject[AsyncUserAdmin]):
    """Users (ACL 2.0). They belong to each server alone, so a change goes to all masters.

    `server`: "host:port" of one server instead, a broker's or a name server's; name servers that check who
    asks and share no process with a broker have users of their own.
    """

    def create(self, name: str, secret: str, *, everything: bool = False, server: str = "") -> None:
        """Make a user; `everything`: who may do everything, whatever policies say."""
        self._call(self._client.create, name, secret, everything=everything, server=server)

    def update(
        self,
        name: str,
        *,
        secret: str | None = None,
        everything: bool | None = None,
        enabled: bool | None = None,
        server: str = "",
    ) -> None:
        """Change what is given of a user. Who is not enabled is refused like one that is not known."""
        self._call(
            self._client.update, name, secret=secret, everything=everything, enabled=enabled, server=server
        )

    def delete(self, name: str, *, server: str = "") -> None:
        """Delete a user with all policies."""
        self._call(self._client.delete, name, server=server)

    def list(self, contains: str = "", *, server: str = "") -> builtins.list[UserInfo]:
        """The users whose names contain `contains`, sorted; secrets only for one who may do everything."""
        return self._call(self._client.list, contains, server=server)

    def check_keys(self, *, server: str = "") -> None:
        """Return when `server`, by default the first master, knows who signs the requests of this client.

        What that user may do does not matter. Raises `AccessError` for keys that are not right. Who does not
        sign at all is known to servers that check nobody.
        """
        self._call(self._client.check_keys, server=server)
