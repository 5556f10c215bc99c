"""A broker whose role operators change while it runs (replication.md §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
from mqframe_admin.rules.role_change import CHANGED_ROLE, ChangedRole

from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import GiveUpError, MqframeError, SettingError
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout
from mqframe_replication.broker.hand_set_role import HandSetRole
from mqframe_replication.rules.in_words import in_words
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import ReplicationSettings

log: Final = get_logger("broker")


async def _nothing() -> None:
    pass


class RoleByOperator:
    """The `RoleDecider` of a broker of these settings, until an operator changes its role.

    Everything else stays as it is: the directory, and the ports once they are known. The role that an
    operator gave it is saved with the store's other tables, and counts until another one is configured.

    `sections`: the settings of the broker that is there. A `RoleChanger`.
    """

    host: BrokerHost

    def __init__(self, sections: BrokerSections, clock: LoopClock) -> None:
        self._configured = replication_of(sections)
        self._clock = clock
        self.changed_ms = 0
        """When operators changed the role the last time; 0: they did not, or it was configured since."""
        self._file = ConfigFile(Layout(sections.store.directory).config / CHANGED_ROLE)
        self.sections = self._with_saved_role(sections)
        self._task: asyncio.Task[None] | None = None
        self.trouble = ""
        self.on_change: Callable[[Broker], object] = lambda broker: None
        """Called with each broker that has started in another role."""
        self.on_lost: Callable[[], object] = lambda: None
        """Called when no broker serves any more, because none could be started."""

    def _with_saved_role(self, sections: BrokerSections) -> BrokerSections:
        saved = self._file.load(lambda raw: decode(raw, ChangedRole))
        if saved is None or not saved.counts_with(self._configured.role, self._configured.id):
            return sections
        log.warning(
            "the role that an operator gave this broker while it ran is in force",
            role=saved.role, id=saved.broker_id, kept_in=f"config/{CHANGED_ROLE}",
        )  # fmt: skip
        self.changed_ms = saved.changed_ms
        return _in_role(sections, _evolved(self._configured, saved.role, saved.broker_id))

    async def start(self) -> None:
        """As `RoleDecider.start`."""
        await self._serve(self.sections)
        self.sections = self.host.on_its_ports(self.sections)

    async def _serve(self, sections: BrokerSections) -> None:
        await self.host.make(sections, HandSetRole(replication_of(sections), self))
        await self.host.serve()

    async def stop(self) -> None:
        """As `RoleDecider.stop`; a change that is under way ends first."""
        if self._task is not None:
            await asyncio.wait([self._task])
        async with self.host.changing:
            await self._end()

    async def _end(self) -> None:
        if problem := await self.host.end():
            raise problem

    def abandon(self) -> None:
        """As `RoleDecider.abandon`."""
        if self._task is not None:
            self._task.cancel()

    @property
    def pause(self) -> str:
        """As `RoleDecider.pause`."""
        return "its role is being changed" if self.host.changing.locked() else ""

    # Changes of the role

    def check(self, replication: ReplicationSettings) -> None:
        """Raises `SettingError` where the broker cannot have this role."""
        if self.pause:
            raise SettingError("the role is being changed already")
        _in_role(self.sections, replication)

    def change_soon(
        self, replication: ReplicationSettings, between: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        """`change` from the next turn of the loop on, when answers are on their way; `trouble` says how.

        The role is saved, unless there is something to do `between`.
        """
        self.trouble = ""
        self._task = asyncio.ensure_future(self._change_alone(replication, between))

    async def _change_alone(
        self, replication: ReplicationSettings, between: Callable[[], Awaitable[object]] | None
    ) -> None:
        sections = _in_role(self.sections, self._known_port(replication))
        try:
            await self.change(sections, save=between is None, between=between or _nothing)
        except MqframeError as problem:
            log.error("the role was not changed", problem=str(problem))

    def _known_port(self, replication: ReplicationSettings) -> ReplicationSettings:
        changed: Any = replication
        port: ReplicationSettings = attrs.evolve(changed, port=replication_of(self.sections).port)
        return port

    async def change(
        self,
        sections: BrokerSections,
        *,
        save: bool = False,
        between: Callable[[], Awaitable[object]] = _nothing,
    ) -> None:
        """Stop the broker, and have one of `sections` in its place, on the same directory and ports.

        `save`: the next start is to have this role, too. `between`: what is done while nobody has the
        directory. Where that fails, or the new one cannot start, the former serves again. Raises
        `GiveUpError` then, and also where that is not possible either: then nobody serves.
        """
        async with self.host.changing:
            former = self.sections
            await self._end()
            try:
                await between()
                await self._replace(sections, save=save)
            except (MqframeError, OSError) as problem:
                self.trouble = in_words(problem)
                role = sections.role
                log.error("the broker cannot start in its new role", role=role, problem=self.trouble)
                try:
                    await self._replace(former, save=save)
                except (MqframeError, OSError) as again:
                    self.trouble += f"; nor in its former role: {in_words(again)}"
                    log.error("the broker does not serve any more", problem=self.trouble)
                    self.on_lost()
                    raise GiveUpError(f"the broker serves no more: {self.trouble}") from again
                raise GiveUpError(f"it serves in its former role, {former.role}: {self.trouble}") from problem
            self.trouble = ""

    async def _replace(self, sections: BrokerSections, *, save: bool) -> None:
        if save:
            self._save(replication_of(sections))
        await self._serve(sections)
        self.sections = sections
        address = self.host.address
        log.warning("the broker serves", role=sections.role, id=sections.broker_id, address=address)
        self.on_change(self.host.broker)

    def _save(self, replication: ReplicationSettings) -> None:
        """Note the role, durably, before a broker has it. Raises OSError."""
        configured = self._configured
        saved = ChangedRole(
            replication.id, self._clock.now_ms(), configured.id, configured.role, replication.role
        )
        self._file.save(dumps(saved))
        self.changed_ms = saved.changed_ms


def _in_role(sections: BrokerSections, replication: ReplicationSettings) -> BrokerSections:
    before: Any = sections
    changed: BrokerSections = attrs.evolve(before, replication=replication)
    return changed


def _evolved(replication: ReplicationSettings, role: str, number: int) -> ReplicationSettings:
    before: Any = replication
    changed: ReplicationSettings = attrs.evolve(before, role=role, id=number)
    return changed
