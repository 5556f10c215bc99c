"""The kinds of plugins: the hook that registers each, and the interface that its objects implement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from mqframe.core.errors import PluginError
from mqframe.hooks import interfaces


@attrs.frozen
class Kind:
    """One kind of plugin. `hook`: its function in `hooks.specs`; `implements`: the name of its interface in
    `hooks.interfaces`, or "" where any object will do.
    """

    name: str
    hook: str
    implements: str

    @property
    def interface(self) -> type | None:
        """What its objects implement, imported now; `None` where any will do."""
        found: type | None = getattr(interfaces, self.implements) if self.implements else None
        return found


KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("allocation", "register_allocation_strategies", "AllocationStrategy"),
        Kind("selector", "register_queue_selectors", "QueueSelector"),
        Kind("offset_store", "register_offset_stores", "OffsetStore"),
        Kind("codec", "register_codecs", "Codec"),
        Kind("dispatcher", "register_dispatchers", "Dispatcher"),
        Kind("send_hook", "register_send_hooks", "SendHook"),
        Kind("consume_hook", "register_consume_hooks", "ConsumeHook"),
        Kind("forbidden_hook", "register_forbidden_hooks", "ForbiddenHook"),
        Kind("rpc_hook", "register_rpc_hooks", "RpcHook"),
        Kind("message_filter", "register_message_filters", "MessageFilter"),
        Kind("broker_service", "register_broker_services", "BrokerService"),
        Kind("broker_role", "register_broker_roles", "BrokerRole"),
        Kind("authentication", "register_authentications", "Authentication"),
        Kind("authorization", "register_authorizations", "Authorization"),
        Kind("coordination", "register_coordinations", "Coordination"),
        Kind("topic_summary", "register_topic_summaries", "TopicSummary"),
        Kind("command", "register_commands", ""),
    )
}


def kind_of(name: str) -> Kind:
    """The kind called `name`. Raises `PluginError` that lists all kinds."""
    try:
        return KINDS[name]
    except KeyError:
        raise PluginError(f"there is no plugin kind {name!r}; kinds: {', '.join(sorted(KINDS))}") from None
