"""A whole system in this process: a name server and brokers on free ports, in a temporary folder.

    async with AsyncCluster(clock=ManualClock()) as cluster: ...     # in a test's own loop
    with Cluster() as cluster: ...                                   # in a loop of its own thread

Both start in a few milliseconds. What they make goes with them.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack, cast

import attrs

from mqframe.broker.broker import Broker
from mqframe.broker.role_settings import ROLE_SECTION, Alone, RoleSettings
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import answer_error
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.hooks.manager import PluginManager
from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.net.access.access import Access, kept_below
from mqframe.net.access.settings import AccessSettings
from mqframe.net.client import Client
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.settings import StoreSettings
from mqframe_testing.at_once import AtOnce
from mqframe_testing.manual_clock import ManualClock

P = ParamSpec("P")
T = TypeVar("T")

STARTED_SECONDS_MAX = 30.0
INDEX = "index"
SMALL_STORE: dict[str, Any] = {
    "commit_log_file_bytes": 4 << 20,
    "queue_file_bytes": 20 * 4096,
    "disk_limits": False,
}
"""Store settings of brokers here: files of 4 MiB and less, and no look at how full the disk is."""


class ServerOptions(TypedDict, total=False):
    """The options of `AsyncCluster` but for its clock; it says what they mean."""

    directory: Path | None
    broker: dict[str, Any] | None
    store: dict[str, Any] | None
    plugins: PluginManager | None
    nameserver: dict[str, Any] | None
    sections: Sequence[Any]


class ClusterOptions(ServerOptions, total=False):
    """The options of `AsyncCluster`, which says what they mean."""

    clock: LoopClock | None


class AsyncCluster:
    """A name server and `brokers` brokers in the running loop.

    `clock`: real time by default, or a `ManualClock`. `directory`: where the stores lie, a temporary folder
    by default. `broker`, `store` and `nameserver`: fields of `BrokerSettings`, `StoreSettings` and
    `NameServerSettings` that are to be different. `sections`: further ones, `NetSettings` of all
    connections, that of their role, and those of services, as `PopSettings(stay_ms=50)`.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        clock: LoopClock | None = None,
        directory: Path | None = None,
        broker: dict[str, Any] | None = None,
        store: dict[str, Any] | None = None,
        plugins: PluginManager | None = None,
        nameserver: dict[str, Any] | None = None,
        sections: Sequence[Any] = (),
    ) -> None:
        self._nameserver_fields = nameserver or {}
        self.clock: LoopClock = clock or SystemClock()
        self._count = brokers
        self._own_directory = directory is None
        self._directory = directory
        self._broker_fields = broker or {}
        self._store_fields = {**SMALL_STORE, **(store or {})}
        self._net: NetSettings | None = None
        self._services: tuple[Any, ...] = ()
        self._role: RoleSettings = Alone()
        for section in sections:
            if isinstance(section, NetSettings):
                self._net = section
            elif section.SECTION == ROLE_SECTION:
                self._role = section
            else:
                self._services += (section,)
        self._plugins = plugins
        self._name_server: NameServer | None = None
        self._settings: list[BrokerSettings] = []
        self._access_settings: AccessSettings | None = None
        self._access: Access | None = None
        self.brokers: list[Broker] = []
        self.running: list[bool] = []

    @property
    def directory(self) -> Path:
        """Below it lies one folder a broker, named after it."""
        assert self._directory is not None, "the cluster has not been started"
        return self._directory

    @property
    def name_server(self) -> NameServer:
        """The name server."""
        assert self._name_server is not None, "the cluster has not been started"
        return self._name_server

    @property
    def nameserver(self) -> str:
        """Address of the name server, as clients want it."""
        return self.name_server.address

    @property
    def broker(self) -> Broker:
        """The first broker."""
        return self.brokers[0]

    async def __aenter__(self) -> AsyncCluster:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    def enforce(self, settings: AccessSettings) -> None:
        """Have all servers check who asks and what they may; to be called before `start`.

        They share one table of users, which is kept below `directory`.
        """
        self._access_settings = settings

    async def start(self) -> None:
        """Start everything; on return the name server knows the brokers."""
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="mqframe-"))
        try:
            if self._access_settings is not None:
                plugins, keep = self._plugins or PluginManager(), kept_below(self._directory, ConfigFile)
                self._access = Access(
                    self._access_settings, self.clock, plugins, cluster="DefaultCluster", keep=keep
                )
            await self._start_name_server(port=0)
            for index in range(self._count):
                fields: dict[str, Any] = {"name": f"broker-{chr(ord('a') + index)}", "port": 0}
                fields |= {"nameservers": (self.nameserver,), **self._broker_fields}
                self._settings.append(BrokerSettings(**fields))
                broker = self._make(index)
                self.brokers.append(broker)
                await broker.start()
                self.running.append(True)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop everything in good order and remove the temporary folder."""
        for index in range(len(self.running)):
            if self.running[index]:
                await self.brokers[index].stop()
                self.running[index] = False
        if self._name_server is not None:
            await self._name_server.stop()
        if self._own_directory and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    async def create_topic(
        self, name: str, queues: int = 4, *, perm: int = 6, order: bool = False, attributes: str = ""
    ) -> None:
        """Create a topic on every broker; on return the name server knows it."""
        client = Client(self.clock, self._net)
        try:
            for broker in self.brokers:
                request = UpdateAndCreateTopic(
                    topic=name,
                    read_queue_nums=queues,
                    write_queue_nums=queues,
                    perm=perm,
                    order=order,
                    attributes=attributes,
                )
                answer = await client.invoke(broker.address, request)
                if answer.code:
                    raise answer_error(answer.code, answer.remark, broker.address)
                await broker.register()
        finally:
            await client.close()

    async def restart_name_server(self) -> None:
        """Stop the name server, unless it was stopped, and start one on its port, which knows nobody yet."""
        port = int(self.nameserver.rpartition(":")[2])
        await self.name_server.stop()
        await self._start_name_server(port)

    async def _start_name_server(self, port: int) -> None:
        settings = NameServerSettings(port=port, **self._nameserver_fields)
        self._name_server = NameServer(settings, self.clock, self._net, self._plugins)
        if self._access is not None:
            self._name_server.enforce(self._access)
        await self._name_server.start()

    async def stop_broker(self, index: int = 0) -> None:
        """Stop a broker in good order."""
        await self.brokers[index].stop()
        self.running[index] = False

    async def kill_broker(self, index: int = 0) -> None:
        """End a broker as if its process were killed: nothing is saved, nobody is notified."""
        await self.brokers[index].abandon()
        self.running[index] = False

    async def start_broker(self, index: int = 0) -> None:
        """Start a stopped or killed broker again, on its old port and its old files."""
        port = int(self.brokers[index].address.rpartition(":")[2])
        self._settings[index] = attrs.evolve(cast("Any", self._settings[index]), port=port, vip_port=False)
        self.brokers[index] = self._make(index)
        await self.brokers[index].start()
        self.running[index] = True

    async def restart_broker(self, index: int = 0) -> None:
        """Stop a broker in good order, if it runs, and start it again."""
        if self.running[index]:
            await self.stop_broker(index)
        await self.start_broker(index)

    def _make(self, index: int) -> Broker:
        settings = self._settings[index]
        store = StoreSettings(directory=self.directory / settings.name, **self._store_fields)
        plugins = self._plugins or PluginManager()
        blocked = INDEX in settings.services_blocked
        services = self._services if blocked else _with_small_index(self._services, plugins)
        sections = BrokerSections(settings, store, self._net or NetSettings(), self._role, services=services)
        broker = Broker(sections, self.clock, plugins)
        if self._access is not None:
            broker.enforce(self._access)
        if isinstance(self.clock, ManualClock):
            broker.save_by(AtOnce())
        return broker


def _with_small_index(services: tuple[Any, ...], plugins: PluginManager) -> tuple[Any, ...]:
    """`services`, and the section of the index of keys, if that is installed and nothing else was said."""
    if any(each.SECTION == INDEX for each in services) or INDEX not in plugins.names("broker_service"):
        return services
    kind = plugins.settings_class(INDEX)
    return services if kind is None else (*services, kind(slots=5_000, entries=20_000))


def _in_loop(
    method: Callable[Concatenate[AsyncCluster, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Cluster, P], T]:
    """`method`, run in the loop of a `Cluster`, whose caller waits for the result."""

    @wraps(method)
    def call(self: Cluster, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(method(self.cluster, *args, **kwargs))

    return call


class Cluster:
    """An `AsyncCluster` in a loop and thread of its own, for tests that block. Takes the same arguments."""

    def __init__(self, brokers: int = 1, **options: Unpack[ClusterOptions]) -> None:
        self.cluster = AsyncCluster(brokers, **options)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="mqframe-cluster", daemon=True)

    @property
    def nameserver(self) -> str:
        """Address of the name server, as clients want it."""
        return self.cluster.nameserver

    @property
    def broker(self) -> Broker:
        """The first broker. It belongs to the cluster's thread; use `run` to call it."""
        return self.cluster.broker

    @property
    def directory(self) -> Path:
        """Below it lies one folder a broker, named after it."""
        return self.cluster.directory

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything; on return the name server knows the brokers."""
        self._thread.start()
        try:
            self.run(self.cluster.start())
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        """Stop everything in good order and remove the temporary folder."""
        try:
            self.run(self.cluster.stop())
        finally:
            self._end()

    create_topic = _in_loop(AsyncCluster.create_topic)
    stop_broker = _in_loop(AsyncCluster.stop_broker)
    kill_broker = _in_loop(AsyncCluster.kill_broker)
    start_broker = _in_loop(AsyncCluster.start_broker)
    restart_broker = _in_loop(AsyncCluster.restart_broker)
    restart_name_server = _in_loop(AsyncCluster.restart_name_server)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the cluster's loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(STARTED_SECONDS_MAX)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        # In this thread: that of the caller may have a running loop, as in a notebook.
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def _end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
