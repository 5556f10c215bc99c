"""The options of both faces of the lite pull consumer, as types; `AsyncLitePullConsumer` explains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypedDict

from mqframe.client.lite_pull_settings import LitePullSettings
from mqframe.client.settings import ClientSettings
from mqframe.core.message import MessageQueue
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock
from mqframe.net.settings import NetSettings

AssignmentListener = Callable[[str, Sequence[MessageQueue], Sequence[MessageQueue]], Any]
"""Called with a topic, all its queues, and those that are this member's; a function or an `async def`."""
QueuesListener = Callable[[str, Sequence[MessageQueue]], Any]
"""Called with a topic and all its queues; a function or an `async def`."""


class LitePullOptions(TypedDict, total=False):
    """Keyword arguments of `LitePullConsumer`."""

    nameserver: str
    allocate: object
    allocate_options: object
    broadcasting: bool
    consume_from: str | int | datetime
    auto_commit: bool
    offset_store: object
    offset_store_options: object
    consume_hooks: Sequence[object]
    rpc_hooks: Sequence[object]
    settings: LitePullSettings | None
    client: ClientSettings | None
    net: NetSettings | None
    clock: LoopClock | None
    plugins: PluginManager | None
