"""All hook specifications. A plugin implements those of its kind; each returns factories by name.

A factory is a callable that makes a strategy from its options: a class, or a function. It declares its
options as an attrs class in its attribute `Options`; `factory(options)` is called with an instance, and
`factory()` when there is no such attribute. One that has a parameter `plugins` is handed, by that name, the
manager that makes it (`mqframe.hooks.interfaces.Plugins`). Instead of a factory stands "module:attribute"
where the import is to wait until the name is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pluggy

PROJECT = "mqframe"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Factory = Callable[..., Any] | str
Factories = Mapping[str, Factory]


@hookspec
def register_allocation_strategies() -> Factories:  # type: ignore[empty-body]
    """Factories of `AllocationStrategy` by name. Called when a consumer names one."""


@hookspec
def register_queue_selectors() -> Factories:  # type: ignore[empty-body]
    """Factories of `QueueSelector` by name. Called when a producer names one."""


@hookspec
def register_offset_stores() -> Factories:  # type: ignore[empty-body]
    """Factories of `OffsetStore` by name, called as `factory(context[, options])`."""


@hookspec
def register_codecs() -> Factories:  # type: ignore[empty-body]
    """Factories of `Codec` by name. Called when a client names one, or a message by its content type."""


@hookspec
def register_dispatchers() -> Factories:  # type: ignore[empty-body]
    """Factories of `Dispatcher` by name. Called when a broker's configuration names one."""


@hookspec
def register_send_hooks() -> Factories:  # type: ignore[empty-body]
    """Factories of `SendHook` by name. Called when a producer's configuration names one."""


@hookspec
def register_consume_hooks() -> Factories:  # type: ignore[empty-body]
    """Factories of `ConsumeHook` by name. Called when a consumer's configuration names one."""


@hookspec
def register_forbidden_hooks() -> Factories:  # type: ignore[empty-body]
    """Factories of `ForbiddenHook` by name. Called when a producer's configuration names one."""


@hookspec
def register_rpc_hooks() -> Factories:  # type: ignore[empty-body]
    """Factories of `RpcHook` by name. Called when a client's or server's configuration names one."""


@hookspec
def register_message_filters() -> Factories:  # type: ignore[empty-body]
    """Factories of `MessageFilter` by type of expression. Called when a subscription of that type comes."""


@hookspec
def register_broker_services() -> Factories:  # type: ignore[empty-body]
    """Factories of `BrokerService` by name, called as `factory(port[, options])` when a broker is made."""


@hookspec
def register_broker_roles() -> Factories:  # type: ignore[empty-body]
    """Factories of `BrokerRole` by name. Called when a broker is made, and when its settings are read."""


@hookspec
def register_authentications() -> Factories:  # type: ignore[empty-body]
    """Factories of `Authentication` by name. Called when a server's configuration names one."""


@hookspec
def register_authorizations() -> Factories:  # type: ignore[empty-body]
    """Factories of `Authorization` by name. Called when a server's configuration names one."""


@hookspec
def register_coordinations() -> Factories:  # type: ignore[empty-body]
    """Factories of `Coordination` by name, called as `factory(clock[, options])` when a broker starts."""


@hookspec
def register_commands() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Typer applications by command name. Called when the command line runs or lists one."""


@hookspec
def register_topic_summaries() -> Factories:  # type: ignore[empty-body]
    """Factories of `TopicSummary` by name. Called when `mqframe quickstart` runs."""
