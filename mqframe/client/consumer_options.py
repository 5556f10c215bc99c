"""The options of both faces of the push consumer, as types; `AsyncPushConsumer` says what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from mqframe.client.consumer_settings import ConsumerSettings
from mqframe.client.settings import ClientSettings
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock
from mqframe.net.settings import NetSettings


class ConsumerOptions(TypedDict, total=False):
    """Keyword arguments of `PushConsumer`."""

    nameserver: str
    allocate: object
    allocate_options: object
    broadcasting: bool
    ordered: bool
    consume_from: str | int | datetime
    offset_store: object
    offset_store_options: object
    consume_hooks: Sequence[object]
    rpc_hooks: Sequence[object]
    settings: ConsumerSettings | None
    client: ClientSettings | None
    net: NetSettings | None
    clock: LoopClock | None
    plugins: PluginManager | None
