"""How commands that are clients reach servers: what the environment says of connections and keys."""

from __future__ import annotations

import os
from typing import Any, Final

CONNECTIONS: Final = "MQFRAME_NET_"
KEYS: Final = "MQFRAME_PLUGINS_ACL__"


def access() -> dict[str, Any]:
    """Keyword arguments for any client: `net` and `rpc_hooks`, from MQFRAME_NET_… and MQFRAME_PLUGINS_ACL__….

    Keys are taken from there alone, because what is written on a command line can be read by all users of
    the machine. Raises `SettingError`.
    """
    if not any(name.startswith((CONNECTIONS, KEYS)) for name in os.environ):
        return {}
    from mqframe.cli.configuration import load
    from mqframe.net.settings import NetSettings

    resolved = load("client", {}, None, ())
    arguments: dict[str, Any] = {"net": resolved.section(NetSettings)}
    keys = resolved.plugin_options("acl")
    if keys:
        arguments["rpc_hooks"] = [("acl", keys)]
    return arguments
