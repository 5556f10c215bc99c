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
        Kind("authentication", "register_authentications", "Authentication"),
        Kind("authorization", "register_authorizations", "Authorization"),
        Kind("coordination", "register_coordinations", "Coordination"),
        Kind("topic_summary", "register_topic_summaries", "TopicSummary"),
        Kind("command", "register_commands", ""),
    )
}

KNOWN_DISTRIBUTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("allocation", "averagely"): "mqframe-plugin-averagely",
    ("allocation", "averagely_by_circle"): "mqframe-plugin-averagelybycircle",
    ("allocation", "by_config"): "mqframe-plugin-byconfig",
    ("allocation", "machine_room"): "mqframe-plugin-machineroom",
    ("allocation", "machine_room_nearby"): "mqframe-plugin-machineroomnearby",
    ("allocation", "consistent_hash"): "mqframe-plugin-consistenthash",
    ("allocation", "bounded_load"): "mqframe-plugin-boundedload",
    ("allocation", "lag_aware"): "mqframe-plugin-lagaware",
    ("selector", "hash"): "mqframe-plugin-selectors",
    ("selector", "random"): "mqframe-plugin-selectors",
    ("selector", "machine_room"): "mqframe-plugin-selectors",
    ("selector", "monotonic"): "mqframe-plugin-selectors",
    ("offset_store", "local"): "mqframe-plugin-offsetstore",
    ("offset_store", "remote"): "mqframe-plugin-offsetstore",
    ("offset_store", "sqlite"): "mqframe-plugin-offsetstore",
    ("codec", "pydantic"): "mqframe-plugin-pydantic",
    ("codec", "avro"): "mqframe-plugin-avro",
    ("codec", "protobuf"): "mqframe-plugin-protobuf",
    ("dispatcher", "parquet"): "mqframe-plugin-spark",
    ("message_filter", "SQL92"): "mqframe-plugin-sql92",
    ("send_hook", "trace"): "mqframe-plugin-trace",
    ("consume_hook", "trace"): "mqframe-plugin-trace",
    ("send_hook", "opentelemetry"): "mqframe-plugin-opentelemetry",
    ("consume_hook", "opentelemetry"): "mqframe-plugin-opentelemetry",
    ("rpc_hook", "acl"): "mqframe-plugin-acl",
    ("authentication", "acl2"): "mqframe-plugin-acl",
    ("authentication", "plain_acl"): "mqframe-plugin-acl",
    ("authorization", "acl2"): "mqframe-plugin-acl",
    ("authorization", "plain_acl"): "mqframe-plugin-acl",
    ("broker_service", "deduplication"): "mqframe-plugin-deduplication",
    ("broker_service", "schedules"): "mqframe-plugin-schedules",
    ("coordination", "etcd"): "mqframe-plugin-etcd",
    ("command", "dashboard"): "mqframe-plugin-dashboard",
    ("command", "dashboard-user"): "mqframe-plugin-dashboard",
    ("command", "idempotence"): "mqframe-plugin-idempotence",
    ("command", "schedule"): "mqframe-plugin-schedules",
    ("command", "spark"): "mqframe-plugin-spark",
    ("topic_summary", "spark"): "mqframe-plugin-spark",
}
"""Which of this project's distributions brings what, for the install line in the error message."""


STANDARD: Final = frozenset(
    {
        "mqframe-plugin-averagely",
        "mqframe-plugin-selectors",
        "mqframe-plugin-offsetstore",
        "mqframe-plugin-sql92",
    }
)
"""Distributions that the extra `standard` brings."""


def kind_of(name: str) -> Kind:
    """The kind called `name`. Raises `PluginError` that lists all kinds."""
    try:
        return KINDS[name]
    except KeyError:
        raise PluginError(f"there is no plugin kind {name!r}; kinds: {', '.join(sorted(KINDS))}") from None
