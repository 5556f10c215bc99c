"""One of the two clusters of a mirror, with what reads, writes and administers it."""

from __future__ import annotations

from typing import Any

from mqframe_admin.rules.internal_topics import internal_topics

from mqframe import (
    AsyncAdmin,
    AsyncProducer,
    AsyncPuller,
    ClientInstance,
    ClientSettings,
    NetSettings,
    PluginManager,
    ProducerSettings,
)
from mqframe.core.errors import FixError, RetryError
from mqframe.core.messages.message import BODY_BYTES_MAX
from mqframe.core.messages.names import check_group
from mqframe_mirror.rules.marks import is_cluster_name
from mqframe_mirror.settings import ClusterSettings


class MirrorSide:
    """A cluster: `admin` from the start on; `puller` and `producer` once `open` said for which group.

    `arguments`: keyword arguments of clients, before those of `settings`; `clock`: for tests.
    """

    def __init__(
        self, settings: ClusterSettings, arguments: dict[str, Any] | None = None, clock: Any = None
    ) -> None:
        self.name = settings.name
        self.nameserver = settings.nameserver
        self._clock = clock
        self._arguments = {**(arguments or {}), **settings.client_arguments()}
        self.admin = AsyncAdmin(nameserver=settings.nameserver, clock=clock, **self._arguments)
        self._instance: ClientInstance | None = None
        self.puller: AsyncPuller
        self.producer: AsyncProducer
        self._readers: dict[str, AsyncPuller] = {}

    async def find_name(self) -> str:
        """What the mirror calls the cluster: as it was told, or else as its brokers do.

        Raises `FixError` where they have several names, or one that cannot stand in names of groups.
        """
        if not self.name:
            names = sorted((await self.admin.cluster.info()).cluster_addr_table)
            if not names:
                raise RetryError(f"name servers {self.nameserver} know no broker yet")
            if len(names) != 1 or not is_cluster_name(names[0]):
                raise FixError(
                    f"the cluster at {self.nameserver} is called {', '.join(names)}: say "
                    "what the mirror is to call it: --from-name and --to-name, or name = in [from] and [to]"
                )
            self.name = names[0]
        return self.name

    async def open(self, group: str) -> None:
        """Begin to read and to write, as `group`."""
        check_group(group)
        plugins = self._arguments.get("plugins") or PluginManager()
        hooks = plugins.create_all("rpc_hook", self._arguments.get("rpc_hooks", ()))
        client = self._arguments.get("client") or ClientSettings()
        # A mirror says names as brokers have them, and a wrong body is told where its message is copied.
        settings = ClientSettings(
            nameserver=self.nameserver,
            patience_seconds=0.0,
            request_timeout_seconds=client.request_timeout_seconds,
            unpacked_bytes_max=client.unpacked_bytes_max,
        )
        net: NetSettings | None = self._arguments.get("net")
        instance = ClientInstance.connect(settings, self._clock, net, rpc_hooks=hooks)
        await instance.start()
        self._instance = instance
        self.puller = AsyncPuller(group, instance=instance)
        sends = ProducerSettings(body_bytes_max=2 * BODY_BYTES_MAX, retries_sync=0)
        self.producer = AsyncProducer(group, instance=instance, settings=sends, clock=self._clock)
        await self.producer.start()

    @property
    def clock(self) -> Any:
        """The clock of the clients."""
        return self.instance.clock

    @property
    def instance(self) -> ClientInstance:
        """What the clients share. Only once opened."""
        assert self._instance is not None, "the side was not opened"
        return self._instance

    def reader(self, group: str) -> AsyncPuller:
        """What reads and commits the progress of `group`."""
        if group not in self._readers:
            self._readers[group] = AsyncPuller(group, instance=self.instance)
        return self._readers[group]

    async def ensure_group(self, group: str) -> None:
        """Have brokers know `group`, as they commit for no other."""
        if group not in await self.admin.groups.list():
            await self.admin.groups.create(group)

    async def hidden_topics(self) -> set[str]:
        """Topics that are the system's own here, and whose names alone do not tell it."""
        info = await self.admin.cluster.info()
        return internal_topics(info.broker_addr_table, info.cluster_addr_table)

    async def masters(self) -> dict[str, str]:
        """Addresses of masters by broker name. Raises `RetryError` while there is none."""
        try:
            return await self.admin.cluster.masters()
        except FixError as problem:
            raise RetryError(f"cluster {self.name}: {problem}") from problem

    async def close(self) -> None:
        """Close all connections."""
        if self._instance is not None:
            await self.producer.stop()
            await self._instance.stop()
        await self.admin.stop()
