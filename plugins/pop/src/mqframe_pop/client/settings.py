"""The section `[simple]` of a configuration from which clients are made."""

from __future__ import annotations

from mqframe.client.configuration.sections import Names
from mqframe.core.config.settings import setting, settings


@settings("simple")
class SimpleSection:
    """Which simple consumer, and how it waits."""

    group: str = setting("", doc="consumer group")
    await_duration: float = setting(20.0, doc="longest wait of `receive` for the first message, s")
    consume_from: str = setting("last", doc='where new groups begin: "last" or "first"')
    ordered: bool = setting(False, doc="messages of a queue come in its order")
    rpc_hooks: Names | None = setting(
        None, doc="RPC hooks; by default those of the section client", plugin="rpc_hook"
    )
