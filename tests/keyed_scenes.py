"""Keyed consumers on a broker in this process, on a clock that only the tests move."""

from __future__ import annotations

from pop_push_scenes import GROUP, LATER, OK, PopMember, PopPushScene

from mqframe import AsyncProducer, Message

__all__ = ["GROUP", "LATER", "OK", "KeyedScene", "PopMember", "letters"]


class KeyedScene(PopPushScene):
    """A cluster with topic `orders`, and members of one group whose messages have the key before the dash."""

    def __init__(self, *, queues: int = 1, **options) -> None:
        super().__init__(queues=queues, **options)

    async def start(self) -> None:
        await super().start()
        producer = AsyncProducer(
            "keys", nameserver=self.nameserver, clock=self.clock, send_hooks=["sharding_key"]
        )
        self.producer = await self.open(producer)

    def make(self, **options):
        return super().make(**{"mode": "keyed", **options})

    async def put(self, *bodies: bytes, topic: str = "orders", **more) -> None:
        for body in bodies:
            key, dash, _ = body.decode().partition("-")
            more["sharding_key"] = key if dash else None
            await self.finish(self.producer.send(Message(topic, body), **more))

    def committed(self, topic: str = "orders", queue_id: int = 0) -> int | None:
        return self.cluster.broker.service_port.offsets.query(GROUP, topic, queue_id)


def letters(pattern: str) -> list[bytes]:
    """ "aab" is a-0, a-1, b-2: keys, each with its place in the pattern."""
    return [f"{key}-{at}".encode() for at, key in enumerate(pattern)]
