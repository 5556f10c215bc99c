"""Users who may sign in: those of the cluster, known by their keys, or those of a file."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from mqframe import AsyncAdmin, AsyncProducer
from mqframe.core.errors import AccessError, SettingError
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.changes.sessions import Account
from mqframe_dashboard.changes.user_file import UserFile

TEST_GROUP: Final = "mqframe-dashboard"
"""The producer group of test messages."""
HOOKS: Final = ("schemas",)
"""Send hooks of test messages, where they are installed."""
log = get_logger("dashboard")


class Accounts(Protocol):
    """Says whether somebody may sign in."""

    async def account(self, user: str, secret: str) -> Account | None:
        """What `user` works with; `None` for a wrong name or secret."""


class ClusterAccounts:
    """Users of the cluster: whoever has their keys. Changes are signed with these, so the brokers decide.

    `asking`: with the dashboard's own keys; `access`: the arguments of its clients.
    """

    def __init__(self, asking: Asking, access: Mapping[str, Any]) -> None:
        self._asking = asking
        self._access = dict(access)

    async def account(self, user: str, secret: str) -> Account | None:
        """As `Accounts`. Raises `Rejection` where the cluster does not look at the secret."""
        masters = await self._asking.ask(self._asking.admin.cluster.masters)
        server = next(iter(masters.values()))
        admin = self._admin(user, secret)
        known = False
        try:
            known = await self._known(admin, server) and await self._is_checked(user, server)
        finally:
            if not known:
                await admin.stop()
        signed = signed_by(self._access, user, secret)
        return Account(user, admin, admin.stop, lambda: message_producer(signed)) if known else None

    async def _is_checked(self, user: str, server: str) -> bool:
        """True. Raises `Rejection` where another secret would do as well: then nobody proved anything."""
        async with self._admin(user, secrets.token_urlsafe(16)) as other:
            if not await self._known(other, server):
                return True
        raise Rejection(
            403,
            "Nobody can sign in here",
            "the brokers of this cluster do not check who asks, so keys prove nothing; "
            "name the users in a file: --sign-in file:PATH",
        )

    async def _known(self, admin: AsyncAdmin, server: str) -> bool:
        try:
            await self._asking.ask(admin.users.check_keys, server=server)
        except AccessError:
            return False
        return True

    def _admin(self, user: str, secret: str) -> AsyncAdmin:
        return AsyncAdmin(**signed_by(self._access, user, secret))


class FileAccounts:
    """Users of a file, for clusters that check nobody. Changes are made with the dashboard's own keys."""

    def __init__(self, admin: AsyncAdmin, access: Mapping[str, Any], path: Path) -> None:
        """`access`: the arguments of `admin`. Raises `SettingError` for a file that cannot be read."""
        self._admin = admin
        self._access = access
        self._file = UserFile(path)
        self._file.read()

    async def account(self, user: str, secret: str) -> Account | None:
        """As `Accounts`. Raises `Rejection` for a file that was spoilt since; the log says how."""
        try:
            known = await self._file.fits(user, secret)
        except SettingError as problem:
            log.error("users cannot be read", problem=str(problem))
            said = "the users cannot be read; the log of the dashboard says why"
            raise Rejection(500, "Nobody can sign in here", said) from None
        return Account(user, self._admin, _nothing, lambda: message_producer(self._access)) if known else None


def message_producer(access: Mapping[str, Any]) -> AsyncProducer:
    """A producer with these arguments, for one message; it heeds schemas where that is installed."""
    plugins: PluginManager = access.get("plugins") or PluginManager()
    hooks = [each for each in HOOKS if each in plugins.names("send_hook")]
    return AsyncProducer(TEST_GROUP, send_hooks=hooks, **access)


def signed_by(access: Mapping[str, Any], user: str, secret: str) -> dict[str, Any]:
    """The arguments of clients in `access`, with the keys of somebody else and no trace of the own ones."""
    hooks = [each for each in access.get("rpc_hooks", ()) if not _signs(each)]
    keys = {"access_key": user, "secret_key": secret, "security_token": None}
    return {**access, "rpc_hooks": [*hooks, ("acl", keys)]}


def _signs(hook: object) -> bool:
    chosen = hook[0] if isinstance(hook, tuple) else hook
    name = str(getattr(chosen, "name", chosen))
    return name in ("acl", "mqframe-plugin-acl") or name.startswith("mqframe_acl")


async def _nothing() -> None:
    """The dashboard's own client goes on."""
