"""One broker of a directory and a port, made anew when its role changes (replication.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import attrs

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import GiveUpError, MqframeError, SettingError, StoreError
from mqframe.core.measuring.family import Metric
from mqframe.core.os_errors import in_words
from mqframe.core.replication.role_change import CHANGED_ROLE, ChangedRole
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.replication.settings import ReplicationSettings
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout

log: Final = get_logger("broker")


async def _nothing() -> None:
    pass


class BrokerHolder:
    """Starts and stops a broker as that one does by itself, and changes its role in between.

    `make`: makes a broker of these settings, at once or in a while; it is called again for each role.
    Everything else stays as it is: the directory, and the ports once they are known. The role that an
    operator gave it is kept beside the store's other tables, and counts until another one is configured.

    `broker`: the one that is there now, from `start` on. Belongs to one loop.
    """

    broker: Broker

    def __init__(
        self,
        sections: BrokerSections,
        make: Callable[[BrokerSections], Broker | Awaitable[Broker]],
        clock: LoopClock,
    ) -> None:
        self._configured = sections.replication
        self._make = make
        self._clock = clock
        self.changed_ms = 0
        """When operators changed the role the last time; 0: they did not, or it was configured since."""
        self._file = ConfigFile(Layout(sections.store.directory).config / CHANGED_ROLE)
        self.sections = self._with_kept_role(sections)
        self._changing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self.trouble = ""
        self.on_change: Callable[[Broker], object] = lambda broker: None
        """Told of each broker that has started in another role."""
        self.on_lost: Callable[[], object] = lambda: None
        """Called when no broker serves any more, because none could be started."""

    def _with_kept_role(self, sections: BrokerSections) -> BrokerSections:
        kept = self._file.load(lambda raw: decode(raw, ChangedRole))
        if kept is None or not kept.counts_with(self._configured.role, self._configured.id):
            return sections
        log.warning(
            "the role that an operator gave this broker while it ran is in force",
            role=kept.role, id=kept.broker_id, kept_in=f"config/{CHANGED_ROLE}",
        )  # fmt: skip
        self.changed_ms = kept.changed_ms
        return _in_role(sections, _evolved(self._configured, kept.role, kept.broker_id))

    async def _made(self, sections: BrokerSections) -> Broker:
        making = self._make(sections)
        broker = making if isinstance(making, Broker) else await making
        broker.let_roles_change(self)
        return broker

    @property
    def address(self) -> str:
        """The address that clients use, "host:port"; known once started."""
        return self.broker.address

    @property
    def is_registered(self) -> bool:
        """Whether a name server knows the broker, or there is none that should."""
        return self.broker.is_registered

    @property
    def refusal(self) -> str:
        """Why no messages are taken at the moment; empty normally."""
        return "its role is being changed" if self._changing.locked() else self.broker.refusal

    def measure(self) -> HeldMetrics:
        """What monitoring is shown, whichever broker is there."""
        return HeldMetrics(self)

    async def start(self) -> None:
        """Make a broker, and start it. Raises what making a broker raises, and as `Broker.start`."""
        self.broker = await self._made(self.sections)
        await self.broker.start()
        self.sections = self._on_the_same_ports()

    def _on_the_same_ports(self) -> BrokerSections:
        """The settings with the ports that are in use now."""
        settings: Any = self.sections.broker
        replication: Any = self.sections.replication
        port = int(self.broker.address.rpartition(":")[2])
        if settings.port == 0:
            # What lies beside a port that was any free one may belong to others.
            replication = attrs.evolve(replication, port=replication.port or 0)
            settings = attrs.evolve(settings, port=port, vip_port=False)
        if settings.operator_port == 0:
            settings = attrs.evolve(
                settings, operator_port=int(self.broker.operator_address.rpartition(":")[2])
            )
        sections: Any = self.sections
        same: BrokerSections = attrs.evolve(sections, broker=settings, replication=replication)
        return same

    async def stop(self) -> None:
        """As `Broker.stop`; a change that is under way ends first."""
        if self._task is not None:
            await asyncio.wait([self._task])
        async with self._changing:
            await self.broker.stop()

    # Changes of the role

    def check(self, replication: ReplicationSettings) -> None:
        """Raises `SettingError` where the broker cannot have this role."""
        if self._changing.locked():
            raise SettingError("the role is being changed already")
        _in_role(self.sections, replication)

    def change_soon(
        self, replication: ReplicationSettings, between: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        """`change` from the next turn of the loop on, when answers are on their way; `trouble` says how.

        The role is kept, unless there is something to do `between`.
        """
        self.trouble = ""
        self._task = asyncio.ensure_future(self._change_alone(replication, between))

    async def _change_alone(
        self, replication: ReplicationSettings, between: Callable[[], Awaitable[object]] | None
    ) -> None:
        sections = _in_role(self.sections, self._known_port(replication))
        try:
            await self.change(sections, keep=between is None, between=between or _nothing)
        except MqframeError as problem:
            log.error("the role was not changed", problem=str(problem))

    def _known_port(self, replication: ReplicationSettings) -> ReplicationSettings:
        changed: Any = replication
        port: ReplicationSettings = attrs.evolve(changed, port=self.sections.replication.port)
        return port

    async def change(
        self,
        sections: BrokerSections,
        *,
        keep: bool = False,
        between: Callable[[], Awaitable[object]] = _nothing,
    ) -> None:
        """Stop the broker, and have one of `sections` in its place, on the same directory and ports.

        `keep`: the next start is to have this role, too. `between`: what is done while nobody has the
        directory. Where that fails, or the new one cannot start, the former serves again. Raises
        `GiveUpError` then, and also where that is not possible either: then nobody serves.
        """
        async with self._changing:
            former = self.sections
            await self.broker.stop()
            try:
                await between()
                await self._start(sections, keep=keep)
            except (MqframeError, OSError) as problem:
                self.trouble = in_words(problem)
                role = sections.role
                log.error("the broker cannot start in its new role", role=role, problem=self.trouble)
                try:
                    await self._start(former, keep=keep)
                except (MqframeError, OSError) as again:
                    self.trouble += f"; nor in its former role: {in_words(again)}"
                    log.error("the broker does not serve any more", problem=self.trouble)
                    self.on_lost()
                    raise GiveUpError(f"the broker serves no more: {self.trouble}") from again
                raise GiveUpError(f"it serves in its former role, {former.role}: {self.trouble}") from problem
            self.trouble = ""

    async def _start(self, sections: BrokerSections, *, keep: bool) -> None:
        if keep:
            self._keep(sections.replication)
        self.broker = await self._made(sections)
        await self.broker.start()
        self.sections = sections
        log.warning("the broker serves", role=sections.role, id=sections.broker_id, address=self.address)
        self.on_change(self.broker)

    def _keep(self, replication: ReplicationSettings) -> None:
        """Note the role, durably, before a broker has it. Raises OSError."""
        configured = self._configured
        kept = ChangedRole(
            replication.id, self._clock.now_ms(), configured.id, configured.role, replication.role
        )
        self._file.save(dumps(kept))
        self.changed_ms = kept.changed_ms


class Holder(Protocol):
    """What has one broker after the other."""

    @property
    def broker(self) -> Broker:
        """The one that is there now. Raises `StoreError` while there is none."""


class HeldMetrics:
    """Metrics of the broker that `holder` has at the moment."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._broker = holder.broker
        self._metrics = holder.broker.measure()

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that all of them have."""
        return self._metrics.labels

    async def families(self) -> AsyncIterator[Metric]:
        """All of them."""
        try:
            broker = self._holder.broker
        except StoreError:
            return  # there is none while its role changes
        if self._broker is not broker:
            self._broker, self._metrics = broker, broker.measure()
        async for family in self._metrics.families():
            yield family


def _in_role(sections: BrokerSections, replication: ReplicationSettings) -> BrokerSections:
    before: Any = sections
    changed: BrokerSections = attrs.evolve(before, replication=replication)
    return changed


def _evolved(replication: ReplicationSettings, role: str, number: int) -> ReplicationSettings:
    before: Any = replication
    changed: ReplicationSettings = attrs.evolve(before, role=role, id=number)
    return changed
