"""The tables and services that the parts of one broker share. Each part is handed those that it uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

from mqframe.broker.administration import Administration
from mqframe.broker.chosen_services import service_names
from mqframe.broker.consuming.admission import BrokerReadAdmission
from mqframe.broker.consuming.filters import Filters
from mqframe.broker.due_task import TimedTask
from mqframe.broker.log_reader import LogReader
from mqframe.broker.sections import BrokerSections
from mqframe.broker.sending.internal_writer import InternalWriter
from mqframe.broker.sending.needed_services import DELAY, DELAY_LEVELS, without
from mqframe.broker.sending.redelivery import Redelivery
from mqframe.broker.sending.targets import SendTargets
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.shared_log import SharedLog
from mqframe.broker.store_opening import StoreOpening
from mqframe.broker.tables.budgets import Budgets
from mqframe.broker.tables.config_keeper import ConfigKeeper
from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.in_force import InForce
from mqframe.broker.tables.left_out import LeftOut
from mqframe.broker.tables.live_settings import LiveSection, LiveSettings
from mqframe.broker.tables.shared import Conditions, Registry, Shared
from mqframe.broker.tables.statistics import Statistics
from mqframe.core.cluster.client_registry import ClientRegistry
from mqframe.core.cluster.group_table import GroupTable
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.cluster.topic_table import TopicTable, system_topics
from mqframe.core.config.live import CHANGED_SETTINGS, ChangedSettings
from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.consuming.group_config import SubscriptionGroupTable
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.consuming.queue_locks import QueueLocks
from mqframe.core.delay.rules import DelayRules
from mqframe.core.filtering.bodies import FilterDataTable
from mqframe.core.requests.fields import Request
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.storage.left_out import LeftOutTable
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import BodyCheck
from mqframe.hooks.interfaces.send_rule import SendFields
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock
from mqframe.net.frame_path import FramePath
from mqframe.net.in_process.requests import InProcessRequests

S = TypeVar("S")
_OWN_LOG: Final = SharedLog()


class BrokerState:
    """Opens the store and makes empty tables; `keeper.load` fills them. A `BrokerPort` for services.

    `opening`: how the store is; `plugins`: where message filters and services come from;
    `shared_log`: what they heed where others have the log, too.
    Raises `StoreError`, and `SettingError` for an advertised host that has no address.
    """

    sender: Callable[[SendFields, Call, BodyCheck], Reply | None]
    """Serves sends whose body is stored whole; there once the broker's parts are made."""
    asker: Callable[[Request], Awaitable[Frame | None]]
    """Asks name servers; there before services are made."""

    def __init__(
        self, sections: BrokerSections, clock: LoopClock, opening: StoreOpening, plugins: PluginManager,
        shared_log: SharedLog = _OWN_LOG,
    ) -> None:  # fmt: skip
        settings, store_settings = sections.broker, sections.store
        self.clock, self.plugins, self.net = clock, plugins, sections.net
        self.identity = Identity(settings, sections.broker_id, sections.role)
        self.live = LiveSettings(
            settings, store_settings, sections.origins, sections.replication, sections.services
        )
        self.levels = sections.delays
        self.counts = Statistics(clock, settings.cluster)
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
        self.offsets: OffsetTable = shared_log.offsets(clock)
        # Clients and locks are in memory only: heartbeats and lock requests bring them back within seconds.
        self.clients: ClientRegistry[Peer] = ClientRegistry(clock)
        self.locks = QueueLocks(clock, settings.queue_lock_seconds)
        self.keeper = ConfigKeeper(store_settings.directory / "config", self.clock)
        self.save_tables = self.keeper.save_tables
        self.left_out = LeftOut(clock, self.identity)
        # Before the tables that say how far tasks have come, so that none says so before this one is saved.
        self.keeper.keep("leftOut.json", LeftOutTable, self.left_out.messages, vital=False)
        self._kept_topics = self.keeper.keep("topics.json", TopicConfigTable, self.topics, at_once=True)
        self.keeper.keep("subscriptionGroup.json", SubscriptionGroupTable, self.groups, at_once=True)
        self.keeper.keep("consumerOffset.json", ConsumerOffsetTable, self.offsets)
        self.keeper.keep(CHANGED_SETTINGS, ChangedSettings, self.live, at_once=True)
        self.registry = Registry(self.topics, self.groups, self.offsets, self.clients)
        self.conditions = Conditions(self.identity, self.live, clock, self.counts)
        self.in_force = InForce(self.live)
        self.sends = SendTargets(self.topics, self.live, self.counts, self._is_settled)
        self.filters = Filters(self.live, plugins, clock, self.offered)
        self.reads = BrokerReadAdmission(self.topics, self.groups, self.live, self.filters)
        self.keeper.keep("consumerFilter.json", FilterDataTable, self.filters.table)
        self.budgets = Budgets(self.live, self.registry, self.filters.table, self.locks)
        # Behind whatever refuses bad settings, for the directory is locked from here on.
        self.store = opening.store(sections, clock, shared_log, plugins)
        self.store.dispatch.watch(partial(self.left_out.note, "dispatch"))
        self.shared = Shared(self.store, self.registry, self.conditions)
        self.administration = Administration(self.shared)
        self.delays = self._delay_rules(settings)
        self.writer = InternalWriter(self.store, self.delays, self.identity)
        self.redelivery = Redelivery(self.writer, self.left_out)
        self.reader = LogReader(self.store, settings.name)
        self.requests = InProcessRequests()
        self.directory = store_settings.directory
        self.frame_path: FramePath | None = None
        self.offers: dict[str, Callable[..., Any]] = {}
        """What the services that are made by now offer."""

    def _delay_rules(self, settings: BrokerSettings) -> DelayRules:
        delivers = DELAY_LEVELS in service_names(settings, self.plugins)
        told = (without(each, settings.services_blocked).remark for each in (DELAY_LEVELS, DELAY))
        return DelayRules(self.levels if delivers else (), self.clock.now_ms, *told)

    def settings(self, kind: type[S]) -> LiveSection[S]:
        """The section of settings of a service; what is changed while the broker runs is in force in it."""
        return self.live.section(kind)

    def _is_settled(self, topic: TopicConfig) -> bool:
        """Whether `topic` is on disk, or cannot be saved; otherwise this turn's answers wait for it."""
        saved = self._kept_topics.on_disk
        if saved is not None and saved.topic_config_table.get(topic.topic_name) is topic:
            return True
        return not self.keeper.wait_for(self._kept_topics)

    def offered(self, name: str) -> Callable[..., Any] | None:
        """What a service offers under `name`, from when it is made; `None` where none does."""
        return self.offers.get(name)

    def send_whole(self, fields: SendFields, call: Call, check: BodyCheck) -> Reply | None:
        """Serve a send whose body is stored as one message, once `check` has found nothing wrong with it."""
        return self.sender(fields, call, check)

    async def ask_nameservers(self, request: Request) -> Frame | None:
        """What the first name server that answers says; `None` when none does, or there is none."""
        return await self.asker(request)

    def due_task(self, work: Callable[[], Awaitable[int | None]], name: str) -> TimedTask:
        """A task that runs `work` when it is rung."""
        return TimedTask(self.clock, work, name)
