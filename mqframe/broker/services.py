"""The services of one broker: made through the hook for plugins, and what they declare, resolved once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mqframe.broker.chosen_services import KIND, service_names
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.state import BrokerState
from mqframe.core.errors import PluginError
from mqframe.hooks.interfaces import EVERY_TOPIC, BrokerService, OnArrival
from mqframe.hooks.interfaces.broker_service import Notices, with_parts
from mqframe.hooks.isolate_services import isolated


def make_services(
    state: BrokerState, settings: BrokerSettings, *, at_slave: bool = False
) -> list[BrokerService]:
    """The services of a broker with these settings, in the order of `service_names`, each before its parts.

    `at_slave`: those only that slaves run. The others are imported all the same, for a slave has to know
    their requests to refuse them. Raises `PluginError`, `SettingError`.
    """
    made: list[BrokerService] = []
    for name in service_names(settings, state.plugins):
        section = state.plugins.settings_class(name)
        if at_slave and not state.plugins.runs_at_slaves(name):
            continue
        if section is not None:
            state.settings(section)
        parts = with_parts([state.plugins.create(KIND, name, None, state)])
        for table in (table for part in parts for table in part.tables()):
            if table.name in state.keeper.names:
                raise PluginError(f"broker_service {name!r} saves {table.name}; another table is in it")
            state.keeper.keep(table.name, table.body, table.table, at_once=table.at_once)
        for place in (each.place_in_time() for each in parts):
            if place is not None and state.delays.place_in_time is not None:
                raise PluginError(f"broker_service {name!r} keeps messages for a time; another one does, too")
            state.delays.place_in_time = place or state.delays.place_in_time
        for offer, function in (each for part in parts for each in part.offers().items()):
            if state.offered(offer) is not None:
                raise PluginError(f"broker_service {name!r} offers {offer!r}; another service does so, too")
            state.offers[offer] = function
        made += parts
    return made


def followers_of_arrivals(
    services: Iterable[BrokerService],
) -> tuple[dict[str, tuple[OnArrival, ...]], tuple[OnArrival, ...]]:
    """What is called with new messages: by topic, and for all other topics."""
    every: list[OnArrival] = []
    by_topic: dict[str, list[OnArrival]] = {}
    for service in services:
        for topic, follow in service.arrivals().items():
            (every if topic == EVERY_TOPIC else by_topic.setdefault(topic, [])).append(follow)
    return {topic: (*every, *some) for topic, some in by_topic.items()}, tuple(every)


def notified(services: Iterable[BrokerService], notice: str) -> tuple[Callable[..., None], ...]:
    """What is called upon `notice`, a method of `Notices`: those of `services` that heed it, in order."""
    ignored = getattr(Notices, notice)
    heeding: list[tuple[BrokerService, Any]] = [(each, getattr(each, notice)) for each in services]
    return tuple(isolated(each, notice, call) for each, call in heeding if call.__func__ is not ignored)
