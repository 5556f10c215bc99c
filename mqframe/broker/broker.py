"""One broker, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mqframe.broker.part import Part
from mqframe.broker.registration import Registration
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.state import BrokerState
from mqframe.broker.wiring import make_parts
from mqframe.core.meter import SAMPLE_SECONDS
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
        manager = plugins or (default_manager() if settings.dispatchers or settings.rpc_hooks else None)
        tables = plugin_options
        self._dispatchers = manager.create_all("dispatcher", settings.dispatchers, tables) if manager else ()
        hooks = manager.create_all("rpc_hook", settings.rpc_hooks, tables) if manager else ()
        self._state = state = BrokerState(
            settings, store_settings, clock, self._arrived, self._stored, plugins
        )
        self._store, self._keeper, self._identity = state.store, state.keeper, state.identity
        self._client = Client(clock, net, rpc_hooks=hooks)
        self._registration = Registration(self._client, clock, state.live, state.identity, state.topics)
        self._parts = make_parts(state, self._registration)
        # Most parts do not care for arrivals, which come with every message.
        self._listeners = [part.arrived for part in self._parts if type(part).arrived is not Part.arrived]
        handlers: dict[int, Handler] = {}
        for part in self._parts:
            handlers |= part.handlers()
        self._server = Server(
            handlers, clock, net, rpc_hooks=hooks, turn_end=self._end_turn, on_close=self._connection_closed
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
        for part in self._parts:
            await part.start()
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
            Every(clock, save, self._save, name="configuration"),
            Every(clock, SAMPLE_SECONDS, self._state.statistics.sample, name="statistics"),
        ]
        for part in self._parts:
            self._timers += [Every(clock, *each[:2], name=each.name) for each in part.periodic()]

    async def stop(self) -> None:
        """Leave the name servers, answer what waits, save everything, close the store."""
        for timer in self._timers:
            timer.stop()
        await self._registration.stop()
        self._state.polling.wake_all()
        await self._server.stop()
        for part in reversed(self._parts):
            await part.stop()
        await self._client.close()
        await self._save()
        self._keeper.close()
        await self._store.stop()
        log.info("broker stopped", name=self._settings.name)

    async def abandon(self) -> None:
        """Stop as a killed process would: nothing is saved or flushed, nobody is told. For tests."""
        for timer in self._timers:
            timer.stop()
        for part in self._parts:
            part.abandon()
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
        await self._keeper.save_rest()

    def _end_turn(self) -> None:
        """Before the answers of a turn leave, what they say of topics and groups is saved.

        Queues and index follow while the answers are on their way; no later request is served before them.
        """
        if self._keeper.has_unsaved_tables:
            self._keeper.save_tables()
        if not self._registration.is_current:
            self._registration.topics_changed()
        if self._store.undispatched:
            self._stored()

    def _stored(self) -> None:
        if not self._dispatch_due:
            self._dispatch_due = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._dispatch_due = False
        self._store.dispatch()

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: list[int]) -> None:
        for tell in self._listeners:
            tell(topic, queue_id, max_offset, codes)

    def _connection_closed(self, peer: Peer) -> None:
        for part in self._parts:
            part.connection_closed(peer)
