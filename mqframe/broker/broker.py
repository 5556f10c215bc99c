"""One broker, put together."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Mapping

from mqframe.broker.clients import ClientProcessor
from mqframe.broker.config_keeper import ConfigKeeper
from mqframe.broker.groups import GroupProcessor
from mqframe.broker.identity import Identity
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.locks import LockProcessor
from mqframe.broker.long_polling import LongPolling
from mqframe.broker.lookup import LookupProcessor
from mqframe.broker.offsets import OffsetProcessor
from mqframe.broker.pull import PullProcessor
from mqframe.broker.registration import Registration
from mqframe.broker.runtime import RuntimeProcessor
from mqframe.broker.send import SendProcessor
from mqframe.broker.send_rules import DivertDeadLetters, refuse_delays, refuse_transactions
from mqframe.broker.send_targets import SendTargets
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.statistics import Statistics
from mqframe.broker.stats import StatsProcessor
from mqframe.broker.topics import TopicProcessor
from mqframe.core.client_registry import ClientRegistry
from mqframe.core.group_table import GroupTable
from mqframe.core.ids import UniqueIds
from mqframe.core.meter import SAMPLE_SECONDS
from mqframe.core.offset_table import OffsetTable
from mqframe.core.queue_locks import QueueLocks
from mqframe.core.topic_table import TopicTable, system_topics
from mqframe.hooks.manager import PluginManager, default_manager
from mqframe.log import get_logger
from mqframe.net.call import Handler
from mqframe.net.client import Client
from mqframe.net.clock import Every, LoopClock
from mqframe.net.peer import Peer
from mqframe.net.server import Server
from mqframe.net.settings import NetSettings
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

log = get_logger("broker")

POLLING_SWEEP_SECONDS = 5.0
CLIENT_SCAN_SECONDS = 10.0


class Broker:
    """Serves producers and consumers; all its state belongs to the loop that it is started in.

    Making one opens and recovers the store; `start` makes it reachable. `plugins`: where the dispatchers and
    RPC hooks that the settings name come from; `plugin_options`: their options, by name of the plugin. Raises
    `StoreError`, `PluginError`, and `SettingError` for bad options and for an advertised host that has no
    address.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        store_settings: StoreSettings,
        clock: LoopClock,
        net: NetSettings | None = None,
        plugins: PluginManager | None = None,
        plugin_options: Mapping[str, object] | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._identity = Identity(settings)
        self._live = LiveSettings(settings)
        self._statistics = Statistics(clock)
        self._topics = TopicTable(
            clock,
            system_topics(
                settings.cluster,
                settings.name,
                default_queues=settings.default_topic_queues,
                auto_create=settings.auto_create_topics,
            ),
        )
        self._groups = GroupTable(clock)
        self._offsets = OffsetTable(clock)
        self._clients: ClientRegistry[Peer] = ClientRegistry(clock)
        self._locks = QueueLocks(clock)
        self._keeper = ConfigKeeper(
            store_settings.directory / "config", self._topics, self._groups, self._offsets
        )
        self._polling = LongPolling(clock, lambda topic, queue_id: self._store.queue_max(topic, queue_id))
        manager = plugins or (default_manager() if settings.dispatchers or settings.rpc_hooks else None)
        tables = plugin_options
        self._dispatchers = manager.create_all("dispatcher", settings.dispatchers, tables) if manager else ()
        hooks = manager.create_all("rpc_hook", settings.rpc_hooks, tables) if manager else ()
        self._client = Client(clock, net, rpc_hooks=hooks)
        self._registration = Registration(self._client, clock, self._live, self._identity, self._topics)
        self._store = MessageStore.open(
            store_settings, clock, on_arrival=self._polling.arrived, broker_name=settings.name
        )
        self._client_processor = ClientProcessor(self._clients, self._groups, self._topics, self._live)
        self._server = Server(
            self._handlers(),
            clock,
            net,
            rpc_hooks=hooks,
            turn_end=self._end_turn,
            on_close=self._connection_closed,
        )
        self._timers: list[Every] = []
        self._dispatch_due = False

    @property
    def address(self) -> str:
        """What clients are told, "host:port"; known once started."""
        return self._identity.address

    @property
    def store(self) -> MessageStore:
        """Where the messages are."""
        return self._store

    def _handlers(self) -> dict[int, Handler]:
        targets = SendTargets(self._topics, self._live, self._statistics)
        rules = (
            DivertDeadLetters(self._groups, self._topics, targets, self._locks),
            refuse_transactions,
            refuse_delays,
        )
        store, topics, groups, offsets = self._store, self._topics, self._groups, self._offsets
        live, clock, statistics = self._live, self._clock, self._statistics
        handlers: dict[int, Handler] = {}
        for processor in (
            SendProcessor(
                store, targets, self._identity, live, clock, statistics, self._unique_ids(), rules,
                store.settings.flush == "SYNC_FLUSH",
            ),
            PullProcessor(
                store, topics, groups, self._clients, offsets, self._polling, live, clock, statistics
            ),
            self._client_processor,
            OffsetProcessor(store, offsets, topics, groups),
            LockProcessor(self._locks),
            LookupProcessor(store, live),
            TopicProcessor(topics, store, offsets, self._identity, statistics, self._registration.told),
            GroupProcessor(groups, offsets, live),
            StatsProcessor(store, topics, groups, offsets, self._clients, self._identity, statistics),
            RuntimeProcessor(store, offsets, topics, live, clock, statistics),
        ):  # fmt: skip
            handlers |= processor.handlers()
        return handlers

    def _unique_ids(self) -> UniqueIds:
        ip = self._identity.store_host[:-4]
        return UniqueIds(self._clock, ip, os.getpid(), random.getrandbits(32))

    async def start(self) -> None:
        """Load, listen, register with the name servers.

        Raises `OSError` when an address cannot be used; the broker is stopped then. A name server that is
        away does not stop the start.
        """
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        settings = self._settings
        self._keeper.load()
        self._keeper.save_tables()
        self._store.start()
        for dispatcher in self._dispatchers:
            self._store.follow(dispatcher)
        port = await self._server.start(settings.host, settings.port)
        self._identity.settle(port)
        if settings.vip_port and settings.port > 2:
            await self._server.start(settings.host, settings.port - 2)
        self._start_timers()
        await self._registration.start()
        log.info("broker started", name=settings.name, address=self.address)

    def _start_timers(self) -> None:
        clock = self._clock
        save = self._settings.offsets_save_interval_ms / 1000
        self._timers = [
            Every(clock, POLLING_SWEEP_SECONDS, self._polling.sweep, name="long polling"),
            Every(clock, save, self._save, name="configuration"),
            Every(clock, CLIENT_SCAN_SECONDS, self._client_processor.close_silent, name="silent clients"),
            Every(clock, CLIENT_SCAN_SECONDS, self._locks.expire, name="queue locks"),
            Every(clock, SAMPLE_SECONDS, self._statistics.sample, name="statistics"),
        ]

    async def stop(self) -> None:
        """Leave the name servers, answer what waits, save everything, close the store."""
        for timer in self._timers:
            timer.stop()
        await self._registration.stop()
        self._polling.wake_all()
        await self._server.stop()
        await self._client.close()
        await self._save()
        self._keeper.close()
        await self._store.stop()
        log.info("broker stopped", name=self._settings.name)

    async def abandon(self) -> None:
        """Stop as a killed process would: nothing is saved or flushed, nobody is told. For tests."""
        for timer in self._timers:
            timer.stop()
        self._registration.cancel()
        self._keeper.close()
        self._store.abandon()
        await self._server.stop()
        await self._client.close()

    async def register(self) -> None:
        """Tell the name servers of all topics now, and wait until they know."""
        await self._registration.announce()

    async def _save(self) -> None:
        self._keeper.save_tables()
        await self._keeper.save_offsets()

    def _end_turn(self) -> None:
        """Before the answers of a turn leave, what they say of topics and groups is saved.

        Queues and index follow while the answers are on their way; no later request is served before them.
        """
        if self._keeper.has_unsaved_tables:
            self._keeper.save_tables()
        if not self._registration.is_current:
            self._registration.topics_changed()
        if self._store.undispatched and not self._dispatch_due:
            self._dispatch_due = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._dispatch_due = False
        self._store.dispatch()

    def _connection_closed(self, peer: Peer) -> None:
        self._polling.forget(peer)
        self._client_processor.connection_closed(peer)
