"""The sections of a configuration from which clients are made.

A section holds the arguments of a client's constructor that can be written down, by their names, and the
fields of its settings class. An empty name stands for what the constructor chooses by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import attrs

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.config.programs import CLIENT
from mqframe.core.config.settings import setting, settings
from mqframe.hooks.sections import added_sections, load_section
from mqframe.net.settings import NetSettings

Names = tuple[str, ...]
Options = Mapping[str, Any]
_RPC_HOOKS: Final = "RPC hooks; by default those of the section client"


@settings("client")
class ClientSection(ClientSettings):
    """What every client needs: whom to ask, how it is called, how often it looks."""

    rpc_hooks: Names = setting((), doc="RPC hooks of clients that name none of their own", plugin="rpc_hook")


@settings("producer")
class ProducerSection(ProducerSettings):
    """Which producer, and how messages are sent."""

    group: str = setting("", doc="producer group")
    selector: str = setting("", doc='queue selector for sharding keys; empty: "hash"', plugin="selector")
    codec: str = setting("", doc='codec of bodies made of values; empty: "json"', plugin="codec")
    send_hooks: Names = setting((), doc="send hooks, in the order of their calls", plugin="send_hook")
    forbidden_hooks: Names = setting(
        (), doc="forbidden-check hooks, in the order of their calls", plugin="forbidden_hook"
    )
    rpc_hooks: Names | None = setting(None, doc=_RPC_HOOKS, plugin="rpc_hook")


@settings("consumer")
class ConsumerSection(ConsumerSettings):
    """Which push consumer, and how messages are pulled and handed to listeners."""

    group: str = setting("", doc="consumer group")
    allocate: str = setting(
        "averagely", doc="allocation strategy: how queues are shared among the members", plugin="allocation"
    )
    allocate_options: Options = setting(
        factory=dict, doc="options of this allocation strategy, before those of a table of plugins"
    )
    broadcasting: bool = setting(False, doc="every member gets every message")
    ordered: bool = setting(False, doc="messages of a queue are handed to listeners one after the other")
    mode: str = setting("pull", doc='how it gets at messages: "pull", or a mode: "pop", "keyed"')
    mode_options: Options = setting(factory=dict, doc="options of this mode")
    consume_from: str | int | datetime = setting(
        "last", doc='where new groups begin: "last", "first", or a date and time with its zone'
    )
    offset_store: str = setting(
        "", doc='offset store; empty: "remote", and "local" when broadcasting', plugin="offset_store"
    )
    offset_store_options: Options = setting(factory=dict, doc="options of this offset store, likewise")
    codec: str = setting(
        "", doc="codec of bodies for typed handlers; empty: by each message's content type", plugin="codec"
    )
    consume_hooks: Names = setting(
        (), doc="consume hooks, in the order in which they are called", plugin="consume_hook"
    )
    rpc_hooks: Names | None = setting(None, doc=_RPC_HOOKS, plugin="rpc_hook")


@settings("admin")
class AdminSection:
    """How administration clients call."""

    rpc_hooks: Names | None = setting(None, doc=_RPC_HOOKS, plugin="rpc_hook")


@attrs.frozen
class ClientKind:
    """One kind of client, by the class of its section."""

    section: type[Any]

    @property
    def settings(self) -> type[Any] | None:
        """The class of the `settings` of its constructor, if any: what the section's class extends."""
        return next((base for base in self.section.__bases__ if attrs.has(base)), None)

    @property
    def arguments(self) -> frozenset[str]:
        """The fields that are arguments of the constructor."""
        settings = self.settings
        taken = {field.name for field in attrs.fields(settings)} if settings else set()
        return frozenset(field.name for field in attrs.fields(self.section) if field.name not in taken)


KINDS: Final[Mapping[str, ClientKind]] = {
    "producer": ClientKind(ProducerSection),
    "consumer": ClientKind(ConsumerSection),
    "admin": ClientKind(AdminSection),
}
"""The sections of the kernel that belong to one kind of client each, and may have profiles."""
SHARED: Final[tuple[type[Any], ...]] = (ClientSection, NetSettings)
"""The sections that belong to all of them."""


def client_kinds() -> dict[str, ClientKind]:
    """All kinds of clients, by their sections: also those that installed distributions add."""
    return {**KINDS, **{section: ClientKind(load_section(section)) for section in added_sections(CLIENT)}}
