"""The name server: keeps the routes of topics to brokers, in the running event loop."""

from __future__ import annotations

from mqframe.core.cluster.broker_registry import BrokerKey, BrokerRegistry
from mqframe.core.measuring.budget import Budget
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import handlers_of
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.nameserver.handlers import Handlers
from mqframe.nameserver.kv_config import KvConfig
from mqframe.nameserver.live_settings import LiveNameServerSettings
from mqframe.nameserver.measured import MeasuredNameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.net.access.access import Access
from mqframe.net.access.audit import audited
from mqframe.net.addresses import address_text
from mqframe.net.clock import Every, LoopClock
from mqframe.net.listeners import Listeners
from mqframe.net.peer_group import PeerEvents
from mqframe.net.server import Server
from mqframe.net.settings import NetSettings
from mqframe.store.files.modes import use_mode
from mqframe.trouble import KEYS_MAX, Troubles

log = get_logger("nameserver")


class NameServer:
    """Knows brokers and topics; any number of them may run, none knows the others.

    `plugins`: where the RPC hooks that the settings name come from, with their options. Raises `PluginError`,
    and `SettingError` for bad options.
    """

    def __init__(
        self,
        settings: NameServerSettings,
        clock: LoopClock,
        net: NetSettings | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        use_mode(settings.file_mode)
        self._kv = KvConfig(settings.directory)
        self._registry = BrokerRegistry(
            acting_masters=settings.support_acting_master,
            forget_missing_topics=settings.delete_topic_with_broker_registration,
        )
        self._budgets = [
            Budget(
                "brokers",
                "nameserver.brokers_max",
                lambda: self._registry.living,
                lambda: settings.brokers_max,
            ),
            Budget(
                "route entries",
                "nameserver.route_entries_max",
                lambda: self._registry.entries,
                lambda: settings.route_entries_max,
            ),
            Budget("values", "nameserver.values_max", lambda: self._kv.entries, lambda: settings.values_max),
        ]
        self._registry.admit_broker, self._registry.admit_entries, self._kv.admit = [
            budget.admit for budget in self._budgets
        ]
        self._live = LiveNameServerSettings(settings)
        handlers = Handlers(self._registry, self._kv, self._live, clock, lambda: self._port)
        net = net or NetSettings()
        hooks = (plugins or PluginManager()).create_all("rpc_hook", settings.rpc_hooks)
        table = audited(handlers_of(handlers, body_bytes_max=net.body_bytes_max))
        events = PeerEvents(on_close=self._on_close)
        self._listeners = Listeners(
            lambda: Server(table, clock, net, rpc_hooks=hooks, events=events),
            settings.operator_port,
            net.body_bytes_max,
        )
        self._silent: dict[BrokerKey, None] = {}
        self._silences = Troubles(log, clock.monotonic)
        self._scan: Every | None = None
        self._port = settings.port

    @property
    def address(self) -> str:
        """Where it listens, "host:port"; the real port once started."""
        return address_text((self._settings.host, self._port))

    @property
    def registry(self) -> BrokerRegistry:
        """What it knows."""
        return self._registry

    @property
    def operator_address(self) -> str:
        """Where operators are served, where they have a port of their own; known once started."""
        host, _, port = self.address.rpartition(":")
        return f"{host}:{self._listeners.operator_port or port}"

    def enforce(self, access: Access) -> None:
        """Serve only those whom `access` lets. To be called before `start`."""
        self._listeners.enforce(access)

    def counters(self) -> dict[str, str]:
        """How much of each budget is in use, the most that may be, and how often that was refused."""
        found = self._listeners.counters()
        for budget in self._budgets:
            found |= budget.counters()
        return found

    def measure(self) -> MeasuredNameServer:
        """What monitoring may know; how long requests take is counted from now on."""
        return MeasuredNameServer(self.address, self._listeners.measure().family, self.counters)

    async def start(self) -> None:
        """Load what was kept and listen. Raises `OSError` when the address cannot be used."""
        self._kv.load()
        self._live.load()
        self._port = await self._listeners.start(self._settings.host, self._settings.port)
        seconds = self._settings.scan_milliseconds / 1000
        self._scan = Every(self._clock, seconds, self._remove_silent, name="silent brokers")

    async def stop(self) -> None:
        """Close all connections and stop listening."""
        if self._scan is not None:
            self._scan.stop()
        await self._listeners.stop()

    def _on_close(self, peer: Peer) -> None:
        for key in self._registry.connection_closed(peer):
            log.info("broker left with its connection", cluster=key.cluster, broker=key.address)

    def _forget(self, key: BrokerKey) -> None:
        del self._silent[key]
        self._silences.leave(key)

    def _remove_silent(self) -> None:
        for key in [key for key in self._silent if self._registry.data_version(*key) is not None]:
            self._silences.over(key, "broker is back", cluster=key.cluster, broker=key.address)
            self._forget(key)
        for key, connection in self._registry.expire(self._clock.monotonic()):
            self._silent[key] = None
            while len(self._silent) > KEYS_MAX:
                self._forget(next(iter(self._silent)))
            self._silences.of(key).note("broker is silent", cluster=key.cluster, broker=key.address)
            if isinstance(connection, Peer):
                connection.close("the broker was silent for too long")
