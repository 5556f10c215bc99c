"""JSON bodies of the requests around pop, and what a broker stores of pops.

Sources: BatchAck.java, PopCheckPoint.java, AckMsg.java, BatchAckMsg.java, ConsumerOrderInfoManager.java.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final

import msgspec

from mqframe.core.errors import BodyError
from mqframe.core.wire.bodies import Body

MESSAGES_MAX: Final = 32
"""Messages of one pop; each has a bit of a Java int."""


class BatchAck(msgspec.Struct):
    """Messages of one pop of one queue that are done.

    Wire names: c group, t topic (the plain one), r retry mark, so start offset, q queue id, rq revive queue,
    pt pop time, it invisible time (ms), b the bits (`bits_of`) of offsets from the start offset on.
    """

    consumer_group: str = msgspec.field(name="c")
    topic: str = msgspec.field(name="t")
    start_offset: int = msgspec.field(name="so")
    queue_id: int = msgspec.field(name="q")
    revive_queue_id: int = msgspec.field(name="rq")
    pop_time: int = msgspec.field(name="pt")
    invisible_time: int = msgspec.field(name="it")
    retry: str = msgspec.field(name="r", default="0")
    bits: str = msgspec.field(name="b", default="")

    def offsets(self) -> list[int]:
        """The queue offsets that are meant.

        Raises `BodyError` for bits that are not base64, and for more than one pop takes.
        """
        try:
            number = int.from_bytes(base64.b64decode(self.bits, validate=True), "little")
        except (binascii.Error, ValueError):
            raise BodyError(f"batch ack: {self.bits[:80]!r} is not a set of bits in base64") from None
        count = number.bit_count()
        if count > MESSAGES_MAX:
            raise BodyError(f"batch ack: {count} messages of one pop, which takes at most {MESSAGES_MAX}")
        offsets = []
        while number:  # bit by bit it would take as many steps as there are bits, each as long as all bits
            lowest = number & -number
            offsets.append(self.start_offset + lowest.bit_length() - 1)
            number ^= lowest
        return offsets


def bits_of(distances: Iterable[int]) -> str:
    """The text form of a Java BitSet with these bits: base64 of little-endian bytes."""
    number = 0
    for distance in distances:
        number |= 1 << distance
    return base64.b64encode(number.to_bytes((number.bit_length() + 7) // 8, "little")).decode()


class BatchAckBody(Body):
    """What a batch ack (200151) asks for."""

    acks: list[BatchAck] = []
    broker_name: str | None = None


class CheckPointBody(msgspec.Struct):
    """A pop of one queue, as it is stored (tag ck).

    so start offset, pt pop time, it invisible time (ms), bm bits of what is done, n count, q queue id, t
    topic, c group, ro revive offset, d distances of the messages from the start offset, bn broker name, rp
    how often it was put again.
    """

    topic: str | None = msgspec.field(name="t", default=None)
    group: str | None = msgspec.field(name="c", default=None)
    queue_id: int = msgspec.field(name="q", default=0)
    start_offset: int = msgspec.field(name="so", default=0)
    pop_time: int = msgspec.field(name="pt", default=0)
    invisible_time: int = msgspec.field(name="it", default=0)
    bits: int = msgspec.field(name="bm", default=0)
    count: int = msgspec.field(name="n", default=0)
    revive_offset: int = msgspec.field(name="ro", default=0)
    distances: list[int] | None = msgspec.field(name="d", default=None)
    broker_name: str | None = msgspec.field(name="bn", default=None)
    reput_times: str | None = msgspec.field(name="rp", default=None)


class AckBody(msgspec.Struct):
    """Messages of a stored pop that are done (tags ack: `offset`; bAck: `offsets`)."""

    topic: str | None = msgspec.field(name="t", default=None)
    group: str | None = msgspec.field(name="c", default=None)
    queue_id: int = msgspec.field(name="q", default=0)
    start_offset: int = msgspec.field(name="so", default=0)
    pop_time: int = msgspec.field(name="pt", default=0)
    offset: int = msgspec.field(name="ao", default=-1)
    broker_name: str | None = msgspec.field(name="bn", default=None)
    offsets: list[int] | None = msgspec.field(name="aol", default=None)


class OrderInfo(Body):
    """The last ordered pop of a queue by a group.

    o: the first offset, then the distances of the others from it; i: invisible time (ms); ot: when single
    messages become visible, where that was changed; oc: how often messages came before; l: when it was
    popped; cm: bits of what is done; a: the attempt.
    """

    pop_time: int = 0
    invisible_time: int | None = msgspec.field(name="i", default=None)
    offsets: list[int] = msgspec.field(name="o", default_factory=list)
    visible_times: dict[int, int] | None = msgspec.field(name="ot", default=None)
    counts: dict[int, int] | None = msgspec.field(name="oc", default=None)
    last_consume_timestamp: int = msgspec.field(name="l", default=0)
    bits: int = msgspec.field(name="cm", default=0)
    attempt_id: str | None = msgspec.field(name="a", default=None)


class OrderInfoTable(Body):
    """`config/consumerOrderInfo.json`: "topic@group", then queue id."""

    table: dict[str, dict[int, OrderInfo]] = {}
