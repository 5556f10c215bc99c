"""The offsets of a group at one member: where a queue begins, what is remembered, what is made durable."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.outages import Outages
from mqframe.client.consuming.group.offsets import BrokerOffsets, QueueOffsets
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
        context = OffsetStoreContext(
            group, instance.client_id, BrokerOffsets(instance, group), self._directory
        )
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

    `ends`: asks brokers for the ends of queues; `begin`: where queues begin that the group has no offset of,
    and the ms since 1970 that ConsumeFrom.TIMESTAMP begins at; `outages`: tells what was not saved. All
    methods belong to the loop.
    """

    def __init__(
        self,
        group: str,
        store: OffsetStore,
        ends: QueueOffsets,
        begin: tuple[ConsumeFrom, int],
        outages: Outages,
    ) -> None:
        self.store = store
        self._group = group
        self._ends = ends
        self._begin = begin
        self._outages = outages
        self._saving: asyncio.Task[None] | None = None

    async def first(self, queue: MessageQueue) -> int:
        """The first offset to pull of `queue`: the stored one, else as `consume_rules` decide.

        What memory held of `queue` is forgotten. Raises what a call raises.
        """
        await self._idle()  # the queue may have been ours just before
        self.store.forget(queue)
        stored = await self.store.read(queue, ReadFrom.STORE)
        where, start_ms = self._begin
        begin = first_offset(queue.topic, stored, where)
        ask: dict[Ask, Callable[[], Awaitable[int]]] = {
            Ask.MAX: lambda: self._ends.max_offset(queue),
            Ask.MIN: lambda: self._ends.min_offset(queue),
            Ask.TIME: lambda: self._ends.offset_at(queue, start_ms),
        }
        return await ask[begin]() if isinstance(begin, Ask) else begin

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
            self._outages.note("offsets were not saved yet", self._group, problem, group=self._group)
        else:
            self._outages.over("offsets were not saved yet", self._group)

    async def _idle(self) -> None:
        while self._saving is not None and not self._saving.done():
            await asyncio.wait({self._saving})
