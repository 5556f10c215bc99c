"""The offsets of a group at one member: where a queue begins, what is remembered, what is made durable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from mqframe.client.connection.identity import wire_names
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.beginnings import Beginnings
from mqframe.client.consuming.group.offsets import BrokerOffsets, presumed_offset
from mqframe.core.consuming.consume_rules import Ask, ConsumeFrom, MessageModel, first_offset
from mqframe.core.errors import FixError, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.moments import moment_ms, read_moment
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext, ReadFrom
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger

log = get_logger("client")


_ELSEWHERE: Final = {"earliest": "first", "beginning": "first", "latest": "last", "end": "last"}
"""What others call the two ends of a queue."""


class OffsetChoice:
    """An offset store by name, class or object, with its options. `directory`: where local files may lie.

    By default "remote", and "local" for a broadcasting member.

    Raises `PluginError` for a name that stands for none.
    """

    def __init__(
        self, plugins: PluginManager, choice: object, options: object, directory: Path, model: MessageModel
    ) -> None:
        choice = choice or ("local" if model is MessageModel.BROADCASTING else "remote")
        self._plugins = plugins
        self._choice = choice
        self._options = options
        self._directory = directory
        plugins.check("offset_store", choice, options)

    def make(self, instance: ClientInstance, group: str) -> OffsetStore:
        """The store of the member `instance` of `group`."""
        wired, offsets = wire_names(instance.settings), BrokerOffsets(instance, group)
        context = OffsetStoreContext(wired(group), instance.client_id, offsets, self._directory, wired)
        made: OffsetStore = self._plugins.create("offset_store", self._choice, self._options, context)
        return made


def beginning(consume_from: object) -> tuple[ConsumeFrom, int]:
    """The rule, and for a moment its time in ms since 1970.

    `consume_from`: "last", "first", a `datetime` with its zone, ms since 1970, or one of these as text.
    Raises `FixError` for anything else.
    """
    if consume_from == "last":
        return ConsumeFrom.LAST, 0
    if consume_from == "first":
        return ConsumeFrom.FIRST, 0
    if isinstance(consume_from, datetime | int) and not isinstance(consume_from, bool):
        return ConsumeFrom.TIMESTAMP, moment_ms(consume_from, "consume_from")
    if isinstance(consume_from, str) and consume_from[:1].isdecimal():  # from the environment
        return ConsumeFrom.TIMESTAMP, read_moment(consume_from, "consume_from")
    meant = _ELSEWHERE.get(str(consume_from).lower())
    hint = f'; write "{meant}"' if meant else ""
    raise FixError(f'consume_from {consume_from!r} is not "last", "first", a datetime or milliseconds{hint}')


class GroupOffsets:
    """Reads and saves what `store` holds. Saves never overlap, and none is broken off half-way.

    `instance`: asks brokers, and tells what was not saved; `begin`: where a new group begins, and the ms
    since 1970 that ConsumeFrom.TIMESTAMP begins at; `commits`: offsets move by themselves, else only when
    the application commits. All methods belong to the loop.
    """

    def __init__(
        self,
        group: str,
        store: OffsetStore,
        instance: ClientInstance,
        begin: tuple[ConsumeFrom, int],
        *,
        commits: bool = True,
    ) -> None:
        self.store = store
        self._group = group
        self._instance = instance
        self._beginnings = Beginnings(instance, self._stored, begin)
        self._commits = commits
        self._begun: dict[MessageQueue, int] = {}
        self._saving: asyncio.Task[None] | None = None

    async def begin(self, topics: Iterable[str], *, late: bool = False) -> None:
        """Look where the group begins in those of `topics` that it is new to, or that are; once for each."""
        self._begun |= await self._beginnings.find(topics, late=late)

    async def keep_begun(self, owned: Sequence[MessageQueue]) -> None:
        """Make durable what `begin` found, once brokers know the group. `owned`: all queues that we have.

        What comes from then on belongs to the group, whoever of it takes the queue, and whenever.
        """
        begun, self._begun = self._begun, {}
        if begun and self._commits:
            self.remember(begun.items())
            await self.try_to_save([*owned, *begun])
            for queue in begun:
                self.store.forget(queue)

    async def first(self, queue: MessageQueue) -> int:
        """The first offset to pull of `queue`, which a rebalance gives us.

        The stored one, else where the group began. Of a queue that came later, or of which it is not known,
        the beginning where the broker takes a new group there, else as `consume_rules` decide. What memory
        held of `queue` is forgotten. Raises what a call raises.
        """
        stored = await self._stored(queue)
        if stored is not None:
            return stored
        begun = self._beginnings.get(queue)
        if begun is None and self._beginnings.where is not ConsumeFrom.FIRST:
            begun = await presumed_offset(self._instance, self._group, queue)
        return await self._begin_at(queue, begun)

    async def first_assigned(self, queue: MessageQueue) -> int:
        """The same of a queue that the application assigned: the stored one, else as it said itself."""
        stored = await self._stored(queue)
        return stored if stored is not None else await self._begin_at(queue, None)

    async def _stored(self, queue: MessageQueue) -> int | None:
        await self._idle()  # the queue may have been ours just before
        self.store.forget(queue)
        return await self.store.read(queue, ReadFrom.STORE)

    async def _begin_at(self, queue: MessageQueue, known: int | None) -> int:
        begin = first_offset(queue.topic, known, self._beginnings.where)
        offset = await self._beginnings.at(queue, begin) if isinstance(begin, Ask) else begin
        if self._commits and self._beginnings.where is not ConsumeFrom.FIRST:
            # Durable though nothing came: what comes while nobody runs is not before the beginning.
            self.store.update(queue, offset, increase_only=False)
        return offset

    async def committed(self, queue: MessageQueue) -> int | None:
        """The offset of `queue` that is remembered, else the stored one; `None` when there is none."""
        return await self.store.read(queue, ReadFrom.MEMORY_THEN_STORE)

    def remember(self, offsets: Iterable[tuple[MessageQueue, int | None]]) -> bool:
        """Remember those of `offsets` that are known, lower ones too; whether there was one."""
        known = [(queue, offset) for queue, offset in offsets if offset is not None]
        for queue, offset in known:
            self.store.update(queue, offset, increase_only=False)
        return bool(known)

    async def save(self, queues: Sequence[MessageQueue]) -> None:
        """Make durable what is remembered of `queues`, which are all that we have: others may be forgotten.

        Raises what the store raises.
        """
        await self._idle()
        self._saving = asyncio.ensure_future(self.store.persist(queues))
        await asyncio.shield(self._saving)

    async def try_to_save(self, queues: Sequence[MessageQueue]) -> None:
        """The same; a failure is logged, and what was not saved is saved with the next round."""
        try:
            if queues:
                await self.save(queues)
        except MqframeError as problem:
            self._instance.outages.note("offsets were not saved yet", self._group, problem, group=self._group)
        else:
            self._instance.outages.over("offsets were not saved yet", self._group)

    async def _idle(self) -> None:
        while self._saving is not None and not self._saving.done():
            await asyncio.wait({self._saving})
