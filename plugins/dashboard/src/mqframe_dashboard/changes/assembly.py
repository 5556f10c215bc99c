"""All changes, and the desk that makes them, as the operator wants it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.changes import configuration, groups, letters, offsets, sending, topics, users
from mqframe_dashboard.changes.accounts import Accounts, ClusterAccounts, FileAccounts
from mqframe_dashboard.changes.attempts import Attempts
from mqframe_dashboard.changes.desk import Desk
from mqframe_dashboard.changes.errand import Change
from mqframe_dashboard.changes.sessions import Sessions

_ROOMS: Final = (letters, sending, topics, groups, offsets, configuration, users)
CHANGES: Final[tuple[Change, ...]] = tuple(each for room in _ROOMS for each in room.CHANGES)


def open_desk(sign_in: str, asking: Asking, access: Mapping[str, Any]) -> Desk | None:
    """The desk for users as `sign_in` says: "cluster", "file:PATH"; `None` for "", nobody.

    `access`: the arguments of the dashboard's clients. Raises `SettingError`, and `PluginError` without the
    plugin that signs.
    """
    if not sign_in:
        return None
    return Desk(asking, _accounts(sign_in, asking, access), Sessions(), Attempts())


def _accounts(sign_in: str, asking: Asking, access: Mapping[str, Any]) -> Accounts:
    if sign_in == "cluster":
        plugins = access.get("plugins") or PluginManager()
        plugins.check("rpc_hook", "acl", {"access_key": "somebody", "secret_key": "something"})
        return ClusterAccounts(asking, access)
    kind, _, path = sign_in.partition(":")
    if kind != "file" or not path:
        raise SettingError(f"--sign-in {sign_in}: must be cluster, or file: and a path")
    return FileAccounts(asking.admin, access, Path(path))
