"""Exchanges, bindings and queues as all processes see them: kept by the name servers.

Brokers know topics and no exchanges. What routes messages from one to the other lies in the key-value tables
of the name servers, one entry each, so that processes that bind at once do not undo each other's work.
"""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import quote

import msgspec

from mqframe import AsyncAdmin
from mqframe.core.errors import RetryError

LEASE_MS: Final = 120_000
"""How long a temporary queue stays, at least, when nobody who used it says that he is still there."""


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an exchange was declared as."""

    type: str = "direct"
    durable: bool = False
    auto_delete: bool = False


class QueueRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a queue was declared as, and when somebody who uses it was there last.

    `max_priority`: the highest of its priorities, 0: it has none; `message_ttl`, `expires`: ms;
    `delivery_limit`: how often a message may come back; `consumed`: somebody consumed from it; `seen`: ms
    since 1970.
    """

    durable: bool = False
    exclusive: bool = False
    auto_delete: bool = False
    max_priority: int = 0
    message_ttl: int | None = None
    expires: int | None = None
    delivery_limit: int | None = None
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None
    consumed: bool = False
    seen: int = 0

    @property
    def temporary(self) -> bool:
        """Whether it goes when nobody uses it any more."""
        return self.exclusive or self.expires is not None or (self.auto_delete and self.consumed)

    def is_over(self, now_ms: int) -> bool:
        """Whether its users are gone for so long that it is to be deleted."""
        return self.temporary and now_ms - self.seen > max(LEASE_MS, self.expires or 0)

    def same_as(self, other: QueueRecord) -> bool:
        """Whether both were declared alike."""
        return msgspec.structs.replace(self, consumed=False, seen=0) == msgspec.structs.replace(
            other, consumed=False, seen=0
        )


class Binding(msgspec.Struct, frozen=True):
    """A queue gets what comes to its exchange with this routing key, or pattern of routing keys."""

    queue: str
    routing_key: str


class Directory:
    """The tables of one virtual host. Its methods raise what `AsyncAdmin` raises."""

    def __init__(self, admin: AsyncAdmin, virtual_host: str = "") -> None:
        self._admin = admin
        self._host = quote(virtual_host.strip("/"), safe="")
        self._exchanges: dict[str, Exchange] = {}

    async def exchange(self, name: str) -> Exchange | None:
        """What `name` was declared as, by whomever; `None`: it was not."""
        text = await self._admin.kv.get(self._table("exchanges"), name)
        if not text:
            self._exchanges.pop(name, None)
            return None
        known = self._exchanges[name] = msgspec.json.decode(text, type=Exchange)
        return known

    async def type_of(self, name: str) -> str:
        """The type of `name`, as it was when it was looked at first; "direct" when it was never declared."""
        known = self._exchanges.get(name) or await self.exchange(name)
        return known.type if known is not None else "direct"

    async def declare_exchange(self, name: str, declared: Exchange) -> Exchange:
        """What `name` is: as `declared` unless it was there before."""
        known = await self.exchange(name)
        if known is None:
            await self._put(self._table("exchanges"), name, _text(declared))
            known = self._exchanges[name] = declared
        return known

    async def delete_exchange(self, name: str) -> None:
        """Forget `name` and its bindings. One that is not there: nothing happens."""
        self._exchanges.pop(name, None)
        for binding in await self.bindings(name):
            await self.unbind(name, binding)
        if await self._admin.kv.get(self._table("exchanges"), name) is not None:
            await self._delete(self._table("exchanges"), name)

    async def bind(self, exchange: str, binding: Binding) -> None:
        """Note a binding. Twice does no harm."""
        await self._put(self._bindings(exchange), _key(binding), "1")

    async def unbind(self, exchange: str, binding: Binding) -> None:
        """Forget a binding. One that is not there: nothing happens."""
        if await self._admin.kv.get(self._bindings(exchange), _key(binding)) is not None:
            await self._delete(self._bindings(exchange), _key(binding))

    async def bindings(self, exchange: str) -> list[Binding]:
        """All bindings of `exchange`, in a fixed order."""
        keys = sorted(await self._admin.kv.list(self._bindings(exchange)))
        return [Binding(*json.loads(key)) for key in keys]

    async def all_bindings(self) -> list[tuple[str, Binding]]:
        """All bindings with their exchanges."""
        exchanges = sorted(await self._admin.kv.list(self._table("exchanges")))
        return [(name, binding) for name in exchanges for binding in await self.bindings(name)]

    async def unbind_queue(self, queue: str) -> None:
        """Forget all bindings of `queue`."""
        for exchange, binding in await self.all_bindings():
            if binding.queue == queue:
                await self.unbind(exchange, binding)

    async def queue(self, name: str) -> QueueRecord | None:
        """What the queue `name` was declared as; `None`: it was not."""
        text = await self._admin.kv.get(self._table("queues"), name)
        return msgspec.json.decode(text, type=QueueRecord) if text else None

    async def put_queue(self, name: str, record: QueueRecord) -> None:
        """Note what `name` is."""
        await self._put(self._table("queues"), name, _text(record))

    async def forget_queue(self, name: str) -> None:
        """Forget what `name` was. One that is not there: nothing happens."""
        if await self._admin.kv.get(self._table("queues"), name) is not None:
            await self._delete(self._table("queues"), name)

    async def queues(self) -> dict[str, QueueRecord]:
        """All queues by name."""
        found = await self._admin.kv.list(self._table("queues"))
        return {name: msgspec.json.decode(text, type=QueueRecord) for name, text in sorted(found.items())}

    async def _put(self, table: str, key: str, value: str) -> None:
        """Store in all name servers; one at least has to be there."""
        try:
            await self._admin.kv.put(table, key, value)
        except RetryError:
            if await self._admin.kv.get(table, key) != value:
                raise

    async def _delete(self, table: str, key: str) -> None:
        try:
            await self._admin.kv.delete(table, key)
        except RetryError:
            if await self._admin.kv.get(table, key) is not None:
                raise

    def _table(self, name: str) -> str:
        return f"kombu.{name}/{self._host}" if self._host else f"kombu.{name}"

    def _bindings(self, exchange: str) -> str:
        return f"{self._table('bindings')}/{exchange}" if self._host else f"kombu.bindings//{exchange}"


def _key(binding: Binding) -> str:
    return json.dumps([binding.queue, binding.routing_key])


def _text(value: msgspec.Struct) -> str:
    return msgspec.json.encode(value).decode()
