"""What transactional producers hand on to the producer that they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings


class ProducerOptions(TypedDict, total=False):
    """The options of `Producer`, which says what they mean."""

    nameserver: str
    selector: object
    codec: object
    send_hooks: Sequence[object]
    forbidden_hooks: Sequence[object]
    rpc_hooks: Sequence[object]
    settings: ProducerSettings | None
    client: ClientSettings | None
    net: NetSettings | None
    plugins: PluginManager | None
