"""The sections `[lite_pull]` and `[puller]` of a configuration from which clients are made."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from mqframe.client.configuration.sections import Names, Options
from mqframe.client.settings import PULL_ANSWER_SECONDS
from mqframe.core.config.settings import setting, settings
from mqframe.core.messages.names import TOOLS_GROUP
from mqframe_pull.settings import LitePullSettings

_RPC_HOOKS: Final = "RPC hooks; by default those of the section client"


@settings("lite_pull")
class LitePullSection(LitePullSettings):
    """Which lite pull consumer, how it fetches ahead, and when it commits by itself."""

    group: str = setting("", doc="consumer group")
    allocate: str = setting(
        "averagely",
        doc="allocation strategy: how queues are shared among the members",
        plugin="allocation",
    )
    allocate_options: Options = setting(
        factory=dict, doc="options of this allocation strategy, before those of a table of plugins"
    )
    broadcasting: bool = setting(False, doc="every member gets every message")
    consume_from: str | int | datetime = setting(
        "last", doc='where new groups begin: "last", "first", or a date and time with its zone'
    )
    auto_commit: bool = setting(True, doc="polls commit what earlier ones handed out")
    offset_store: str = setting(
        "", doc='offset store; empty: "remote", and "local" when broadcasting', plugin="offset_store"
    )
    offset_store_options: Options = setting(factory=dict, doc="options of this offset store, likewise")
    consume_hooks: Names = setting(
        (), doc="consume hooks, in the order in which they are called", plugin="consume_hook"
    )
    rpc_hooks: Names | None = setting(None, doc=_RPC_HOOKS, plugin="rpc_hook")


@settings("puller")
class PullerSection:
    """How queues are read by plain pulls."""

    group: str = setting(TOOLS_GROUP, doc="group that brokers count the reads for")
    timeout: float = setting(PULL_ANSWER_SECONDS, doc="wait for an answer beyond what the broker may wait, s")
    rpc_hooks: Names | None = setting(None, doc=_RPC_HOOKS, plugin="rpc_hook")
