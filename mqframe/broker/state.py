"""The tables and services that the parts of one broker share. Each part is handed those that it uses."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.config_keeper import ConfigKeeper
from mqframe.broker.filters import Filters
from mqframe.broker.identity import Identity
from mqframe.broker.inlet import Inlet
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.long_polling import LongPolling
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.statistics import Statistics
from mqframe.core.bodies import (
    ConsumerOffsetTable,
    SubscriptionGroupTable,
    TopicConfigTable,
)
from mqframe.core.client_registry import ClientRegistry
from mqframe.core.delay_levels import parse_levels
from mqframe.core.delay_rules import DelayRules, TimerLimits
from mqframe.core.delay_schedule import DelayOffsets
from mqframe.core.delay_tables import DelayOffsetTable, TimerMetricTable
from mqframe.core.filter_bodies import FilterDataTable
from mqframe.core.filter_table import FilterTable
from mqframe.core.group_table import GroupTable
from mqframe.core.offset_table import OffsetTable
from mqframe.core.pop_assignment import RequestModes
from mqframe.core.pop_bodies import OrderInfoTable, RequestModeTable
from mqframe.core.pop_order import OrderTable
from mqframe.core.queue_locks import QueueLocks
from mqframe.core.timer_metrics import TimerMetrics
from mqframe.core.topic_table import TopicTable, system_topics
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock
from mqframe.net.peer import Peer
from mqframe.store.inline_dispatch import OnArrival
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings


class BrokerState:
    """Opens the store and makes empty tables; `keeper.load` fills them.

    `arrived`: told of new messages in queues; `stored`: told when a message was stored outside of a request.
    `plugins`: where message filters come from; by default what is installed.
    Raises `StoreError`, and `SettingError` for an advertised host that has no address.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        store_settings: StoreSettings,
        clock: LoopClock,
        arrived: OnArrival,
        stored: Callable[[], None],
        plugins: PluginManager | None = None,
    ) -> None:
        self.clock = clock
        self.identity = Identity(settings)
        self.live = LiveSettings(settings)
        self.statistics = Statistics(clock, settings.cluster)
        self.topics = TopicTable(
            clock,
            system_topics(
                settings.cluster,
                settings.name,
                default_queues=settings.default_topic_queues,
                auto_create=settings.auto_create_topics,
                trace=settings.trace_topic,
            ),
        )
        self.groups = GroupTable(clock)
        self.offsets = OffsetTable(clock)
        self.clients: ClientRegistry[Peer] = ClientRegistry(clock)
        self.locks = QueueLocks(clock)
        self.keeper = ConfigKeeper(store_settings.directory / "config")
        self.keeper.keep("topics.json", TopicConfigTable, self.topics, at_once=True)
        self.keeper.keep("subscriptionGroup.json", SubscriptionGroupTable, self.groups, at_once=True)
        self.keeper.keep("consumerOffset.json", ConsumerOffsetTable, self.offsets)
        self.filters = Filters(FilterTable(clock), self.live, plugins)
        self.keeper.keep("consumerFilter.json", FilterDataTable, self.filters.table)
        self.delay_offsets = DelayOffsets(clock)
        self.keeper.keep("delayOffset.json", DelayOffsetTable, self.delay_offsets)
        self.timer_metrics = TimerMetrics(clock)
        self.keeper.keep("timermetrics", TimerMetricTable, self.timer_metrics)
        self.orders = OrderTable(clock)
        self.keeper.keep("consumerOrderInfo.json", OrderInfoTable, self.orders)
        self.modes = RequestModes()
        self.keeper.keep("messageRequestMode.json", RequestModeTable, self.modes, at_once=True)
        self.store = MessageStore.open(store_settings, clock, on_arrival=arrived, broker_name=settings.name)
        self.polling = LongPolling(clock, self.store.queue_max)
        self.on_reset: list[Callable[[str, str, int], None]] = [self.polling.wake_group]
        """Told (group, topic, queue id) when an operator set an offset; whoever waits there is woken."""
        self.levels = parse_levels(store_settings.delay_levels)
        self.delays = DelayRules(
            self.levels,
            clock.now_ms,
            TimerLimits(
                store_settings.timer_precision_ms,
                store_settings.timer_delay_seconds_max * 1000,
                store_settings.timer_enabled,
            ),
        )
        self.inlet = Inlet(self.store, self.delays, self.identity, stored)
