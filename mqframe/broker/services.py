"""The services of one broker: made through the hook for plugins, and what they declare, resolved once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mqframe.broker.service import BrokerPart, with_parts
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.state import BrokerState
from mqframe.core.errors import PluginError
from mqframe.hooks.interfaces import EVERY_TOPIC, BrokerService, OnArrival
from mqframe.hooks.isolate import isolated

KIND: Final = "broker_service"
BUILT_IN: Final[tuple[str, ...]] = ("transactions", "delay", "pop", "request_reply")
"""The broker's own services, unless they are blocked. In this order:

transactions come first, for they complete a commit that a crash cut off, and that has to be what the log ends
with; pop asks the timer how far it is."""


def make_services(state: BrokerState, settings: BrokerSettings) -> list[BrokerService]:
    """The broker's own services, then those that `settings` name, each followed by its parts.

    Raises `PluginError`, `SettingError`.
    """
    plugins = state.plugins
    known = plugins.names(KIND)
    names = [name for name in BUILT_IN if name in known]
    names += [name for name in settings.services if name not in names]
    for name in names:
        if (section := plugins.settings_class(name)) is not None:
            state.settings(section)
        service: BrokerService = plugins.create(KIND, name, None, state)
        state.services.append(service)
        for table in (table for part in with_parts([service]) for table in part.tables()):
            if table.name in state.keeper.names:
                raise PluginError(f"broker_service {name!r} saves {table.name}; another table is in it")
            state.keeper.keep(table.name, table.body, table.table, at_once=table.at_once)
    return with_parts(state.services)


def followers_of_arrivals(
    services: Iterable[BrokerService],
) -> tuple[dict[str, tuple[OnArrival, ...]], tuple[OnArrival, ...]]:
    """What is called with new messages: by topic, and for all other topics."""
    every: list[OnArrival] = []
    by_topic: dict[str, list[OnArrival]] = {}
    for service in services:
        for topic, follow in service.arrivals().items():
            if not isinstance(service, BrokerPart):
                follow = isolated(service, "arrivals", follow)
            (every if topic == EVERY_TOPIC else by_topic.setdefault(topic, [])).append(follow)
    return {topic: (*every, *some) for topic, some in by_topic.items()}, tuple(every)
